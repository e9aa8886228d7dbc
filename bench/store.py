"""The store: durable writes beside bare SQLite with the same settings, memory beside plain dicts."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.harness import Figure, show
from podling.store.base import Store
from podling.store.memory import MemoryStore
from podling.store.sqlite import SqliteStore

VALUE = b"x" * 2_000
"""Size in bytes, about that of a small pod."""

COMMITS = 500
WRITERS = 100
KEYS = 100_000
WATCHES = 1_000


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="podling-bench-") as folder:
        figures = asyncio.run(durable(Path(folder)))
    show([*figures, *asyncio.run(in_memory())])


async def durable(folder: Path) -> list[Figure]:
    bare_before = bare_sqlite(folder / "bare-before.db")
    store = SqliteStore(folder / "store.db")
    alone = await rate(COMMITS, lambda: one_after_another(store, "/alone", COMMITS))
    together = await rate(
        COMMITS * 10,
        lambda: asyncio.gather(
            *(one_after_another(store, f"/w{writer}", COMMITS * 10 // WRITERS) for writer in range(WRITERS))
        ),
    )
    await store.close()
    # Other load on the disk varies: the floor is measured before and after the store.
    bare = (bare_before + bare_sqlite(folder / "bare-after.db")) / 2
    again = time.perf_counter()
    reopened = SqliteStore(folder / "store.db")
    opening = (time.perf_counter() - again) / reopened.revision
    await reopened.close()
    floor = "bare SQLite"
    return [
        Figure("durable writes, one writer", alone, "/s", bare, floor, 0.5, more_is_better=True),
        Figure(f"durable writes, {WRITERS} writers", together, "/s", bare, floor, 3, more_is_better=True),
        Figure("reading the file, per revision", opening * 1e6, "us"),
    ]


async def in_memory() -> list[Figure]:
    names = [
        f"/registry/pods/ns-{number % 97}/pod-{hash(number * 7919) % 999_983}-{number}"
        for number in range(KEYS)
    ]
    plain = plain_dict(names)
    store = MemoryStore()
    puts = await rate(KEYS, lambda: create_all(store, names))
    looking_up = plain_lookups(names)
    listing = 1 / await rate(1, lambda: store.list("/registry/pods/"))
    page = 1 / await rate(100, lambda: pages(store, 100))
    watched, bare_queues = await fan_out(), await plain_queues()
    busy = MemoryStore()
    others = [busy.watch(f"/registry/secrets/ns/{number}", after=0) for number in range(WATCHES)]
    beside = await rate(KEYS, lambda: create_all(busy, names))
    for other in others:
        other.close()
    return [
        Figure(f"writes in memory, {KEYS} keys", puts, "/s", plain, "a dict", 0.05, more_is_better=True),
        Figure(f"beside {WATCHES} other watches", beside, "/s", puts, "without", 0.6, more_is_better=True),
        Figure(f"list of {KEYS} entries", listing * 1e3, "ms", looking_up * 1e3, "looked up in a dict", 3),
        Figure("list of a page of 500", page * 1e6, "us"),
        Figure(f"events to {WATCHES} watches", watched, "/s", bare_queues, "queues", 1, more_is_better=True),
    ]


def bare_sqlite(path: Path) -> float:
    """Measure commits a second of one insertion each, with the store's settings and row."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(
        "CREATE TABLE log (revision INTEGER PRIMARY KEY, key TEXT, deleted, created, value BLOB)"
    )
    start = time.perf_counter()
    for revision in range(1, COMMITS + 1):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?)", (revision, "/alone", 0, 1, VALUE))
        connection.execute("COMMIT")
    seconds = time.perf_counter() - start
    connection.close()
    return COMMITS / seconds


async def rate(count: int, work: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await work()
    return count / (time.perf_counter() - start)


async def one_after_another(store: Store, key: str, times: int) -> None:
    revision = 0
    for _ in range(times):
        revision = (await store.put(key, lambda _: VALUE, expect=revision)).revision


async def create_all(store: Store, names: list[str]) -> None:
    for name in names:
        await store.put(name, lambda _: VALUE, expect=0)


async def pages(store: Store, times: int) -> None:
    after = ""
    for _ in range(times):
        after = (await store.list("/registry/pods/", limit=500, after=after)).entries[-1].key


def plain_lookups(names: list[str]) -> float:
    """Return the seconds to look up every key of a dict in sorted order."""
    entries = {name: (VALUE, name) for name in names}
    ordered = sorted(names)
    start = time.perf_counter()
    tuple(map(entries.__getitem__, ordered))
    return time.perf_counter() - start


def plain_dict(names: list[str]) -> float:
    entries: dict[str, tuple[bytes, int]] = {}
    start = time.perf_counter()
    for revision, name in enumerate(names):
        if name not in entries:
            entries[name] = (VALUE, revision)
    return len(names) / (time.perf_counter() - start)


async def fan_out(bursts: int = 10, burst: int = 20) -> float:
    """Measure events a second to many watches of one prefix, each reading as the API server does."""
    store = MemoryStore()

    async def reader() -> None:
        watch = store.watch("/registry/pods/", after=0)
        count = 0
        while count < bursts * burst:
            await anext(aiter(watch))
            count += 1 + len(watch.ready())

    readers = [asyncio.ensure_future(reader()) for _ in range(WATCHES)]
    await asyncio.sleep(0)
    start = time.perf_counter()
    for number in range(bursts):
        await create_all(store, [f"/registry/pods/ns/{number}-{index}" for index in range(burst)])
        await asyncio.sleep(0)
    await asyncio.gather(*readers)
    return WATCHES * bursts * burst / (time.perf_counter() - start)


async def plain_queues(bursts: int = 10, burst: int = 20) -> float:
    queues: list[asyncio.Queue[int]] = [asyncio.Queue() for _ in range(WATCHES)]

    async def reader(queue: asyncio.Queue[int]) -> None:
        for _ in range(bursts * burst):
            await queue.get()

    readers = [asyncio.ensure_future(reader(queue)) for queue in queues]
    await asyncio.sleep(0)
    start = time.perf_counter()
    for _ in range(bursts):
        for index in range(burst):
            for queue in queues:
                queue.put_nowait(index)
        await asyncio.sleep(0)
    await asyncio.gather(*readers)
    return WATCHES * bursts * burst / (time.perf_counter() - start)


if __name__ == "__main__":
    main()

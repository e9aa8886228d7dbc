"""The writing half of the kill test: writes as fast as it can and reports each acknowledged write."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

from podling import ids
from podling.store.base import Conflict, Entry
from podling.store.sqlite import SqliteStore

WRITERS = 8
"""Number of concurrent writers, so that transactions hold several writes when the process is killed."""

COMPACTS = 0.1
"""Number of writes per compaction; some compactions are cut short, too."""

HISTORY = 30
"""Number of revisions that such a compaction keeps."""

KEYS = tuple(f"/registry/pods/default/pod-{number}" for number in range(20))


@dataclass(frozen=True)
class Acknowledged:
    """One write that the store acknowledged as durable; ``value`` is ``None`` for a deletion."""

    revision: int
    key: str
    value: bytes | None


def write_until_killed(path: str, report: Connection) -> None:
    """Open the store at ``path``, write without end and send each acknowledged write to ``report``."""
    asyncio.run(_write(path, report))


async def _write(path: str, report: Connection) -> None:
    store = SqliteStore(path)

    async def writer() -> None:
        while True:
            with suppress(Conflict):
                report.send(await _one_write(store))
                if ids.uniform(0, 1) < COMPACTS:
                    await store.compact(max(store.revision - HISTORY, 0))

    await asyncio.gather(*(writer() for _ in range(WRITERS)))


async def _one_write(store: SqliteStore) -> Acknowledged:
    key = ids.choice(KEYS)
    current = store.peek(key)
    if current and ids.uniform(0, 1) < 0.2:
        gone: Entry = await store.delete(key, expect=current.revision)
        return Acknowledged(gone.revision, key, None)
    value = ids.hex_id(int(ids.uniform(1, 4000))).encode()
    entry = await store.put(key, lambda _: value, expect=current.revision if current else 0)
    return Acknowledged(entry.revision, key, value)

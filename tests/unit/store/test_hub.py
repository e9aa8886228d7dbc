"""Fan-out of writes to watches: delivery, cost, and overflow."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.store.base import Event, WatchOverflow
from podling.store.hub import CROWD, PAUSE_SECONDS, READY_BYTES
from podling.store.memory import MemoryStore


async def put(store: MemoryStore, key: str) -> None:
    current = store.peek(key)
    await store.put(key, lambda _: b"", expect=current.revision if current else 0)


async def test_a_thousand_watches_share_the_very_same_events() -> None:
    """Fan-out copies nothing: every watch is handed the one event."""
    store = MemoryStore()
    watches = [store.watch("/pods/", after=0) for _ in range(1_000)]
    waiting = [asyncio.ensure_future(anext(aiter(watch))) for watch in watches]
    await asyncio.wait(waiting, timeout=0)
    await put(store, "/pods/a")
    events: list[Event] = await asyncio.gather(*waiting)
    assert len({id(event) for event in events}) == 1


async def test_many_watches_are_woken_crowd_by_crowd() -> None:
    """No write blocks the loop for all its watches, and no watch misses an event of a second write."""
    store = MemoryStore()
    watches = [store.watch("/pods/", after=0) for _ in range(3 * CROWD + 1)]
    seen = [0] * len(watches)

    async def read(number: int) -> None:
        async for _ in watches[number]:
            seen[number] += 1 + len(watches[number].ready())

    readers = [asyncio.create_task(read(number)) for number in range(len(watches))]
    await clock.sleep(PAUSE_SECONDS)
    await put(store, "/pods/a")
    await clock.sleep(0)
    assert sum(seen) == CROWD
    await put(store, "/pods/b")
    await clock.sleep(3.5 * PAUSE_SECONDS)
    assert set(seen[CROWD:]) == {2}, "those that come later read both in one go"
    await clock.sleep(PAUSE_SECONDS)
    assert set(seen) == {2}
    for watch in watches:
        watch.close()
    await asyncio.gather(*readers)


async def test_a_write_wakes_only_those_it_concerns() -> None:
    store = MemoryStore()
    pods, nodes = store.watch("/pods/", after=0), store.watch("/nodes/", after=0)
    of_pods = asyncio.ensure_future(anext(aiter(pods)))
    of_nodes = asyncio.ensure_future(anext(aiter(nodes)))
    await asyncio.wait([of_pods], timeout=0)
    await put(store, "/pods/a")
    assert (await of_pods).entry.key == "/pods/a"
    assert not of_nodes.done()
    nodes.close()
    with pytest.raises(StopAsyncIteration):
        await of_nodes


@pytest.mark.parametrize(
    ("prefix", "heard"),
    [
        ("", ["/pods", "/pods/a", "/pods/a/b", "/podsx"]),
        ("/pods", ["/pods", "/pods/a", "/pods/a/b", "/podsx"]),
        ("/pods/", ["/pods/a", "/pods/a/b"]),
        ("/pods/a", ["/pods/a", "/pods/a/b"]),
        ("/pods/a/b/c", []),
    ],
)
async def test_prefixes_of_any_length_side_by_side(prefix: str, heard: list[str]) -> None:
    store = MemoryStore()
    others = [store.watch(other, after=0) for other in ("", "/", "/pods/a/", "/pods/a/b/c/d")]
    watch = store.watch(prefix, after=0)
    for key in ("/pods", "/pods/a", "/pods/a/b", "/podsx"):
        await put(store, key)
    for other in others:
        other.close()
    assert [event.entry.key for event in watch.ready()] == heard


async def test_waiting_watch_that_overflows_raises() -> None:
    """It woke for the first event of a burst, and by the time it runs the burst is over its bound."""

    store = MemoryStore(watch_capacity=10)
    waiting = asyncio.ensure_future(anext(aiter(store.watch("/a", after=0))))
    await asyncio.wait([waiting], timeout=0)
    for _ in range(1_000):
        await put(store, "/a")
    with pytest.raises(WatchOverflow):
        await waiting


async def test_two_readers_of_one_watch_are_a_mistake() -> None:
    watch = MemoryStore().watch("/a", after=0)
    first = asyncio.ensure_future(anext(aiter(watch)))
    await asyncio.wait([first], timeout=0)
    with pytest.raises(RuntimeError, match="one reader"):
        await anext(aiter(watch))
    watch.close()
    with pytest.raises(StopAsyncIteration):
        await first


async def test_a_late_watch_takes_from_history_what_the_log_has_let_go_of() -> None:
    store = MemoryStore()
    first = store.watch("/a", after=0)
    for _ in range(5):
        await put(store, "/a")
    first.ready()
    await store.compact(0)  # forgets nothing, but trims
    second = store.watch("/a", after=2)
    assert [event.revision for event in second.ready()] == [3, 4, 5]


async def test_a_late_watch_takes_its_past_from_the_shared_log() -> None:
    """The second watch of a prefix resumes in the middle of what the first has not read yet."""
    store = MemoryStore()
    first = store.watch("/a", after=0)
    for _ in range(5):
        await put(store, "/a")
    second = store.watch("/a", after=3)
    assert [event.revision for event in second.ready()] == [4, 5]
    assert [event.revision for event in first.ready()] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("after", [0, 700], ids=["missed events", "events of the log"])
async def test_limited_reading_takes_events_in_order_and_leaves_the_others(after: int) -> None:
    store = MemoryStore()
    opened = store.watch("/a/", after=0)
    for number in range(700):
        await put(store, f"/a/{number}")
    watch = store.watch("/a/", after=after)
    for number in range(300):
        await put(store, f"/a/x{number}")
    taken: list[Event] = []
    while found := watch.ready(64):
        assert len(found) <= 64
        assert watch.progress == found[-1].revision
        taken += found
    assert [event.revision for event in taken] == list(range(after + 1, 1001))
    assert not watch.behind
    assert len(opened.ready()) == 1000


async def test_limited_reading_takes_bounded_bytes() -> None:
    store = MemoryStore()
    watch = store.watch("/a/", after=0)
    for number in range(20):
        await store.put(f"/a/{number}", lambda _: b"x" * (READY_BYTES // 2 - 1), expect=0)
    await store.put("/a/large", lambda _: b"x" * (READY_BYTES + 1), expect=0)
    assert [len(watch.ready(100)) for _ in range(12)] == [2] * 10 + [1, 0]


async def test_prefixes_that_come_and_go_between_writes_to_one_collection() -> None:
    store = MemoryStore()
    prefixes = ("", "/pods/", "/pods/de", "/pods/default/", "/pods/default/a", "/pods/default/ab")
    for number in range(3):
        opened = [store.watch(prefix, after=store.revision) for prefix in prefixes]
        await put(store, "/pods/default/ab")
        assert [len(each.ready()) for each in opened] == [1] * len(prefixes), number
        for watch in opened[number:]:
            watch.close()
        await put(store, "/pods/default/ab")
        assert [len(each.ready()) for each in opened] == [1] * number + [0] * (len(prefixes) - number)
        for watch in opened[:number]:
            watch.close()


async def test_collections_beyond_the_remembered_ones_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podling.store.hub.FOLDERS_MAX", 2)
    store = MemoryStore()
    watch = store.watch("/pods/", after=0)
    for name in "abcabc":
        await put(store, f"/pods/{name}/x")
    assert [event.entry.key for event in watch.ready()] == [f"/pods/{name}/x" for name in "abcabc"]

"""A replica beyond the contract: snapshots in the place of other contents, waiting, and no writes."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.store.base import Compacted, Entry, EventType, WatchOverflow
from podling.store.replica import ReadOnly, Replica


def entry(key: str, revision: int, created: int = 0) -> Entry:
    return Entry(key, b"%d" % revision, revision, created or revision)


def replica_at(*revisions: int) -> Replica:
    """Return a replica whose snapshot has a key of each revision."""
    replica = Replica()
    replica.begin(revisions[-1], revisions[-1])
    replica.restore(entry(f"/{revision}", revision) for revision in revisions)
    replica.complete()
    return replica


async def test_snapshot_is_shown_once_changes_have_brought_it_to_the_present() -> None:
    replica = Replica()
    replica.begin(3, 5)
    replica.restore([entry("/a", 2), entry("/b", 3)])
    replica.complete()
    replica.commit([(EventType.PUT, entry("/c", 4))])
    assert (replica.is_complete, replica.revision, replica.peek("/a")) == (False, 0, None)
    replica.commit([(EventType.DELETE, entry("/a", 5, 2))])
    assert (replica.is_complete, replica.revision, replica.compacted) == (True, 5, 3)
    assert [each.key for each in (await replica.list("/")).entries] == ["/b", "/c"]
    assert [each.key for each in (await replica.list("/", revision=3)).entries] == ["/a", "/b"]


async def test_watch_from_before_the_snapshot_is_compacted() -> None:
    replica = replica_at(2, 3)
    with pytest.raises(Compacted):
        replica.watch("/", after=2)


async def test_second_snapshot_cuts_off_every_watch() -> None:
    replica = replica_at(1)
    watch, told = replica.watch("/", after=1), list[int]()
    replica.replaced = lambda: told.append(replica.revision)
    replica.begin(9, 9)
    replica.restore([entry("/new", 9)])
    assert replica.revision == 1
    replica.complete()
    with pytest.raises(WatchOverflow):
        watch.ready()
    assert (told, replica.revision, replica.peek("/1")) == ([9], 9, None)


async def test_snapshot_of_another_store_may_be_older() -> None:
    replica = replica_at(7)
    replica.begin(2, 2)
    replica.complete()
    assert (replica.revision, replica.count("/")) == (2, 0)


async def test_abandoned_snapshot_leaves_everything_as_it_was() -> None:
    replica = replica_at(1)
    watch = replica.watch("/", after=1)
    replica.begin(9, 9)
    replica.abandon()
    replica.commit([(EventType.PUT, entry("/2", 2))])
    assert [event.revision for event in watch.ready()] == [2]


async def test_each_change_of_one_key_replaces_the_one_before() -> None:
    replica = replica_at(1)
    watch = replica.watch("/", after=1)
    put, delete = EventType.PUT, EventType.DELETE
    replica.commit([
        (put, entry("/1", 2, 1)), (delete, entry("/1", 3, 1)), (put, entry("/1", 4)), (put, entry("/1", 5, 4))
    ])  # fmt: skip
    replaced = [event.previous.revision if event.previous else 0 for event in watch.ready()]
    assert replaced == [1, 2, 0, 4]


async def test_change_that_does_not_follow_is_refused() -> None:
    replica = replica_at(1)
    with pytest.raises(ValueError, match="revision 3 does not follow 1"):
        replica.commit([(EventType.PUT, entry("/3", 3))])


async def test_reader_waits_for_a_revision() -> None:
    replica = replica_at(1)
    waiting = [asyncio.ensure_future(replica.reached(revision)) for revision in (3, 2, 3, 1)]
    gone = waiting.pop(2)
    await clock.sleep(0)
    gone.cancel()
    assert [each.done() for each in waiting] == [False, False, True]
    replica.commit([(EventType.PUT, entry("/2", 2))])
    await clock.sleep(0)
    assert [each.done() for each in waiting] == [False, True, True]
    replica.commit([(EventType.PUT, entry("/3", 3))])
    await asyncio.gather(*waiting)


async def test_replica_forgets_history_no_further_than_it_has_come() -> None:
    replica = replica_at(1)
    replica.commit([(EventType.PUT, entry(f"/{revision}", revision)) for revision in range(2, 12)])
    await replica.forget(8)
    assert replica.compacted == 8
    await replica.forget(100)
    assert replica.compacted == 11


async def test_replica_takes_no_writes() -> None:
    replica = replica_at(1)
    with pytest.raises(ReadOnly):
        await replica.put("/a", lambda revision: b"", expect=0)
    with pytest.raises(ReadOnly):
        await replica.delete("/1", expect=1)
    with pytest.raises(ReadOnly):
        await replica.compact(1)

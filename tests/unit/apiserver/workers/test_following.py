"""The feed of a replica: connections that end, begin again and expire, and what is wrong meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from podling import clock
from podling.apiserver.workers import following
from podling.apiserver.workers.following import Follower
from podling.client.base import Unreachable
from podling.client.messages import Changes, Snapshot, StoreEntry, StoreEvent
from podling.machinery import errors
from podling.store.replica import Replica

Part = Snapshot | Changes
Script = Sequence[Part | Exception]


def entry(key: str, revision: int) -> StoreEntry:
    return StoreEntry(key, revision, revision, b"{}")


def snapshot(revision: int, *keys: str, newest: int = 0, last: bool = True) -> Snapshot:
    return Snapshot(1, revision, [entry(key, revision) for key in keys], last, newest or revision)


def changes(*revisions: int) -> Changes:
    events = [StoreEvent(False, entry(f"/{revision}", revision)) for revision in revisions]
    return Changes(1, events, revisions[-1])


def beat(revision: int, compacted: int = 0, trouble: str = "") -> Changes:
    return Changes(1, [], revision, compacted, trouble)


class Writer:
    """Plays a script for each connection, and holds the last one open."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts = list(scripts)
        self.starts: list[int | None] = []

    async def parts(self, after: int | None) -> AsyncGenerator[Part, None]:
        self.starts.append(after)
        for part in self.scripts.pop(0):
            if isinstance(part, Exception):
                raise part
            yield part
        if not self.scripts:
            await asyncio.Event().wait()


@asynccontextmanager
async def followed(writer: Writer) -> AsyncIterator[tuple[Replica, Follower]]:
    replica = Replica()
    follower = Follower(replica, writer.parts)
    task = asyncio.ensure_future(follower.run())
    try:
        yield replica, follower
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_true():
            await clock.sleep(0.001)


async def test_connection_that_breaks_continues_after_the_last_revision() -> None:
    writer = Writer(
        [snapshot(3, "/a", "/b"), changes(4), Unreachable("gone")],
        [beat(4), changes(5)],
    )
    async with followed(writer) as (replica, follower):
        await replica.reached(5)
        assert writer.starts == [None, 4]
        assert follower.trouble == ""


async def test_snapshot_that_breaks_off_begins_anew() -> None:
    writer = Writer(
        [snapshot(3, "/a", last=False), Unreachable("gone")],
        [snapshot(4, "/b", last=False), snapshot(4, "/c"), beat(4)],
    )
    async with followed(writer) as (replica, _):
        await replica.reached(4)
        assert writer.starts == [None, None]
        assert [each.key for each in (await replica.list("/")).entries] == ["/b", "/c"]


async def test_expired_start_takes_a_snapshot() -> None:
    writer = Writer(
        [snapshot(3, "/a"), Unreachable("gone")],
        [errors.expired("compacted")],
        [snapshot(9, "/b"), Unreachable("gone")],
        [beat(9)],
    )
    async with followed(writer) as (replica, _):
        await until(lambda: len(writer.starts) == 4)
        assert writer.starts == [None, 3, None, 9]
        assert replica.count("/") == 1


async def test_reader_that_was_too_slow_continues_where_it_is() -> None:
    writer = Writer([snapshot(3, "/a"), changes(4), errors.expired("too slow")], [changes(5)])
    async with followed(writer) as (replica, _):
        await replica.reached(5)
        assert writer.starts == [None, 4]


async def test_check_shows_lost_connection_silence_and_full_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer = Writer([Unreachable("no socket")], [snapshot(3, "/a"), beat(3, trouble="the disk is full")])
    async with followed(writer) as (replica, follower):
        assert follower.trouble == "the writer has not been reached yet"
        await until(lambda: "no socket" in follower.trouble or replica.is_complete)
        await replica.reached(3)
        await until(lambda: follower.trouble == "the disk is full")
        monkeypatch.setattr(following, "SILENCE_SECONDS", -1)
        assert follower.trouble == "the writer has sent nothing for 0 s"


async def test_history_is_forgotten_with_the_writer() -> None:
    writer = Writer([snapshot(3, "/a"), changes(4), changes(5), beat(5, compacted=4)])
    async with followed(writer) as (replica, _):
        await until(lambda: replica.compacted == 4)

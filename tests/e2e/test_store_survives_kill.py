"""Every acknowledged write survives ``kill -9`` of the writer, at a hundred random moments."""

from __future__ import annotations

import asyncio
import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from podling import ids
from podling.store.base import Event, EventType
from podling.store.sqlite import SqliteStore
from tests.e2e.store_writer import Acknowledged, write_until_killed

KILLS = 100


@pytest.mark.e2e
@pytest.mark.slow
def test_no_acknowledged_write_is_lost_and_revisions_never_go_back(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    state: dict[str, bytes] = {}
    revision = acknowledged = 0
    for _ in range(KILLS):
        writes = write_and_kill(path, after=int(ids.uniform(1, 60)))
        acknowledged += len(writes)
        revision = asyncio.run(check(path, writes, state, revision))
    assert acknowledged >= KILLS


def write_and_kill(path: Path, after: int) -> list[Acknowledged]:
    """Let a child write, kill it after so many acknowledgements, and return all it acknowledged."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.e2e.store_writer"])
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=write_until_killed, args=(str(path), sender))
    child.start()
    sender.close()
    try:
        writes = [receiver.recv() for _ in range(after)]
    finally:
        child.kill()
        child.join()
    writes += rest(receiver)
    receiver.close()
    child.close()
    return writes


def rest(receiver: Connection) -> list[Acknowledged]:
    """Return the messages left in the pipe after the kill; the last one may be cut short."""
    writes: list[Acknowledged] = []
    try:
        while True:
            writes.append(receiver.recv())
    except (EOFError, OSError):
        return writes


async def check(path: Path, writes: list[Acknowledged], state: dict[str, bytes], before: int) -> int:
    """Open the store and compare it with the writes acknowledged since revision ``before``.

    Brings ``state``, which is what the store must hold, up to date. Returns the store's revision.
    """
    store = SqliteStore(path)
    acknowledged = {write.revision: write for write in writes}
    history = {event.revision: told(event) for event in store.watch("", after=store.compacted).ready()}
    for revision, write in acknowledged.items():
        assert store.revision >= revision > before, "revisions went back"
        assert revision <= store.compacted or history[revision] == write
    # Beyond the acknowledged writes, only the newest may be there: their acknowledgement was cut off.
    known = acknowledged | history
    for revision in range(before + 1, store.revision + 1):
        write = known[revision]
        state.pop(write.key, None)
        if write.value is not None:
            state[write.key] = write.value
    entries = (await store.list("")).entries
    assert {entry.key: entry.value for entry in entries} == state
    await store.close()
    return store.revision


def told(event: Event) -> Acknowledged:
    value = None if event.type is EventType.DELETE else event.entry.value
    return Acknowledged(event.revision, event.entry.key, value)

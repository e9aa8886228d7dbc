"""The durable store: group commit, failures of the disk, compaction of the file."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.store.base import Entry, Event, StoreLocked, WriteFailed
from podling.store.sqlite import SqliteStore
from podling.store.state import State

pytestmark = pytest.mark.asyncio(loop_factories=["real"])  # a thread writes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(path)
    yield opened
    await opened.close()


async def put(store: SqliteStore, key: str, value: bytes = b"", *, expect: int = 0) -> Entry:
    return await store.put(key, lambda _: value, expect=expect)


def size(path: Path) -> int:
    return path.stat().st_size


async def test_everything_written_at_once_is_one_transaction(store: SqliteStore) -> None:
    """It becomes visible together: a watch woken by the first write finds all of them."""
    watch = store.watch("/", after=0)
    waiting = asyncio.ensure_future(anext(aiter(watch)))
    await asyncio.gather(*(put(store, f"/{number}") for number in range(100)))
    assert (await waiting).revision == 1
    assert len(watch.ready()) == 99


async def test_writers_of_one_key_take_their_turn_in_order_of_arrival(store: SqliteStore) -> None:
    """Each already knows what the one before it will leave; none is refused, none overtaken."""
    entries = await asyncio.gather(*(put(store, "/a", expect=turn) for turn in range(10)))
    assert [entry.revision for entry in entries] == list(range(1, 11))


async def test_a_write_is_not_visible_before_it_is_durable(store: SqliteStore) -> None:
    writing = asyncio.ensure_future(put(store, "/a"))
    await asyncio.wait([writing], timeout=0)
    assert (store.peek("/a"), store.revision) == (None, 0)
    await writing
    assert store.revision == 1


async def test_a_writer_that_left_before_its_turn_writes_nothing(store: SqliteStore) -> None:
    first = asyncio.ensure_future(put(store, "/a"))
    second = asyncio.ensure_future(put(store, "/a", expect=1))
    await asyncio.wait([first, second], timeout=0)
    second.cancel()
    await first
    await put(store, "/b")
    assert [entry.key for entry in (await store.list("/")).entries] == ["/a", "/b"]
    assert store.revision == 2


async def test_closing_finishes_what_was_accepted(path: Path, store: SqliteStore) -> None:
    writing = [asyncio.ensure_future(put(store, f"/{number}")) for number in range(10)]
    await asyncio.wait(writing, timeout=0)
    await store.close()
    await asyncio.gather(*writing)
    again = SqliteStore(path)
    assert again.count("/") == 10
    await again.close()


async def test_a_second_store_on_the_same_file_is_refused(path: Path, store: SqliteStore) -> None:
    with pytest.raises(StoreLocked):
        SqliteStore(path)


async def test_revisions_go_on_after_everything_was_deleted_and_compacted(
    path: Path, store: SqliteStore
) -> None:
    await put(store, "/a")
    await store.delete("/a", expect=1)
    await store.compact(2)
    await store.close()
    again = SqliteStore(path)
    assert (again.revision, again.compacted, again.count("")) == (2, 2, 0)
    assert (await put(again, "/a")).revision == 3
    await again.close()


async def test_a_full_store_fails_writes_and_keeps_what_it_has(path: Path) -> None:
    store = SqliteStore(path, size_limit_bytes=200_000)
    watch = store.watch("/", after=0)
    with pytest.raises(WriteFailed, match="database or disk is full"):
        for number in range(1_000):
            await put(store, f"/{number}", b"x" * 2_000)
    written = store.revision
    assert 50 < written < 100
    assert (store.count("/"), len(watch.ready())) == (written, written)

    outcomes = await asyncio.gather(
        *(put(store, f"/more/{number}", b"x" * 50_000) for number in range(3)), return_exceptions=True
    )
    assert all(isinstance(outcome, WriteFailed) for outcome in outcomes)
    assert (store.revision, store.count("/more/"), watch.ready()) == (written, 0, [])
    assert "database or disk is full" in store.trouble
    await store.close()

    again = SqliteStore(path)
    assert (again.revision, again.count("/")) == (written, written)
    assert (await put(again, "/next")).revision == written + 1
    await again.close()


async def test_the_oldest_state_that_is_kept_outlives_the_process(path: Path, store: SqliteStore) -> None:
    """The revision that history goes back to can be read, and what the next one replaced is known."""
    for revision, value in enumerate((b"forgotten", b"kept", b"now")):
        await put(store, "/a", value, expect=revision)
    await store.compact(2)
    await store.close()
    again = SqliteStore(path)
    page = await again.list("/", revision=2)
    assert [entry.value for entry in page.entries] == [b"kept"]
    (event,) = again.watch("/", after=2).ready()
    assert event.previous is not None
    assert event.previous.value == b"kept"
    await again.close()


async def test_compaction_gives_space_back(path: Path, store: SqliteStore) -> None:
    revision = 0
    for _ in range(50):
        revision = (await put(store, "/a", b"x" * 100_000, expect=revision)).revision
    await store.compact(revision)
    await store.close()
    assert size(path) < 500_000


FILL_THE_DISK = """
import asyncio, resource, sys
from podling.store.base import WriteFailed
from podling.store.sqlite import SqliteStore

async def main():
    store = SqliteStore(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
    try:
        for number in range(10_000):
            await store.put(f"/{number}", lambda _: b"x" * 1_000, expect=0)
    except WriteFailed as error:
        assert store.trouble == str(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        revision = store.revision
        await store.put("/again", lambda _: b"", expect=0)
        assert not store.trouble
        print(revision, store.count("/"), error)

asyncio.run(main())
"""


async def test_when_the_operating_system_takes_no_more(path: Path) -> None:
    """The limit on file sizes stands for a full disk: writing the log itself fails."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FILL_THE_DISK, str(path), stdout=subprocess.PIPE
    )
    output, _ = await child.communicate()
    revision, count, message = output.decode().split(maxsplit=2)
    assert int(revision) == int(count) - 1 > 0
    assert message.startswith("the write was not saved:")
    store = SqliteStore(path)
    # The failed write may have reached the disk as a whole before it was refused, never in part.
    assert store.revision - int(revision) in (1, 2)
    assert store.count("/") == store.revision
    await store.close()


async def test_batch_that_cannot_be_shown_fails_its_writers_and_all_later_ones(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory runs out between the commit on disk and its publication: no caller waits forever."""
    store = SqliteStore(path)
    await put(store, "/before")

    def no_memory(*_: Event) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(State, "commit", no_memory)
        both = await asyncio.gather(
            put(store, "/a"), put(store, "/b"), put(store, "/a"), return_exceptions=True
        )
    assert [type(each) for each in both] == [WriteFailed] * 3
    assert "MemoryError" in store.trouble
    with pytest.raises(WriteFailed, match="before it is opened again: MemoryError"):
        await put(store, "/c")
    assert store.peek("/before") is not None
    await store.close()
    again = SqliteStore(path)
    assert again.revision == 3, "what reached the disk is there"
    await put(again, "/c")
    await again.close()

"""The contract of every store: examples first, then a state machine that tries random operations."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import rule

from podling.store import hub
from podling.store.base import (
    Compacted,
    Conflict,
    Encode,
    Entry,
    EventType,
    Store,
    StoreClosed,
    WatchOverflow,
)
from podling.store.memory import MemoryStore
from podling.store.sqlite import SqliteStore
from tests.contract.store_model import StoreMachine, seen, stamped
from tests.support.replicated_store import ReplicatedStore

OpenStore = Callable[[int], Store]


@pytest.fixture(params=["memory", "sqlite", "replica"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenStore:
    """A function that opens an empty store whose watches may be so many events behind."""
    if request.param == "replica":
        return lambda watch_capacity: ReplicatedStore(monkeypatch, watch_capacity)
    if request.param == "memory":
        return lambda watch_capacity: MemoryStore(watch_capacity=watch_capacity)
    return lambda watch_capacity: SqliteStore(tmp_path / "store.db", watch_capacity=watch_capacity)


@pytest.fixture
async def store(open_store: OpenStore) -> AsyncIterator[Store]:
    opened = open_store(10_000)
    yield opened
    await opened.close()


def plain(value: str) -> Encode:
    return lambda _: value.encode()


async def write(store: Store, key: str, value: str = "") -> Entry:
    """Put a value at any revision, for tests that do not depend on it."""
    current = store.peek(key)
    return await store.put(key, plain(value), expect=current.revision if current else 0)


class TestWrites:
    async def test_every_write_takes_the_next_revision(self, store: Store) -> None:
        a = await store.put("/a", stamped(b"one"), expect=0)
        b = await store.put("/b", stamped(b"two"), expect=0)
        a2 = await store.put("/a", stamped(b"three"), expect=a.revision)
        gone = await store.delete("/b", expect=b.revision)
        assert [a.revision, b.revision, a2.revision, gone.revision] == [1, 2, 3, 4]
        assert store.revision == 4

    async def test_values_are_encoded_with_the_revision_they_take(self, store: Store) -> None:
        assert (await store.put("/a", stamped(b"v"), expect=0)).value == b"v@1"

    async def test_an_entry_remembers_when_it_was_created(self, store: Store) -> None:
        first = await write(store, "/a")
        await write(store, "/b")
        second = await write(store, "/a")
        assert (second.create_revision, second.revision) == (first.revision, 3)

    async def test_recreated_key_has_a_new_create_revision(self, store: Store) -> None:
        first = await write(store, "/a")
        await store.delete("/a", expect=first.revision)
        assert (await write(store, "/a")).create_revision == 3

    async def test_conflict_reports_the_current_revision(self, store: Store) -> None:
        await write(store, "/a")
        await write(store, "/a")
        with pytest.raises(Conflict) as caught:
            await store.put("/a", stamped(b""), expect=1)
        assert (caught.value.key, caught.value.expected, caught.value.actual) == ("/a", 1, 2)

    async def test_creating_what_exists_conflicts(self, store: Store) -> None:
        await write(store, "/a")
        with pytest.raises(Conflict):
            await store.put("/a", stamped(b""), expect=0)

    @pytest.mark.parametrize("expect", [0, 7])
    async def test_deleting_what_is_not_there_conflicts(self, store: Store, expect: int) -> None:
        with pytest.raises(Conflict) as caught:
            await store.delete("/a", expect=expect)
        assert caught.value.actual == 0

    async def test_of_many_writers_at_once_exactly_one_wins_and_none_is_lost(self, store: Store) -> None:
        """Each writer adds one to a counter, and tries again after a conflict."""

        async def add_one() -> None:
            while True:
                current = store.peek("/n")
                value = str(int(current.value) + 1 if current else 1)
                expect = current.revision if current else 0
                try:
                    await store.put("/n", plain(value), expect=expect)
                    return
                except Conflict:
                    continue

        await asyncio.gather(*(add_one() for _ in range(20)))
        counter = store.peek("/n")
        assert counter is not None
        assert (counter.value, counter.revision) == (b"20", 20)

    async def test_nothing_is_written_when_encode_raises(self, store: Store) -> None:
        def fail(revision: int) -> bytes:
            raise ValueError(f"no value at {revision}")

        with pytest.raises(ValueError, match="no value at 1"):
            await store.put("/a", fail, expect=0)
        assert (store.peek("/a"), store.revision) == (None, 0)

    async def test_a_closed_store_takes_no_writes_and_still_answers_reads(self, store: Store) -> None:
        entry = await write(store, "/a")
        await store.close()
        with pytest.raises(StoreClosed):
            await store.put("/b", stamped(b""), expect=0)
        with pytest.raises(StoreClosed):
            await store.delete("/a", expect=1)
        with pytest.raises(StoreClosed):
            store.watch("/", after=0)
        with pytest.raises(StoreClosed):
            await store.compact(1)
        assert await store.get("/a") is entry


class TestLists:
    async def test_entries_come_in_key_order_as_of_one_revision(self, store: Store) -> None:
        for key in ("/pods/b", "/pods/a", "/nodes/n", "/pods/c"):
            await write(store, key)
        page = await store.list("/pods/")
        assert [entry.key for entry in page.entries] == ["/pods/a", "/pods/b", "/pods/c"]
        assert (page.revision, page.remaining) == (4, 0)
        assert store.count("/pods/") == 3

    async def test_pages_show_one_revision(self, store: Store) -> None:
        """Between two pages one key changes, one is deleted and one created: the pages show none of it."""
        for key in "abcde":
            await write(store, f"/k/{key}", "old")
        first = await store.list("/k/", limit=2)
        await write(store, "/k/d", "new")
        await store.delete("/k/e", expect=5)
        await write(store, "/k/cc", "new")
        rest = await store.list("/k/", revision=first.revision, after="/k/b")
        assert [(entry.key, entry.value) for entry in (*first.entries, *rest.entries)] == [
            (f"/k/{key}", b"old") for key in "abcde"
        ]
        assert (first.remaining, rest.remaining) == (3, 0)

    async def test_compacted_revision_cannot_be_read(self, store: Store) -> None:
        for _ in range(3):
            await write(store, "/a")
        await store.compact(2)
        assert [entry.revision for entry in (await store.list("/", revision=2)).entries] == [2]
        with pytest.raises(Compacted) as caught:
            await store.list("/", revision=1)
        assert caught.value.oldest == 2


class TestWatches:
    async def test_watch_event_carries_previous_entry(self, store: Store) -> None:
        watch = store.watch("/a", after=0)
        first = await store.put("/a", stamped(b"x"), expect=0)
        second = await store.put("/a", stamped(b"y"), expect=1)
        gone = await store.delete("/a", expect=2, encode=stamped(b"last words"))
        events = watch.ready()
        assert [(event.type, event.entry, event.previous) for event in events] == [
            (EventType.PUT, first, None),
            (EventType.PUT, second, first),
            (EventType.DELETE, gone, second),
        ]
        assert gone.value == b"last words@3"

    async def test_watch_continues_from_history_without_gap(self, store: Store) -> None:
        for _ in range(3):
            await write(store, "/a")
        watch = store.watch("/a", after=1)
        await write(store, "/a")
        assert [event.revision for event in watch.ready()] == [2, 3, 4]

    async def test_a_waiting_watch_wakes_up(self, store: Store) -> None:
        watch = store.watch("/a", after=0)
        waiting = asyncio.ensure_future(anext(aiter(watch)))
        await write(store, "/b")
        entry = await write(store, "/a")
        assert (await waiting).entry is entry

    async def test_cancelled_wait_loses_no_event(self, store: Store) -> None:
        watch = store.watch("/a", after=0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await anext(aiter(watch))
        await write(store, "/a")
        assert (await anext(aiter(watch))).revision == 1

    async def test_watch_sees_its_prefix_and_progress_of_the_store(self, store: Store) -> None:
        watch = store.watch("/pods/", after=0)
        await write(store, "/pods/a")
        assert (watch.behind, watch.progress) == (True, 0)
        assert len(watch.ready()) == 1
        await write(store, "/nodes/n")
        assert (watch.behind, watch.ready(), watch.progress) == (False, [], 2)

    async def test_change_is_readable_before_writer_and_watchers_are_notified(self, store: Store) -> None:
        watch = store.watch("/", after=0)

        async def follow() -> None:
            for _ in range(10):
                event = await anext(aiter(watch))
                assert store.revision >= event.revision
                assert store.peek(event.entry.key) is not None

        following = asyncio.ensure_future(follow())
        entries = await asyncio.gather(*(write(store, f"/{i}") for i in range(10)))
        assert all(store.peek(entry.key) is entry for entry in entries)
        await following

    async def test_a_watch_that_was_open_survives_compaction(self, store: Store) -> None:
        watch = store.watch("/a", after=0)
        for _ in range(3):
            await write(store, "/a")
        await store.compact(3)
        assert [event.revision for event in watch.ready()] == [1, 2, 3]
        with pytest.raises(Compacted):
            store.watch("/a", after=2)

    async def test_a_closed_watch_ends(self, store: Store) -> None:
        watch = store.watch("/a", after=0)
        waiting = asyncio.ensure_future(anext(aiter(watch), None))
        await write(store, "/b")
        watch.close()
        assert await waiting is None
        assert watch.ready() == []

    async def test_closing_the_store_ends_its_watches(self, store: Store) -> None:
        watch = store.watch("/a", after=0)
        waiting = asyncio.ensure_future(anext(aiter(watch), None))
        await write(store, "/b")
        await store.close()
        assert await waiting is None

    async def test_the_slow_watch_is_cut_off_and_the_others_read_on(self, open_store: OpenStore) -> None:
        store = open_store(100)
        slow, quick = store.watch("/a", after=0), store.watch("/a", after=0)
        read: list[int] = []
        for _ in range(600):
            await write(store, "/a")
            read += [event.revision for event in quick.ready()]
        assert read == list(range(1, 601))
        assert slow.behind
        with pytest.raises(WatchOverflow):
            slow.ready()
        with pytest.raises(WatchOverflow):
            await anext(aiter(slow))
        resumed = store.watch("/a", after=slow.progress)
        assert [event.revision for event in resumed.ready()] == list(range(1, 601))
        await store.close()


class MemoryMachine(StoreMachine):
    def open_store(self) -> Store:
        return MemoryStore()


class TrimmingMachine(MemoryMachine):
    """The machine with logs trimmed after every event: reads never depend on the moment of trimming."""

    def open_store(self) -> Store:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(hub, "TRIM_AT_LEAST", 0)
        return super().open_store()

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "patch"):
            self.patch.undo()


class SqliteMachine(StoreMachine):
    def open_store(self) -> Store:
        if not hasattr(self, "folder"):
            self.folder = tempfile.TemporaryDirectory(prefix="podling-store-")
        return SqliteStore(Path(self.folder.name) / "store.db")

    @rule()
    def reopen(self) -> None:
        """Reopen the store as another process does: every watch resumes, or receives the events it missed."""
        self.runner.run(self.store.close())
        self.store = self.within(self.open_store)
        readers, self.readers = self.readers, []
        for reader in readers:
            assert reader.watch.ready() == []
            self.connect(reader.prefix, reader.position)

    @rule()
    def history_is_the_same_on_disk(self) -> None:
        watch = self.store.watch("", after=self.model.compacted)
        assert [seen(event) for event in watch.ready()] == self.model.events_after(self.model.compacted, "")
        watch.close()

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "folder"):
            self.folder.cleanup()


class ReplicaMachine(StoreMachine):
    """The machine over a replica: writes go to the source, all answers come from the replica."""

    def open_store(self) -> Store:
        self.patch = pytest.MonkeyPatch()
        self.replicated = ReplicatedStore(self.patch)
        return self.replicated

    @rule()
    def connection_breaks(self) -> None:
        """Break the connection at its next frame: no watch of the replica notices."""
        self.replicated.is_cut = True

    @rule()
    def new_replica(self) -> None:
        """Start another replica from nothing: it has the same history."""
        self.runner.run(self.replicated.replica.close())
        self.readers.clear()
        source = self.replicated.source

        async def another() -> ReplicatedStore:
            await self.replicated.stop()
            made = ReplicatedStore(self.patch, source=source)
            await made.replica.reached(source.revision)
            return made

        self.store = self.replicated = self.runner.run(another())

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "patch"):
            self.patch.undo()


TestMemoryStoreAgainstTheModel = MemoryMachine.TestCase
TestMemoryStoreAgainstTheModel.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
TestTrimmingStoreAgainstTheModel = TrimmingMachine.TestCase
TestTrimmingStoreAgainstTheModel.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestSqliteStoreAgainstTheModel = SqliteMachine.TestCase
TestSqliteStoreAgainstTheModel.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestReplicaAgainstTheModel = ReplicaMachine.TestCase
TestReplicaAgainstTheModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

"""A plain model of a store, and a state machine that compares real stores with it.

The model keeps a whole copy of the state for every revision and the list of all events: nothing is
shared, indexed or compacted. The machine writes, reads, compacts, watches and reconnects at random on
a real store and checks every answer against the model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from podling.store.base import (
    Compacted,
    Conflict,
    Encode,
    Entry,
    Event,
    EventType,
    FutureRevision,
    Store,
    Watch,
)

Seen = tuple[int, str, str, bytes, int, int]
"""An event as compared: revision, type, key, value, created at, revision of the entry it replaced."""


@dataclass
class Model:
    """Every state by revision, and every event."""

    states: list[dict[str, Entry]] = field(default_factory=lambda: [{}])
    events: list[Seen] = field(default_factory=list)
    compacted: int = 0

    @property
    def revision(self) -> int:
        return len(self.states) - 1

    @property
    def now(self) -> dict[str, Entry]:
        return self.states[-1]

    def revision_of(self, key: str) -> int:
        return self.now[key].revision if key in self.now else 0

    def record(self, type_: EventType, entry: Entry) -> None:
        """Record an acknowledged write, which must be the next revision."""
        previous = self.now.get(entry.key)
        assert entry.revision == self.revision + 1
        assert entry.create_revision == (previous.create_revision if previous else entry.revision)
        state = {key: value for key, value in self.now.items() if key != entry.key}
        if type_ is EventType.PUT:
            state[entry.key] = entry
        self.states.append(state)
        replaced = previous.revision if previous else 0
        self.events.append(
            (entry.revision, type_.value, entry.key, entry.value, entry.create_revision, replaced)
        )

    def events_after(self, revision: int, prefix: str) -> list[Seen]:
        return [seen for seen in self.events[revision:] if seen[2].startswith(prefix)]


def seen(event: Event) -> Seen:
    entry, previous = event.entry, event.previous
    assert event.revision == entry.revision
    replaced = previous.revision if previous else 0
    return (entry.revision, event.type.value, entry.key, entry.value, entry.create_revision, replaced)


def comparable(entry: Entry | None) -> tuple[str, bytes, int, int] | None:
    return (entry.key, entry.value, entry.revision, entry.create_revision) if entry else None


def stamped(value: bytes) -> Encode:
    """Return a function that writes the revision into the value, as API objects carry it."""
    return lambda revision: value + b"@%d" % revision


@dataclass
class Reader:
    """A watch under test, and its last revision."""

    prefix: str
    position: int
    watch: Watch


KEYS = st.sampled_from(
    ["/a", "/a/", "/a/x", "/a/x/1", "/a/y", "/a-b/x", "/b/x", "/b/y", "/é/\U0010ffff", "/é/z"]
)
PREFIXES = st.sampled_from(["", "/", "/a", "/a/", "/a/x", "/a/x/1", "/b/", "/é/\U0010ffff", "/nothing/"])
VALUES = st.binary(max_size=8)
FRACTION = st.floats(0, 1)


class EncodeFailed(Exception):
    """Raised by a writer's own ``encode``."""


def refuse(revision: int) -> bytes:
    raise EncodeFailed(revision)


class StoreMachine(RuleBasedStateMachine):
    """State machine over a store, on an event loop of its own; subclasses open the store."""

    def open_store(self) -> Store:
        raise NotImplementedError

    @initialize()
    def start(self) -> None:
        self.runner = asyncio.Runner()
        self.model = Model()
        self.readers: list[Reader] = []
        self.store = self.within(self.open_store)

    def within(self, make: Callable[[], Store]) -> Store:
        async def call() -> Store:
            return make()

        return self.runner.run(call())

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.runner.run(self.store.close())
            self.runner.close()

    # Writing

    @rule(key=KEYS, value=VALUES, off_by=st.sampled_from([0, 0, 0, 1, -1]), memo=st.none() | st.integers())
    def put(self, key: str, value: bytes, off_by: int, memo: int | None) -> None:
        actual = self.model.revision_of(key)
        expect = max(actual + off_by, 0)
        put = self.store.put(key, stamped(value), expect=expect, memo=memo)
        if expect != actual:
            self.refused(put, key, expect, actual)
            return
        entry = self.runner.run(put)
        assert entry.value == value + b"@%d" % entry.revision
        assert entry.memo == memo
        self.model.record(EventType.PUT, entry)

    @rule(key=KEYS, off_by=st.sampled_from([0, 0, 0, 1]), last_words=st.none() | VALUES)
    def delete(self, key: str, off_by: int, last_words: bytes | None) -> None:
        actual = self.model.revision_of(key)
        encode = None if last_words is None else stamped(last_words)
        delete = self.store.delete(key, expect=actual + off_by, encode=encode)
        if off_by or not actual:
            self.refused(delete, key, actual + off_by, actual)
            return
        before = self.model.now[key]
        entry = self.runner.run(delete)
        expected = before.value if last_words is None else last_words + b"@%d" % entry.revision
        assert entry.value == expected
        self.model.record(EventType.DELETE, entry)

    @rule(keys=st.lists(KEYS, min_size=2, max_size=8))
    def race(self, keys: list[str]) -> None:
        """Let many writers that read the same state write at once: per key the first one wins."""
        expected = {key: self.model.revision_of(key) for key in keys}

        async def write_all() -> list[Entry | BaseException]:
            puts = (
                self.store.put(key, stamped(b"%d" % i), expect=expected[key]) for i, key in enumerate(keys)
            )
            return await asyncio.gather(*puts, return_exceptions=True)

        outcomes = self.runner.run(write_all())
        winners = {outcome.key: outcome for outcome in outcomes if isinstance(outcome, Entry)}
        assert list(winners) == list(dict.fromkeys(keys))
        for i, (key, outcome) in enumerate(zip(keys, outcomes, strict=True)):
            if i == keys.index(key):
                assert isinstance(outcome, Entry)
                assert outcome.value.startswith(b"%d@" % i)
            else:
                assert isinstance(outcome, Conflict)
                assert (outcome.expected, outcome.actual) == (expected[key], winners[key].revision)
        for entry in sorted(winners.values(), key=lambda entry: entry.revision):
            self.model.record(EventType.PUT, entry)

    @rule(key=KEYS)
    def writer_gives_up(self, key: str) -> None:
        """Check that an ``encode`` that raises writes nothing and uses no revision."""
        with pytest.raises(EncodeFailed):
            self.runner.run(self.store.put(key, refuse, expect=self.model.revision_of(key)))

    def refused(self, write: object, key: str, expect: int, actual: int) -> None:
        with pytest.raises(Conflict) as caught:
            self.runner.run(write)  # type: ignore[arg-type]
        assert (caught.value.key, caught.value.expected, caught.value.actual) == (key, expect, actual)

    # Reading

    @rule(key=KEYS)
    def get(self, key: str) -> None:
        entry = self.runner.run(self.store.get(key))
        assert comparable(entry) == comparable(self.model.now.get(key))
        assert self.store.peek(key) is entry

    @rule(prefix=PREFIXES, ago=st.none() | FRACTION, limit=st.integers(0, 4), after=st.just("") | KEYS)
    def list_page(self, prefix: str, ago: float | None, limit: int, after: str) -> None:
        revision = None if ago is None else round(ago * self.model.revision)
        asked = self.store.list(prefix, revision=revision, limit=limit, after=after)
        if revision is not None and revision < self.model.compacted:
            with pytest.raises(Compacted) as caught:
                self.runner.run(asked)
            assert (caught.value.revision, caught.value.oldest) == (revision, self.model.compacted)
            return
        page = self.runner.run(asked)
        as_of = self.model.revision if revision is None else revision
        state = self.model.states[as_of]
        matching = [state[key] for key in sorted(state) if key.startswith(prefix) and key > after]
        expected = matching[:limit] if limit else matching
        assert [comparable(entry) for entry in page.entries] == [comparable(entry) for entry in expected]
        assert (page.revision, page.remaining) == (as_of, len(matching) - len(expected))

    @rule(prefix=PREFIXES)
    def count(self, prefix: str) -> None:
        assert self.store.count(prefix) == sum(key.startswith(prefix) for key in self.model.now)

    @rule()
    def future(self) -> None:
        ahead = self.model.revision + 1
        with pytest.raises(FutureRevision):
            self.runner.run(self.store.list("", revision=ahead))
        with pytest.raises(FutureRevision):
            self.store.watch("", after=ahead)
        with pytest.raises(FutureRevision):
            self.runner.run(self.store.compact(ahead))

    @rule(ago=FRACTION)
    def compact(self, ago: float) -> None:
        revision = round(ago * self.model.revision)
        self.runner.run(self.store.compact(revision))
        self.model.compacted = max(self.model.compacted, revision)

    # Watching

    @rule(prefix=PREFIXES, ago=FRACTION)
    def open_watch(self, prefix: str, ago: float) -> None:
        self.connect(prefix, round(ago * self.model.revision))

    def connect(self, prefix: str, after: int) -> None:
        if after < self.model.compacted:
            with pytest.raises(Compacted) as caught:
                self.store.watch(prefix, after=after)
            assert caught.value.oldest == self.model.compacted
            return
        self.readers.append(Reader(prefix, after, self.store.watch(prefix, after=after)))

    @rule(which=st.integers(0), some=st.none() | st.integers(1, 3))
    def read_watch(self, which: int, some: int | None) -> None:
        """Drain a watch, or read a part: no event is missing, repeated or out of order."""
        if not self.readers:
            return
        reader = self.readers[which % len(self.readers)]
        expected = self.model.events_after(reader.position, reader.prefix)
        assert reader.watch.behind == bool(expected)
        if some is None:
            got = reader.watch.ready()
        else:
            expected = expected[:some]
            got = [self.runner.run(_next(reader.watch)) for _ in expected]
        assert [seen(event) for event in got] == expected
        if expected:
            reader.position = expected[-1][0]
        if some is None:
            reader.position = self.model.revision

    @rule(which=st.integers(0))
    def reconnect(self, which: int) -> None:
        """Close a watch and resume it from the last revision it delivered."""
        if not self.readers:
            return
        reader = self.readers.pop(which % len(self.readers))
        progress = reader.watch.progress
        reader.watch.close()
        assert reader.watch.progress == progress
        with pytest.raises(StopAsyncIteration):
            self.runner.run(_next(reader.watch))
        self.connect(reader.prefix, progress)

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "store"):
            return
        assert (self.store.revision, self.store.compacted) == (self.model.revision, self.model.compacted)
        for reader in self.readers:
            pending = self.model.events_after(reader.position, reader.prefix)
            assert reader.watch.progress == (pending[0][0] - 1 if pending else self.model.revision)


async def _next(watch: Watch) -> Event:
    return await watch.__anext__()

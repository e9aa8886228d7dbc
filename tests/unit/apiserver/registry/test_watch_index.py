"""The watch index, compared with a model: each reader receives its events once and in order."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from podling import clock
from podling.apiserver.registry.watch_index import Feeds
from podling.sim.loop import run
from podling.store.base import Watch
from podling.store.memory import MemoryStore
from tests.support.sequences import sequences

VALUES = ("x", "y")

Step = tuple[str, str, int]
steps = sequences(
    st.tuples(
        st.sampled_from(("write", "write", "write", "delete", "open", "read", "turn")),
        st.sampled_from(VALUES),
        st.integers(0, 3),
    ),
    30,
)


@dataclass
class Reader:
    """``told``: revisions."""

    watch: Watch
    value: str
    after: int
    told: list[int] = field(default_factory=list)
    progress: int = 0


@dataclass
class History:
    """``concerned``: the values that each event has to do with, by its revision."""

    store: MemoryStore = field(default_factory=MemoryStore)
    concerned: dict[int, set[str]] = field(default_factory=dict)
    readers: list[Reader] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.feeds = Feeds(self.store)

    async def perform(self, done: list[Step]) -> None:
        for kind, value, number in done:
            await getattr(self, f"_{kind}")(value, number)
        await clock.sleep(0)
        for reader in self.readers:
            self._hear(reader)
            assert reader.told == self._due(reader, self.store.revision)
            reader.watch.close()
        await self.store.close()

    async def _write(self, value: str, number: int) -> None:
        key = f"/a/{number}"
        before = self.store.peek(key)
        entry = await self.store.put(key, lambda _: value.encode(), expect=before.revision if before else 0)
        self.concerned[entry.revision] = {value} | ({before.value.decode()} if before else set())

    async def _delete(self, _: str, number: int) -> None:
        before = self.store.peek(f"/a/{number}")
        if before is not None:
            gone = await self.store.delete(before.key, expect=before.revision)
            self.concerned[gone.revision] = {before.value.decode()}

    async def _open(self, value: str, ago: int) -> None:
        after = max(0, self.store.revision - ago)
        watch = self.feeds.watch(
            "/a/", "value", value, value_of=lambda entry: entry.value.decode(), after=after
        )
        self.readers.append(Reader(watch, value, after, progress=after))

    async def _read(self, _: str, number: int) -> None:
        if self.readers:
            self._hear(self.readers[number % len(self.readers)])

    async def _turn(self, _: str, __: int) -> None:
        await clock.sleep(0)

    def _hear(self, reader: Reader) -> None:
        reader.told += [event.revision for event in reader.watch.ready()]
        assert reader.watch.progress >= reader.progress, "a bookmark never goes back"
        reader.progress = reader.watch.progress
        assert self._due(reader, reader.progress) == [each for each in reader.told if each <= reader.progress]

    def _due(self, reader: Reader, until: int) -> list[int]:
        return [
            revision
            for revision, values in self.concerned.items()
            if reader.after < revision <= until and reader.value in values
        ]


@settings(deadline=None)
@given(steps)
def test_indexed_watch_sends_the_same_events_as_a_plain_watch(done: list[Step]) -> None:
    async def history() -> None:
        await History().perform(done)

    run(history())

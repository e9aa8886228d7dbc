"""Random histories through the API: after any writes and compactions, readers see one gapless order.

A plain model holds, for every revision, the labels that each object had. A watcher that comes and goes has to
see exactly the changes that the model derives for its selector; a list in pages, taken while writes go on,
is exactly the state of one revision.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podling import clock
from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.server import ApiServer
from podling.client.base import Client
from podling.machinery import errors
from podling.sim.loop import run
from podling.store.base import Store
from podling.store.memory import MemoryStore
from podling.store.sqlite import SqliteStore
from podling.testing import ControlPlane
from tests.support.sequences import sequences

NAMES = ("a", "b", "c", "d", "e")
SELECTOR = "shown=yes"

Step = tuple[str, str, bool]
STEPS = sequences(
    st.tuples(
        st.sampled_from(("write", "write", "write", "delete", "compact", "reconnect", "page")),
        st.sampled_from(NAMES),
        st.booleans(),
    ),
    40,
)

Told = tuple[int, str, str, str]
"""Revision, type, name and content."""

PROPERTY = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


@dataclass(slots=True)
class Model:
    """``state``: whether each object is shown. ``events``: those that a watcher of the shown ones receives.

    ``content``: of each object, the number of its last write. Of one that goes, or is shown no more, watchers
    are given the content that they saw last.
    """

    state: dict[str, bool] = field(default_factory=dict)
    content: dict[str, str] = field(default_factory=dict)
    events: list[Told] = field(default_factory=list)
    states: dict[int, dict[str, bool]] = field(default_factory=dict)

    def changed(self, revision: int, name: str, shown: bool | None, content: str = "") -> None:
        """``shown``: None for an object that is gone."""
        before, last = self.state.get(name, False), self.content.get(name, "")
        self.content[name] = content or last
        if shown is None:
            self.state.pop(name, None)
        else:
            self.state[name] = shown
        kind = {(0, 1): "ADDED", (1, 1): "MODIFIED", (1, 0): "DELETED"}.get((int(before), int(bool(shown))))
        if kind is not None:
            self.events.append((revision, kind, name, self.content[name] if shown else last))
        self.states[revision] = dict(self.state)


class History:
    """Performs steps on a server and on the model, and compares them at the end."""

    def __init__(self, store: Store, client: Client) -> None:
        self._store, self._client = store, client
        self._model = Model(states={store.revision: {}})
        self._start = self._seen = store.revision
        self._told: list[Told] = []
        self._pages: tuple[int, str, dict[str, bool]] | None = None
        self._count = 0

    async def perform(self, steps: list[Step]) -> None:
        for kind, name, flag in steps:
            await getattr(self, f"_{kind}")(name, flag)
        await self._reconnect("", False)
        assert self._told == self._model.events

    async def _write(self, name: str, shown: bool) -> None:
        self._count += 1
        labels = {"shown": "yes"} if shown else {"shown": "no"}
        obj = ConfigMap(
            metadata=ObjectMeta(name=name, namespace="default", labels=labels), data={"n": str(self._count)}
        )
        known = name in self._model.state
        made = await (self._client.update(obj) if known else self._client.create(obj))
        self._model.changed(int(made.metadata.resource_version or 0), name, shown, str(self._count))

    async def _delete(self, name: str, _: bool) -> None:
        if name in self._model.state:
            await self._client.delete(ConfigMap, name, "default")
            self._model.changed(self._store.revision, name, None)

    async def _compact(self, _: str, everything: bool) -> None:
        """Forget what every reader has seen; or all of it, once every reader has caught up."""
        if everything:
            await self._reconnect("", False)
        await self._store.compact(min(self._seen, self._store.revision))

    async def _reconnect(self, _: str, by_name: bool) -> None:
        """Watch on from where the last watch ended, until the present is seen."""
        due = [event for event in self._model.events if event[0] > self._seen]
        watch = self._client.watch(
            ConfigMap, "default", resource_version=str(self._seen), label_selector=SELECTOR
        )
        for _event in due:
            event = await asyncio.wait_for(anext(aiter(watch)), 5)
            metadata = event.object.metadata
            revision = int(metadata.resource_version or 0)
            self._told.append((revision, event.type.value, metadata.name or "", event.object.data["n"]))
        await aclose(watch)
        self._seen = self._store.revision

    async def _page(self, _: str, fresh: bool) -> None:
        """The next page of a list: begun now, or going on from before while writes went on."""
        revision, token, found = self._pages if self._pages and not fresh else (0, "", {})
        try:
            page = await self._client.list(ConfigMap, "default", limit=2, continue_token=token)
        except errors.ApiError as error:
            if not errors.is_expired(error) or revision >= self._store.compacted:
                raise
            self._pages = None
            return
        asked = revision or int(page.resource_version)
        assert int(page.resource_version) == asked
        mine = (each for each in page.items if each.metadata.name in NAMES)
        found |= {each.metadata.name or "": (each.metadata.labels or {})["shown"] == "yes" for each in mine}
        self._pages = (asked, page.continue_token, found) if page.continue_token else None
        if not page.continue_token:
            last = max(each for each in self._model.states if each <= asked)
            assert found == self._model.states[last]


async def aclose(watch: Any) -> None:
    await watch.aclose()


async def live(store: Store, steps: list[Step]) -> None:
    api = ApiServer(store, ())
    await api.start()
    try:
        await History(store, api.client()).perform(steps)
    finally:
        await api.stop()
        await store.close()


@PROPERTY
@given(steps=STEPS)
def test_history_in_memory_is_one_order(steps: list[Step]) -> None:
    async def history() -> None:
        await live(MemoryStore(), steps)

    run(history())


@pytest.mark.slow
def test_history_on_disk_is_one_order(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same on SQLite, on the real loop."""

    @settings(PROPERTY, max_examples=15)
    @given(steps=STEPS)
    def histories(steps: list[Step]) -> None:
        folder: Path = tmp_path_factory.mktemp("history")
        asyncio.run(live(SqliteStore(folder / "store.db"), steps))

    histories()


async def test_page_of_several_reads_shows_one_revision(cluster: ControlPlane) -> None:
    """Few of many match, so one page needs several reads of the store, and writes go on in between."""
    client, names = cluster.client, [f"{number:02}" for number in range(40)]
    shown: dict[int, set[str]] = {}
    now = set[str]()

    async def write(name: str, kind: str) -> None:
        (now.add if kind == "yes" else now.discard)(name)
        made = await client.update(
            ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels={"shown": kind}))
        )
        shown[int(made.metadata.resource_version or 0)] = set(now)

    async def write_on() -> None:
        for count in range(400):
            await write(names[count * 7 % len(names)], "yes" if count % 9 == 0 else "no")
            await clock.sleep(0)

    for name in names:
        await client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))
    shown[cluster.store.revision] = set()
    writing = asyncio.create_task(write_on())
    pages = 0
    while not writing.done():
        page = await client.list(ConfigMap, "default", limit=2, label_selector=SELECTOR)
        pages += 1
        expected = sorted(shown[int(page.resource_version)])
        assert [each.metadata.name for each in page.items] == expected[:2]
        assert bool(page.continue_token) >= (len(expected) > 2)
        await clock.sleep(0)
    await writing
    assert pages > 10

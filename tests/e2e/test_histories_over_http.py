"""Random histories over real HTTP: every reader sees one gapless order, despite broken connections.

Writes, compactions, broken connections and restarts of the server come in any order. Watchers of several
selections each have to receive exactly the changes that a plain model derives. Bookmarks promise no more
than was sent. Lists in pages, read while writes go on, add up to one revision.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random  # noqa: TID251 (seeded)
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podling.apiserver.registry import watch as watches
from podling.store.base import Store
from podling.store.memory import MemoryStore
from podling.store.sqlite import SqliteStore
from tests.support.histories import (
    Expired,
    Key,
    Model,
    Selection,
    Watcher,
    collection,
    in_pages,
    key_of,
    model_of,
    revision_of,
)
from tests.support.sequences import sequences
from tests.support.served_by_workers import ServedByWorkers
from tests.support.served_here import ServedHere

pytestmark = pytest.mark.e2e

NAMES = ("a", "b", "c", "d")
NAMESPACES = ("default", "kube-public")
MINE = {"mine": "yes"}
SELECTIONS = (
    Selection(lambda key, labels: "mine" in labels, query={"labelSelector": "mine"}),
    Selection(lambda key, labels: labels.get("shown") == "yes", query={"labelSelector": "shown=yes"}),
    Selection(
        lambda key, labels: labels.get("shown") in ("no", "maybe") and "mine" in labels,
        namespace="default",
        query={"labelSelector": "shown in (no,maybe),mine"},
    ),
    Selection(
        lambda key, labels: key[1] == "b", namespace="kube-public", query={"fieldSelector": "metadata.name=b"}
    ),
    Selection(lambda key, labels: True),
)
ANSWER_SECONDS = 60.0

Step = tuple[str, int, int, int]
STEPS = sequences(
    st.tuples(
        st.sampled_from(
            ("write",) * 6 + ("delete",) * 2 + ("read",) * 3 + ("cut",) * 2 + ("page",) * 2
            + ("compact", "again", "restart")
        ),
        st.integers(0, 3),
        st.integers(0, 3),
        st.integers(0, 3),
    ),
    50,
)  # fmt: skip
PROPERTY = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


class History:
    """Performs steps on a server and on the model; every read compares the two."""

    def __init__(self, server: ServedHere, model: Model) -> None:
        self._server, self._model = server, model
        self._watchers = [Watcher(server, self._model, each) for each in SELECTIONS]
        self._pages: tuple[dict[str, str], str, set[Key]] | None = None
        self._count = 0

    async def perform(self, steps: list[Step]) -> None:
        for watcher in self._watchers:
            await watcher.list_again(0, stream=False)
        for kind, *choices in steps:
            await getattr(self, f"_{kind}")(*choices)
        for name in NAMES * 2:  # every watcher receives one more event, and nothing before that
            for namespace in NAMESPACES:
                await self._put((namespace, name), self._labels(self._count % 3))
        for watcher in self._watchers:
            await self._catch_up(watcher)
            watcher.cut()

    def _watcher(self, which: int) -> Watcher:
        return self._watchers[(which + self._count) % len(self._watchers)]

    def _labels(self, choice: int) -> dict[str, str]:
        return {**MINE, "shown": ("yes", "no", "maybe")[choice % 3]}

    async def _write(self, name: int, namespace: int, choice: int) -> None:
        await self._put((NAMESPACES[namespace % 2], NAMES[name]), self._labels(choice))

    async def _put(self, key: Key, labels: dict[str, str]) -> None:
        """Create or change an object, by another verb each time."""
        self._count += 1
        metadata = {"name": key[1], "namespace": key[0], "labels": labels}
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {"n": str(self._count)},
        }
        path, media_type = f"{collection(key[0])}/{key[1]}", "application/json"
        verb = ("PUT", "PATCH", "APPLY")[self._count % 3]
        if verb == "APPLY":
            verb, media_type = "PATCH", "application/apply-patch+yaml"
            path += "?fieldManager=me&force=true"
        elif key not in self._model.state(SELECTIONS[0]):
            verb, path = "POST", collection(key[0])
        elif verb == "PATCH":
            media_type = "application/merge-patch+json"
        made = await self._ask(verb, path, body, media_type)
        self._model.changed(revision_of(made), key, labels)

    async def _delete(self, name: int, namespace: int, _: int) -> None:
        key = NAMESPACES[namespace % 2], NAMES[name]
        if key in self._model.state(SELECTIONS[0]):
            await self._ask("DELETE", f"{collection(key[0])}/{key[1]}")
            self._model.changed(self._server.store.revision, key, None)

    async def _ask(
        self, verb: str, path: str, body: Any = None, media_type: str = "application/json"
    ) -> dict[str, Any]:
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": media_type}
        url = self._server.url(path)
        async with self._server.session.request(verb, url, data=data, headers=headers) as response:
            answer: dict[str, Any] = await response.json()
        assert response.status < 300, answer
        return answer

    async def _read(self, which: int, count: int, _: int) -> None:
        """Let a watcher read further, not always to the end."""
        await self._catch_up(self._watcher(which), None if count == 3 else count)

    async def _catch_up(self, watcher: Watcher, count: int | None = None) -> None:
        since = watcher.seen
        try:
            await watcher.read(count)
        except Expired:
            assert since < self._server.store.compacted, "history is forgotten only when it is compacted"
            await watcher.list_again(2, stream=bool(self._count % 2))
            await watcher.read(count)

    async def _cut(self, which: int, _: int, __: int) -> None:
        self._watcher(which).cut()

    async def _again(self, which: int, limit: int, stream: int) -> None:
        await self._watcher(which).list_again(limit, stream=stream % 2 == 1)

    async def _compact(self, back: int, _: int, __: int) -> None:
        """Compact all history, or all but the last few revisions."""
        await self._server.store.compact(max(self._server.store.revision - 3 * back, 0))

    async def _restart(self, reopen: int, _: int, __: int) -> None:
        """Restart the server. It sends all events before it stops, so a watcher may read on or be cut off."""
        self._watcher(reopen).cut()
        await self._server.restart(reopen=reopen % 2 == 1)
        for watcher in self._watchers:
            watcher.cut()

    async def _page(self, fresh: int, limit: int, _: int) -> None:
        """Read the next page of a list; all pages together are the state of one revision."""
        query, asked, found = self._pages or ({"labelSelector": "mine", "limit": str(limit + 1)}, "", set())
        async with self._server.session.get(self._server.url(collection("")), params=query) as response:
            page = await response.json()
        self._pages = None
        if response.status == 410:
            assert page["reason"] == "Expired"
            assert int(asked) < self._server.store.compacted
            return
        keys = {key_of(each) for each in page["items"]}
        assert response.status == 200, page
        assert not keys & found
        found = found | keys
        revision = page["metadata"]["resourceVersion"]
        assert revision == (asked or revision), "a page is of the revision of the first one"
        if token := page["metadata"].get("continue"):
            self._pages = ({**query, "continue": token}, revision, found)
        else:
            assert found == self._model.state(SELECTIONS[0], int(revision))


async def live(open_store: Callable[[], Awaitable[Store]], steps: list[Step]) -> None:
    async with asyncio.timeout(ANSWER_SECONDS), ServedHere(open_store) as server:
        await History(server, await model_of(server)).perform(steps)


@pytest.fixture(autouse=True)
def frequent_bookmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send bookmarks every few milliseconds instead of every minute, so that they come between all events."""
    monkeypatch.setattr(watches, "BOOKMARK_SECONDS", 0.005)


def test_readers_see_one_order_of_memory_store() -> None:
    @PROPERTY
    @given(steps=STEPS)
    def histories(steps: list[Step]) -> None:
        store = MemoryStore()

        async def the_same() -> Store:
            return store

        asyncio.run(live(the_same, [step for step in steps if step[0] != "restart" or step[1] % 2 == 0]))

    histories()


@pytest.mark.slow
def test_readers_see_one_order_of_sqlite_store(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same on SQLite, whose history also outlives the process."""

    @settings(PROPERTY, max_examples=20)
    @given(steps=STEPS)
    def histories(steps: list[Step]) -> None:
        folder: Path = tmp_path_factory.mktemp("history")

        async def reopened() -> Store:
            return SqliteStore(folder / "store.db")

        asyncio.run(live(reopened, steps))

    histories()


WRITERS, WRITES, LISTERS = 4, 60, 2


async def write_on(server: ServedHere, writer: int, random: Random) -> None:
    """Create, change and delete a writer's own objects, one after the other."""
    there: set[Key] = set()
    for count in range(WRITES):
        key = random.choice(NAMESPACES), f"{random.choice(NAMES)}{writer or ''}"
        path = f"{collection(key[0])}/{key[1]}"
        if key in there and random.random() < 0.3:
            there.discard(key)
            request = server.session.delete(server.url(path))
        else:
            labels = {**MINE, "shown": random.choice(("yes", "no", "maybe"))}
            metadata = {"name": key[1], "labels": labels}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"n": str(count)}}
            query = {"fieldManager": f"w{writer}", "force": "true"}
            headers = {"Content-Type": "application/apply-patch+yaml"}
            request = server.session.patch(server.url(path), params=query, json=body, headers=headers)
            there.add(key)
        async with request as response:
            assert response.status < 300, await response.text()


async def list_on(server: ServedHere, limit: int, found: list[tuple[int, set[Key]]]) -> None:
    while True:
        found.append(await in_pages(server, SELECTIONS[0], limit))


async def follow_all_changes(server: ServedHere, model: Model, since: int) -> None:
    """Fill the model from one watch that nothing breaks, up to the present."""
    query = {"watch": "true", "resourceVersion": str(since), "labelSelector": "mine"}
    async with server.session.get(server.url(collection("")), params=query) as response:
        while not model.changes or model.changes[-1][0] < server.store.revision:
            event = json.loads(await response.content.readline())
            metadata = event["object"]["metadata"]
            labels = None if event["type"] == "DELETED" else metadata["labels"]
            model.changed(revision_of(event["object"]), key_of(event["object"]), labels)


async def crowd(server: ServedHere, seed: int) -> None:
    model, lists = await model_of(server), list[tuple[int, set[Key]]]()
    watchers = [Watcher(server, model, each) for each in SELECTIONS]
    for watcher in watchers:
        await watcher.list_again(0, stream=False)
    since = watchers[0].seen
    readers = [asyncio.create_task(each.follow(Random(seed))) for each in watchers]
    readers += [asyncio.create_task(list_on(server, 2 + number, lists)) for number in range(LISTERS)]
    async with asyncio.TaskGroup() as writing:
        for number in range(WRITERS):
            writing.create_task(write_on(server, number, Random(seed * WRITERS + number)))
    for reader in readers:
        reader.cancel()
    ended = await asyncio.gather(*readers, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in ended), ended
    await follow_all_changes(server, model, since)
    for watcher in watchers:
        watcher.check()
        watcher.cut()
        await watcher.read()
        watcher.cut()
    assert lists
    for revision, shown in lists:
        assert shown == model.state(SELECTIONS[0], revision)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_readers_see_one_order_of_concurrent_writers(kind: str, seed: int, tmp_path: Path) -> None:
    """Writers, listers and watchers all at the same time; one watch that is never broken is the witness."""

    async def open_store() -> Store:
        return MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "store.db")

    async with asyncio.timeout(ANSWER_SECONDS), ServedHere(open_store) as server:
        await crowd(server, seed)


@pytest.mark.slow
def test_readers_see_one_order_through_workers(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same with every request at another API worker, while the writer and workers restart."""

    @settings(PROPERTY, max_examples=20)
    @given(steps=STEPS)
    def histories(steps: list[Step]) -> None:
        folder: Path = tmp_path_factory.mktemp("history")

        async def reopened() -> Store:
            return SqliteStore(folder / "store.db")

        async def run() -> None:
            async with asyncio.timeout(ANSWER_SECONDS), ServedByWorkers(reopened, folder) as server:
                await History(server, await model_of(server)).perform(steps)

        asyncio.run(run())

    histories()


@pytest.mark.parametrize("seed", range(3))
async def test_readers_see_one_order_of_concurrent_writers_through_workers(seed: int, tmp_path: Path) -> None:
    async def open_store() -> Store:
        return SqliteStore(tmp_path / "store.db")

    async with asyncio.timeout(ANSWER_SECONDS), ServedByWorkers(open_store, tmp_path) as server:
        await crowd(server, seed)

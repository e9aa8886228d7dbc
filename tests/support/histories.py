"""A plain model of all writes, and watchers over HTTP that compare their events with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random  # noqa: TID251 (seeded)
from typing import Any

import aiohttp

from tests.support.served_here import ServedHere

Key = tuple[str, str]
"""Namespace and name."""
Told = tuple[int, str, Key]
"""Revision, type of the event, and its object."""
Matches = Callable[[Key, dict[str, str]], bool]

KINDS = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}
COLLECTION = "/api/v1/configmaps"


def collection(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps" if namespace else COLLECTION


@dataclass(frozen=True)
class Selection:
    """A reader's selection of objects, as a query and as a predicate."""

    matches: Matches
    namespace: str = ""
    query: dict[str, str] = field(default_factory=dict)

    def shows(self, key: Key, labels: dict[str, str]) -> bool:
        return self.namespace in ("", key[0]) and self.matches(key, labels)


@dataclass
class Model:
    """Every change in the order of revisions: the labels of an object, or None for its deletion."""

    changes: list[tuple[int, Key, dict[str, str] | None]] = field(default_factory=list)

    def changed(self, revision: int, key: Key, labels: dict[str, str] | None) -> None:
        assert not self.changes or revision > self.changes[-1][0], "revisions rise"
        self.changes.append((revision, key, labels))

    def state(self, selection: Selection, revision: int | None = None) -> set[Key]:
        """Return the selected objects at a revision, or now."""
        found: dict[Key, dict[str, str] | None] = {}
        for when, key, labels in self.changes:
            if revision is None or when <= revision:
                found[key] = labels
        return {key for key, labels in found.items() if labels is not None and selection.shows(key, labels)}

    def events(self, selection: Selection, after: int) -> Iterator[Told]:
        """Return the events that a watcher has to receive after revision ``after``, in order."""
        shown: set[Key] = set()
        for revision, key, labels in self.changes:
            now = labels is not None and selection.shows(key, labels)
            kind = KINDS.get((key in shown, now))
            (shown.add if now else shown.discard)(key)
            if kind is not None and revision > after:
                yield revision, kind, key


async def in_pages(server: ServedHere, selection: Selection, limit: int) -> tuple[int, set[Key]]:
    """Return a list and its revision; every page has to have it, and no object may appear twice."""
    query, found, revision = {**selection.query}, set[Key](), ""
    if limit:
        query["limit"] = str(limit)
    while True:
        url = server.url(collection(selection.namespace))
        async with server.session.get(url, params=query) as response:
            page = await response.json()
        assert response.status == 200, page
        keys = [key_of(each) for each in page["items"]]
        assert not found.intersection(keys)
        found.update(keys)
        assert page["metadata"]["resourceVersion"] == (revision or page["metadata"]["resourceVersion"])
        revision = page["metadata"]["resourceVersion"]
        if not (token := page["metadata"].get("continue")):
            return int(revision), found
        query["continue"] = token


async def model_of(server: ServedHere) -> Model:
    """Return a model of the objects that the server has already."""
    async with server.session.get(server.url(COLLECTION)) as response:
        items = (await response.json())["items"]
    model = Model()
    for each in sorted(items, key=revision_of):
        model.changed(revision_of(each), key_of(each), each["metadata"].get("labels", {}))
    return model


class Watcher:
    """A reader that lists once and then watches, over connections that break.

    After a break it resumes from the last event or bookmark.
    """

    def __init__(self, server: ServedHere, model: Model, selection: Selection) -> None:
        self._server, self._model, self._selection = server, model, selection
        self._response: aiohttp.ClientResponse | None = None
        self._begun = 0
        """The revision of the last list."""
        self.seen = 0
        """The revision up to which all events were read."""
        self._told: list[Told] = []

    async def read(self, count: int | None = None) -> None:
        """Read that many events, or all that have happened; each has to be the model's next one."""
        due = list(self._model.events(self._selection, self._begun))[len(self._told) :]
        for expected in due[:count]:
            told = await self._next()
            assert told == expected, (self._selection, told, expected)
            self._told.append(told)

    async def follow(self, random: Random) -> None:
        """Read events without end, over connections that break at random; ``check`` them afterwards."""
        while True:
            self._told.append(await self._next())
            if random.random() < 0.03:
                self.cut()

    def check(self) -> None:
        """Assert that the events read so far are the first of the model, which is complete by now."""
        expected = list(self._model.events(self._selection, self._begun))
        assert self._told == expected[: len(self._told)], self._selection

    def cut(self) -> None:
        """Break the connection, even during an event."""
        if self._response is not None:
            connection = self._response.connection
            if connection is not None and connection.transport is not None:
                connection.transport.abort()
            self._response.close()
            self._response = None

    async def list_again(self, limit: int, *, stream: bool) -> None:
        """Start again with the present state, in pages or as a stream of events."""
        self.cut()
        shown = await (self._stream() if stream else self._pages(limit))
        assert shown == self._model.state(self._selection, self.seen)
        self._begun, self._told = self.seen, []

    async def _pages(self, limit: int) -> set[Key]:
        self.seen, found = await in_pages(self._server, self._selection, limit)
        return found

    async def _stream(self) -> set[Key]:
        """Read the present state from a watch (``sendInitialEvents``); the connection stays open."""
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        await self._open(query)
        found: set[Key] = set()
        while True:
            event = await self._line()
            metadata = event["object"]["metadata"]
            if event["type"] == "BOOKMARK":
                assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
                self.seen = int(metadata["resourceVersion"])
                return found
            assert event["type"] == "ADDED"
            found.add(key_of(event["object"]))

    async def _next(self) -> Told:
        """Read the next event that is no bookmark."""
        while True:
            if self._response is None:
                await self._open({"resourceVersion": str(self.seen)})
            event = await self._line()
            revision = revision_of(event["object"])
            if event["type"] == "BOOKMARK":
                assert revision >= self.seen
                self.seen = revision
                continue
            assert revision > self.seen, "nothing comes twice, or after a bookmark that promised it was read"
            self.seen = revision
            return revision, event["type"], key_of(event["object"])

    async def _open(self, query: dict[str, str]) -> None:
        asked = {**self._selection.query, **query, "watch": "true", "allowWatchBookmarks": "true"}
        url = self._server.url(collection(self._selection.namespace))
        self._response = await self._server.session.get(url, params=asked)
        assert self._response.status == 200

    async def _line(self) -> dict[str, Any]:
        assert self._response is not None
        line = await self._response.content.readline()
        event: dict[str, Any] = json.loads(line)
        if event["type"] == "ERROR":
            raise Expired(event["object"])
        return event


class Expired(Exception):
    """Raised when the server has compacted the events since a watcher's last revision."""


def key_of(obj: dict[str, Any]) -> Key:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def revision_of(obj: dict[str, Any]) -> int:
    return int(obj["metadata"]["resourceVersion"])

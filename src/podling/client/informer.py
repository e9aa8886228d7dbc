"""A local copy of one kind's objects, kept fresh by a list and the watch that follows it.

The argument, in three parts:

* ``list_and_watch`` decides **which request comes next**.
* **The copy never goes back.** Revisions are numbers that only rise; an event or a list older than
  what is held is not taken.
* **Handlers see every object's life without gaps in its shape**: add, updates, delete, in order,
  called synchronously after the copy changed. A name taken by a new object (another UID) is a delete
  followed by an add, also when both happened while no watch was open.

Intermediate states may be skipped (after a relist): readers are level-triggered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar, assert_never

from podling import clock, ids
from podling.client.base import ApiObject, Client, Key, Unreachable, WatchEvent, WatchEventType, key_of
from podling.client.list_and_watch import (
    Listed,
    ListFailed,
    NeedList,
    Outcome,
    State,
    WatchEnded,
    WatchFailed,
    Watching,
    delay_seconds,
    step,
)
from podling.client.sorted_keys import SortedKeys
from podling.machinery.errors import ApiError, is_expired

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)


def revision_number(obj_or_revision: ApiObject | str) -> int:
    """Return a resource version as the number it is (0 when unset), for comparing old and new."""
    if isinstance(obj_or_revision, str):
        text: str | None = obj_or_revision
    else:
        text = obj_or_revision.metadata.resource_version
    return int(text) if text else 0


Transform = Callable[[Any], T]
"""Makes what the copy holds from an object that arrived: a smaller object with the same metadata."""

Indexer = Callable[[T], Iterable[str]]
"""The values under which ``by_index`` finds an object. They depend on the object alone."""


class Informer(Generic[T]):
    """A cache of ``kind``, optionally of one namespace or selection, with handlers and indexes.

    Args:
        indexers: for each index its name and the function that gives an object's values.
        transform: replaces each object before the copy takes it, so that the rest is not kept in memory
            (client-go's ``WithTransform``); it keeps name, namespace, UID and resource version.
    """

    def __init__(
        self,
        client: Client,
        kind: type[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        indexers: Mapping[str, Indexer[T]] | None = None,
        transform: Transform[T] | None = None,
    ) -> None:
        self.kind = kind
        self._transform = transform
        self._client = client
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._objects: dict[Key, T] = {}
        self._keys = SortedKeys()
        self._indexers: dict[str, Indexer[T]] = dict(indexers or {})
        self._indexes: dict[str, dict[str, SortedKeys]] = {name: {} for name in self._indexers}
        self._on_add: tuple[Callable[[T], object], ...] = ()
        self._on_update: tuple[Callable[[T, T], object], ...] = ()
        self._on_delete: tuple[Callable[[T], object], ...] = ()
        self._synced = asyncio.Event()
        self._newest = 0
        self.failures = 0
        """The number of lists and watches that failed: after each the copy may be behind for a while."""

    def add_handler(
        self,
        on_add: Callable[[T], object] | None = None,
        on_update: Callable[[T, T], object] | None = None,
        on_delete: Callable[[T], object] | None = None,
    ) -> None:
        """Call these after each change of the copy from now on; each must be quick and must not wait.

        ``on_add`` is called at once for every object already held.
        """
        if on_update is not None:
            self._on_update += (on_update,)
        if on_delete is not None:
            self._on_delete += (on_delete,)
        if on_add is not None:
            self._on_add += (on_add,)
            for obj in self.values():
                self._call((on_add,), obj)

    def add_indexer(self, name: str, indexer: Indexer[T]) -> None:
        """Add an index, also over what is held already; without effect for one that it has.

        Raises ``ValueError`` for another index of the same name: informers are shared.
        """
        known = self._indexers.get(name)
        if known == indexer:
            return
        if known is not None:
            raise ValueError(f"indexer conflict: {name}")
        self._indexers[name] = indexer
        self._indexes[name] = {}
        for key, obj in self._objects.items():
            self._file(name, key, None, obj)

    async def run(self) -> None:
        """Keep the copy fresh until cancelled. Errors are retried with back-off for ever."""
        state: State = NeedList()
        while True:
            if state.failures:
                least = delay_seconds(state.failures)
                await clock.sleep(ids.uniform(least, 2 * least))
            match state:
                case NeedList():
                    state = step(state, await self._list())
                case Watching():
                    state = step(state, await self._watch(state.revision))
                case _:
                    assert_never(state)

    async def synced(self) -> None:
        """Wait until the first list is in the copy and every handler has seen it."""
        await self._synced.wait()

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    @property
    def revision(self) -> int:
        """Everything that happened up to this revision is in the copy; it only rises."""
        return self._newest

    def get(self, key: Key) -> T | None:
        return self._objects.get(key)

    def values(self) -> tuple[T, ...]:
        """Return every object, in key order."""
        return tuple(map(self._objects.__getitem__, self._keys.ordered()))

    def by_index(self, name: str, value: str) -> tuple[T, ...]:
        """Return the objects that the index ``name`` files under ``value``, in key order."""
        found = self._indexes[name].get(value)
        return tuple(map(self._objects.__getitem__, found.ordered())) if found is not None else ()

    def count_index(self, name: str, value: str) -> int:
        """Return the number of objects that ``by_index`` would find."""
        found = self._indexes[name].get(value)
        return len(found) if found is not None else 0

    def __len__(self) -> int:
        return len(self._objects)

    async def _list(self) -> Outcome:
        try:
            listing = await self._client.list(
                self.kind,
                self._namespace,
                label_selector=self._label_selector,
                field_selector=self._field_selector,
            )
        except (ApiError, Unreachable) as error:
            logger.warning("listing %s failed: %s", self.kind.__name__, error)
            self.failures += 1
            return ListFailed()
        revision = revision_number(listing.resource_version)
        if revision < self._newest:
            logger.warning("a list of %s is older than what is held: not taken", self.kind.__name__)
            return ListFailed()
        self._newest = revision
        self._replace_all(self._transformed(listing.items))
        self._synced.set()
        return Listed(listing.resource_version)

    async def _watch(self, revision: str) -> Outcome:
        stream: AsyncIterator[WatchEvent[T]] | None = None
        try:
            stream = self._client.watch(  # a server in this process refuses at once
                self.kind,
                self._namespace,
                resource_version=revision,
                label_selector=self._label_selector,
                field_selector=self._field_selector,
            )
            async for event in stream:
                self._take(event)
                revision = event.object.metadata.resource_version or revision
            return WatchEnded(revision)
        except (ApiError, Unreachable) as error:
            expired = is_expired(error)
            self.failures += 1
            # A lost connection is logged once by its owner, or by the list that fails, not by every watch.
            usual = expired or isinstance(error, Unreachable)
            level = logging.INFO if usual else logging.WARNING
            logger.log(level, "the watch of %s ended: %s", self.kind.__name__, error)
            return WatchFailed(revision, expired)
        finally:
            if stream is not None:
                await close_watch(stream)

    def _transformed(self, items: tuple[Any, ...]) -> tuple[T, ...]:
        return items if self._transform is None else tuple(map(self._transform, items))

    def _take(self, event: WatchEvent[T]) -> None:
        """Bring one event into the copy, unless what is held is as new already."""
        revision = revision_number(event.object)
        self._newest = max(self._newest, revision)
        if event.type is WatchEventType.BOOKMARK:
            return
        key = key_of(event.object)
        held = self._objects.get(key)
        if held is not None and revision_number(held) >= revision:
            return
        (taken,) = self._transformed((event.object,))
        if event.type is WatchEventType.DELETED:
            if held is not None:
                self._remove(key, taken)
        else:
            self._put(key, held, taken)

    def _replace_all(self, items: tuple[T, ...]) -> None:
        listed = {key_of(obj): obj for obj in items}
        for held in self.values():
            if (key := key_of(held)) not in listed:
                self._remove(key, held)
        for key, obj in listed.items():
            present = self._objects.get(key)
            if present is None or revision_number(present) < revision_number(obj):
                self._put(key, present, obj)

    def _put(self, key: Key, held: T | None, obj: T) -> None:
        if held is not None and held.metadata.uid != obj.metadata.uid:
            self._remove(key, held)
            held = None
        if held is None:
            self._keys.add(key)
        self._objects[key] = obj
        for name in self._indexers:
            self._file(name, key, held, obj)
        if held is None:
            self._call(self._on_add, obj)
        else:
            self._call(self._on_update, held, obj)

    def _remove(self, key: Key, last: T) -> None:
        """``last`` is the object's last known state, which handlers get."""
        held = self._objects.pop(key)
        self._keys.remove(key)
        for name in self._indexers:
            self._file(name, key, held, None)
        self._call(self._on_delete, last)

    def _file(self, name: str, key: Key, old: T | None, new: T | None) -> None:
        """Move an object within one index. Most changes leave it where it is."""
        indexer = self._indexers[name]
        before = tuple(indexer(old)) if old is not None else ()
        after = tuple(indexer(new)) if new is not None else ()
        if before == after:
            return
        index = self._indexes[name]
        for value in set(before).difference(after):
            keys = index[value]
            keys.remove(key)
            if not keys:
                del index[value]
        for value in set(after).difference(before):
            found = index.get(value)
            if found is None:
                found = index[value] = SortedKeys()
            found.add(key)

    def _call(self, functions: Iterable[Callable[..., object]], *objects: T) -> None:
        """Call handlers. One's mistake must not stop the others, nor the copy; it is reported in full."""
        for function in functions:
            try:
                function(*objects)
            except Exception:
                logger.exception("a handler of %s failed", self.kind.__name__)


async def close_watch(stream: AsyncIterator[object]) -> None:
    """End a watch now rather than when it is collected: the server keeps no reader that is gone."""
    aclose = getattr(stream, "aclose", None)
    if aclose is not None:
        await aclose()

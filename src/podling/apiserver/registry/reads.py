"""Reading objects: get, list and watch. No authorisation happens here.

Readers receive the store's decoded objects, which are shared and never copied. Readers that need bytes get
the store's entries instead.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

from msgspec import structs

from podling import turns
from podling.apiserver.customresources.conversion import Conversion
from podling.apiserver.kinds.common.base import KindRules
from podling.apiserver.kinds.common.views import shown_form
from podling.apiserver.registry import listing
from podling.apiserver.registry.decoding import decode, in_turns
from podling.apiserver.registry.listing import Selected
from podling.apiserver.registry.objects import Stored, entry_of, object_of, stored, viewed
from podling.apiserver.registry.selection import Selection, VersionView, long_selection, selection
from podling.apiserver.registry.stored_values import check_readable
from podling.apiserver.registry.watch import ObjectWatch, Open
from podling.apiserver.registry.watch_index import Feeds
from podling.client.requests import ListOptions, Target
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject, CustomResource
from podling.machinery.scheme import Resource
from podling.store.base import Compacted, Entry, Store

SHOWN_WEIGHT = 4
"""An object that is shown in another version than the stored one is converted, and encoded again."""

FEW_MISSED = 1000
"""So many changes are looked through when a watch begins, without waiting for a turn."""


class Reads:
    """Reads objects of every kind from one store."""

    def __init__(
        self, store: Store, rules_for: Callable[[Resource], KindRules[Any]], conversion: Conversion
    ) -> None:
        self.conversion = conversion
        self._store = store
        self._rules_for = rules_for
        self._computed: dict[Resource, Callable[[], Sequence[Any]]] = {}
        self._feeds = Feeds(store)

    def compute(self, resource: Resource, objects: Callable[[], Sequence[Any]]) -> None:
        """Show what ``objects`` gives at that moment where a resource is stored nowhere."""
        self._computed[resource] = objects

    def exists(self, target: Target) -> bool:
        return self._store.peek(target.resource.key(target.namespace, target.name)) is not None

    def entry(self, target: Target) -> Entry:
        """Return the stored entry of one object. Raises 404, or 500 for one that cannot be decoded."""
        resource = target.resource
        entry = self._store.peek(resource.key(target.namespace, target.name))
        if entry is not None:
            stored(entry, resource.storage_resource.type)
            return entry
        for obj in self._computed[resource]() if resource in self._computed else ():
            if obj.metadata.name == target.name:
                return entry_of(obj)
        raise errors.not_found(resource.plural, resource.group, target.name)

    def json_of(self, target: Target, obj: Any) -> bytes:
        """Return the JSON of what a write of ``target`` gave: as it is stored, if it is."""
        key = target.resource.key(target.namespace, obj.metadata.name or "")
        entry = self._store.peek(key)
        if entry is not None and entry.memo is not None and entry.memo.object is obj:
            return entry.memo.completed_bytes or entry.value
        return codec.encode(obj)

    def shown(self, resource: Resource, entry: Entry) -> Any:
        """Return a stored entry as an object of ``resource``."""
        obj = viewed(entry, resource.storage_resource.type)
        if not resource.storage or not isinstance(obj, CustomObject):
            return shown_form(resource, obj)
        memo: Stored = entry.memo
        form = memo.forms.get(resource.group_version)
        if form is None:
            form = memo.forms[resource.group_version] = shown_form(resource, obj)
        return form

    def shown_entry(self, resource: Resource, entry: Entry) -> Entry:
        """Return a stored entry as answers about ``resource`` have it: often the entry itself."""
        if resource.storage:
            return entry_of(self.shown(resource, entry))
        if isinstance(resource, CustomResource):
            memo = stored(entry, resource.type)
            if memo.completed_bytes is not None:
                return Entry(entry.key, memo.completed_bytes, entry.revision, entry.create_revision, memo)
        return entry

    def in_turns(self, resource: Resource, entries: Sequence[Entry]) -> AsyncIterator[Sequence[Entry]]:
        """Yield what ``select`` returned a block at a time, for ``shown`` and ``shown_entry``."""
        return in_turns(entries, SHOWN_WEIGHT if resource.storage else 0)

    async def prepare(self, resource: Resource, entries: Sequence[Entry]) -> None:
        """Have ready what ``shown`` needs of others: the versions that a webhook makes."""
        if resource.storage and isinstance(resource, CustomResource):
            await self.conversion.prepare(resource, entries)

    async def select(self, target: Target, options: ListOptions) -> Selected:
        """Return the objects of a list request. Raises 400, 410, 504, or 500 for undecodable objects."""
        listing.check_not_older(options.resource_version, self._store.revision)
        wanted = await long_selection(options, partial(self._rules_for, target.resource))
        wanted = self._in_version(target.resource, wanted)
        computed = self._computed.get(target.resource)
        if computed is not None:
            shown = (entry_of(obj) for obj in computed() if wanted.matches(obj))
            return Selected(tuple(shown), self._store.revision)
        found = await listing.select(self._store, target, options, wanted)
        failed = await decode(found.entries, target.resource.storage_resource.type)
        if not isinstance(target.resource, CustomResource):  # the store's start has looked at their values
            check_readable(failed, target.resource)
        return found

    async def before_watch(self, target: Target, options: ListOptions) -> Selection:
        """Return what a watch selects. Waits for a turn of the loop if the watch begins far in the past."""
        wanted = await long_selection(options, partial(self._rules_for, target.resource))
        revision = listing.parse_revision(options.resource_version)
        if revision and self._store.revision - revision > FEW_MISSED:
            await turns.take()
        return self._in_version(target.resource, wanted)

    def watch(self, target: Target, options: ListOptions, wanted: Selection | None = None) -> ObjectWatch:
        """Changes of ``target``. Raises 410 at once when the start is too old.

        ``wanted`` is the selection of ``options``, if it is parsed already.
        """
        if wanted is None:
            wanted = selection(options, partial(self._rules_for, target.resource))
            wanted = self._in_version(target.resource, wanted)
        prefix = listing.watch_prefix(target, wanted)
        try:
            return ObjectWatch(
                self._store,
                self._opener(prefix, target, wanted),
                wanted,
                options,
                kind=target.resource.storage_resource.type,
                prefix=prefix,
                after=self._watch_start(options),
            )
        except Compacted as error:
            text = f"too old resource version: {error.revision} ({error.oldest})"
            raise errors.expired(text) from None

    def _in_version(self, resource: Resource, wanted: Selection) -> Selection:
        """Return ``wanted``; its selectors look at what ``resource`` shows, where that is another content."""
        if wanted.everything or not resource.storage or not self.conversion.changes_content(resource):
            return wanted
        view = VersionView(partial(self.prepare, resource), partial(self.shown, resource))
        return structs.replace(wanted, view=view)

    def _opener(self, prefix: str, target: Target, wanted: Selection) -> Open:
        """Return a function that opens the watch; watches that select by an indexed field share one."""
        field = wanted.rules.watch_index
        value = wanted.exactly(field) if field else ""
        if not value:
            return lambda after: self._store.watch(prefix, after=after)
        kind = target.resource.storage_resource.type

        def value_of(entry: Entry) -> str:
            return wanted.rules.index_value(object_of(entry, kind))

        return lambda after: self._feeds.watch(prefix, field, value, value_of=value_of, after=after)

    def _watch_start(self, options: ListOptions) -> int | None:
        revision = listing.parse_revision(options.resource_version)
        if options.send_initial_events is None:
            return revision or None
        if options.send_initial_events:
            listing.check_not_older(options.resource_version, self._store.revision)
            return None
        return revision or self._store.revision

"""Changes of stored objects: updates, patches, server-side apply, and the server's own rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from msgspec import Struct, field, structs

from podling import clock
from podling.apiserver.admission.base import Operation, release, release_later
from podling.apiserver.customresources.rule_costs import TooCostly, cost_limited
from podling.apiserver.kinds.common import metadata
from podling.apiserver.registry import objects, remote_stages, write_stages
from podling.apiserver.registry.creations import Creations
from podling.apiserver.registry.managed_fields import with_readable_managed_fields
from podling.apiserver.registry.objects import object_of, stored
from podling.apiserver.registry.remote_stages import Draft
from podling.apiserver.registry.write_costs import LARGE_BYTES, RULES_COST_MAX
from podling.apiserver.registry.write_stages import WriteRequest
from podling.apiserver.registry.write_surroundings import WriteSurroundings, admission_request
from podling.client.requests import Patch
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject, CustomResource
from podling.machinery.errors import ApiError
from podling.machinery.scheme import Resource
from podling.store.base import Conflict, Entry

Change = Callable[[Any], Any]
"""From the stored object to the wanted one; may raise ``ApiError``."""


class _Changing(Struct, eq=False):
    """One attempt to change an object."""

    write: WriteRequest
    old: Any
    now: datetime
    old_bytes: bytes = b""
    """The stored object for a worker process; empty if the change is computed here."""
    draft: Draft | None = None
    releases: list[Callable[[], object]] = field(default_factory=list)
    """``AdmissionRequest.releases`` of this attempt."""


class Changes:
    """Changes objects of every kind. An apply creates the objects that are not there."""

    def __init__(self, surroundings: WriteSurroundings, creations: Creations) -> None:
        self._in = surroundings
        self._creations = creations

    async def change(self, write: WriteRequest, source: Any) -> Any:
        """Store what ``source`` (the body of an update, or a patch) makes of the object.

        Decides again when another writer was faster. If the writer named a revision, the second look refuses
        it.
        """
        return await self._in.decided(write.target, source, self._change_once, write, source)

    async def apply(self, write: WriteRequest, patch: Patch, authorize_creation: Callable[[], object]) -> Any:
        """Store what a server-side apply makes of the object, or of nothing.

        ``authorize_creation`` raises 403 unless the user may create the object.
        """
        return await self._in.decided(write.target, patch, self._apply_once, write, patch, authorize_creation)

    async def _apply_once(
        self, heavy: bool, write: WriteRequest, patch: Patch, authorize_creation: Callable[[], object]
    ) -> Any:
        target = write.target
        if self._in.reads.exists(target):
            return await self._change_once(heavy, write, patch)
        authorize_creation()
        try:
            return await self._creations.create(target, write.user, patch, write.options)
        except ApiError as error:
            if errors.is_already_exists(error) and self._in.reads.exists(target):
                raise Conflict(target.name, 0, 0) from None  # another writer was faster: change its object
            raise

    async def act(self, write: WriteRequest, change: Change) -> Any:
        """Store what ``change``, a rule of the server itself, makes of the object."""
        return await self._in.decided(write.target, None, self._act_once, write, change)

    async def _change_once(self, heavy: bool, write: WriteRequest, source: Any) -> Any:
        resource, options, now = write.resource, write.options, clock.now()
        if heavy:
            await self._in.decode(write.target)
        entry = self._in.reads.entry(write.target)
        old = object_of(entry, resource.storage_resource.type)
        if isinstance(old, CustomObject):
            old = await self._in.reads.conversion.converted(old, resource)
        changing = _Changing(write, old, now)
        noted = len(options.warnings)
        try:
            if self._in.remote is not None and (heavy or len(entry.value) >= LARGE_BYTES):
                changing.old_bytes = objects.encoded(entry, old)
                changing.draft = await self._in.remote.draft_change(write, source, changing.old_bytes, now)
                obj = changing.draft.obj
            else:
                obj = write_stages.draft_change(write, source, old, now)
            new = await self._settled_change(changing, obj)
            if new is old and not self._is_outdated(resource, entry):
                return old
            if options.dry_run:
                return new
            return await self._in.replace(resource, entry, new, options)
        except Conflict:
            del options.warnings[noted:]  # the next attempt makes them again
            raise
        except asyncio.CancelledError:
            release_later(changing.releases)
            raise
        finally:
            release(changing.releases)

    async def _act_once(self, heavy: bool, write: WriteRequest, change: Change) -> Any:
        if heavy:
            await self._in.decode(write.target)
        entry, options = self._in.reads.entry(write.target), write.options
        old = object_of(entry, write.resource.storage_resource.type)
        new = metadata.keep_server_metadata(change(old), old)
        if new == old:
            return old
        return new if options.dry_run else await self._in.replace(write.resource, entry, new, options)

    def _is_outdated(self, resource: Resource, entry: Entry) -> bool:
        """Return whether a custom object is stored otherwise than it would be now; any write updates it."""
        if not isinstance(resource, CustomResource):
            return False
        memo = stored(entry, resource.storage_resource.type)
        version = resource.storage_resource.group_version
        return memo.completed_bytes is not None or memo.object.api_version != version

    async def _settled_change(self, changing: _Changing, drafted: Any) -> Any:
        """Return the object to store, admitted and found valid; the stored one if nothing changes."""
        write, old, now = changing.write, changing.old, changing.now
        shown, was, obj = _shown(write, drafted), _shown(write, old), drafted
        request = admission_request(
            Operation.UPDATE, write.target, write.user, now, write.options, shown, was
        )
        request = structs.replace(request, releases=changing.releases)
        admitted = await self._in.admission.admit(request)
        if admitted is not shown:
            behind = _behind(write, admitted, drafted, old, now)
            obj = with_readable_managed_fields(behind, drafted, write.options)
        draft = changing.draft
        if draft is None or self._in.remote is None:
            new = await self._settled_here(changing, obj)
        elif obj is drafted and draft.settled is not None:
            new = await remote_stages.settled_object(write, obj, draft.settled, old)
        else:
            new = await self._in.remote.settle_change(write, obj, old, changing.old_bytes, now)
        await self._in.admission.validate(structs.replace(request, object=_shown(write, new)))
        return new

    async def _settled_here(self, changing: _Changing, obj: Any) -> Any:
        """Return the object to store; a worker process evaluates rules of custom resources that cost much."""
        write, old, now = changing.write, changing.old, changing.now
        if self._in.remote is None or not isinstance(write.resource, CustomResource):
            return write_stages.settle_change(write, obj, old, now)
        noted = len(write.options.warnings)
        try:
            with cost_limited(RULES_COST_MAX):
                return write_stages.settle_change(write, obj, old, now)
        except TooCostly:
            del write.options.warnings[noted:]
            return await self._in.remote.settle_change(write, obj, old, codec.encode(old), now)


def _shown(write: WriteRequest, obj: Any) -> Any:
    return obj if write.view is None else write.view.show(obj)


def _behind(write: WriteRequest, admitted: Any, obj: Any, old: Any, now: datetime) -> Any:
    """Return the object that admission has seen, as it leaves it: all of it, or what its view shows."""
    if write.view is None:
        return admitted
    changed = write.rules.default(write.view.put(old, admitted, write.context(now)))
    kept = structs.replace(changed.metadata, managed_fields=obj.metadata.managed_fields)
    return structs.replace(changed, metadata=kept)

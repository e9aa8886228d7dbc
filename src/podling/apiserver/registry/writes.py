"""Writing objects: the stages between a request's object and the stored one.

No authorisation happens here. The stages are:

defaulting → mutating admission → the kind's preparation → validation → validating admission →
compare-and-swap. Differences between kinds lie in their ``KindRules``; nothing here depends on a particular
kind.

A write is decided on the state it reads and stored only if that state still holds. Otherwise it is decided
again, unless the request names a resourceVersion. A write that changes nothing stores nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Concatenate, ParamSpec

from msgspec import Struct, field, structs

from podling import clock, ids, turns
from podling.api.meta_v1 import DeleteOptions, ObjectMeta, Status, StatusDetails
from podling.apiserver.admission.base import AdmissionRequest, Chain, Operation, release, release_later
from podling.apiserver.customresources.rule_evaluation import TooCostly, cost_limited
from podling.apiserver.kinds.common import metadata
from podling.apiserver.kinds.common.base import KindRules
from podling.apiserver.registry import deletion, objects, remote_stages, write_stages
from podling.apiserver.registry.decoding import DECODING_WEIGHT
from podling.apiserver.registry.deletion import Outcome
from podling.apiserver.registry.managed_fields import with_readable_managed_fields
from podling.apiserver.registry.objects import Writing, lacks_object, object_of, stored
from podling.apiserver.registry.reads import Reads
from podling.apiserver.registry.remote_stages import Draft, RemoteStages
from podling.apiserver.registry.write_costs import LARGE_BYTES, RULES_COST_MAX, Work, is_heavy
from podling.apiserver.registry.write_queue import WriteQueue
from podling.apiserver.registry.write_stages import WriteRequest
from podling.client.base import PatchType
from podling.client.requests import Patch, RawBody, Target, User, WriteOptions
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject, CustomResource
from podling.machinery.errors import ApiError
from podling.machinery.numbers import UINT64_MAX, natural
from podling.machinery.scheme import Resource
from podling.store.base import Conflict, Entry, Store

P = ParamSpec("P")

NAME_RETRIES = 8

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


class Writes:
    """Writes objects of every kind to one store.

    Args:
        rules_for: the kinds' rules.
        admission: the plugins, in order, already joined.
    """

    def __init__(
        self,
        store: Store,
        reads: Reads,
        rules_for: Callable[[Resource], KindRules[Any]],
        admission: Chain,
    ) -> None:
        self._store = store
        self._reads = reads
        self._rules_for = rules_for
        self._admission = admission
        self._queue = WriteQueue()
        self.remote: RemoteStages | None = None
        """Computes large writes; None computes all of them here."""

    async def create(self, target: Target, user: User, source: Any, options: WriteOptions) -> Any:
        """Store a new object; under another name if a generated one is taken. Raises 409 or 422.

        ``source``: the object, or the patch that applies it; read or as a ``RawBody``.
        """
        resource, now = target.resource, clock.now()
        write = WriteRequest(target, user, options, self._rules_for(resource))
        draft: Draft | None = None
        if self.remote is not None and _is_raw(source):
            draft = await self.remote.draft_creation(write, source, now)
            obj = draft.obj
        else:
            obj = write_stages.draft_creation(write, source, now)
        request = _request(Operation.CREATE, target, user, now, options, obj)
        try:
            admitted = await self._admission.admit(request)
            if admitted is not obj:
                draft = None if draft is None else structs.replace(draft, settled=None)
                obj = with_readable_managed_fields(
                    metadata.without_duplicate_owners(admitted, options.warnings, admitted=True), obj, options
                )
            return await self._create_admitted(request, write, obj, draft)
        except asyncio.CancelledError:
            release_later(request.releases)
            raise
        finally:
            release(request.releases)

    async def _create_admitted(
        self, request: AdmissionRequest, write: WriteRequest, obj: Any, draft: Draft | None
    ) -> Any:
        """Store what admission made of the object of ``request``."""
        resource, options = request.resource, write.options
        if draft is None and not isinstance(resource, CustomResource):  # most of all: no coroutine for it
            name, uid = _new_name(obj, write.rules), ids.uid()
            new = write_stages.settle_creation(write, obj, request.now, name=name, uid=uid)
        else:
            new = await self._settled_creation(write, obj, draft, request.now)
        for attempt in range(NAME_RETRIES):
            if attempt:
                name, uid = _new_name(obj, write.rules), ids.uid()
                new = write_stages.settle_creation(write, obj, request.now, name=name, uid=uid, checked=True)
            try:
                await self._admission.validate(structs.replace(request, name=new.metadata.name, object=new))
                # As upstream's storage does, which drops a text that is no revision.
                revision = request.object.metadata.resource_version
                if revision and natural(revision, UINT64_MAX) and not options.dry_run:
                    raise errors.failure(
                        500, "", "resourceVersion should not be set on objects to be created"
                    )
                return await self._store_new(resource, new, options)
            except Conflict:
                if obj.metadata.name or not obj.metadata.generate_name:
                    break
        raise self._taken(resource, new.metadata)

    async def _settled_creation(
        self, write: WriteRequest, obj: Any, draft: Draft | None, now: datetime
    ) -> Any:
        """Return the new object to store, found valid."""
        if draft is None or self.remote is None:
            name, uid = _new_name(obj, write.rules), ids.uid()
            if self.remote is None:
                return write_stages.settle_creation(write, obj, now, name=name, uid=uid)
            noted = len(write.options.warnings)
            try:
                with cost_limited(RULES_COST_MAX):
                    return write_stages.settle_creation(write, obj, now, name=name, uid=uid)
            except TooCostly:
                del write.options.warnings[noted:]
                return await self.remote.settle_creation(write, obj, now)
        if draft.settled is None:
            return await self.remote.settle_creation(write, obj, now)
        return await remote_stages.settled_object(write, draft.obj, draft.settled, None)

    def _taken(self, resource: Resource, wanted: ObjectMeta) -> ApiError:
        """409: what has the name already, and whether it is on its way out."""
        make = errors.name_taken_every_time if wanted.generate_name else errors.already_exists
        error = make(resource.plural, resource.group, wanted.name or "")
        present = self._store.peek(resource.key(wanted.namespace or "", wanted.name or ""))
        if present is None:
            return error
        if object_of(present, resource.storage_resource.type).metadata.deletion_timestamp is None:
            return error
        text = f"object is being deleted: {error.status.message}"
        return ApiError(structs.replace(error.status, message=text))

    async def _store_new(self, resource: Resource, new: Any, options: WriteOptions) -> Any:
        key = resource.key(new.metadata.namespace, new.metadata.name)
        if options.dry_run:
            present = self._store.peek(key)
            if present is not None:
                raise Conflict(key, 0, present.revision)
            return new
        return await self._put(resource, new, key, 0, options)

    async def _put(self, resource: Resource, new: Any, key: str, expect: int, options: WriteOptions) -> Any:
        """Store ``new`` and return what was stored.

        An object that is too large loses its record of managers, as upstream, unless it is applied.
        """
        kept = new
        if isinstance(new, CustomObject):
            kept = await self._reads.conversion.converted(new, resource.storage_resource)
        writing = Writing(kept, converted=kept is not new)
        try:
            entry = await self._store.put(key, writing.encode, expect=expect, memo=writing.memo)
        except ApiError as error:
            if not errors.is_storage_too_large(error) or options.apply or not new.metadata.managed_fields:
                raise
            new = structs.replace(new, metadata=structs.replace(new.metadata, managed_fields=()))
            return await self._put(resource, new, key, expect, options)
        return self._written(resource, new, entry)

    def _written(self, resource: Resource, new: Any, entry: Entry) -> Any:
        """Return what was stored, in the version of the request."""
        kept = object_of(entry, resource.storage_resource.type)
        if not isinstance(new, CustomObject) or new.api_version == kept.api_version:
            return kept
        if self._reads.conversion.by_webhook(resource):
            return structs.replace(new, metadata=kept.metadata)
        return self._reads.shown(resource, entry)

    async def change(self, write: WriteRequest, source: Any) -> Any:
        """Store what ``source`` (the body of an update, or a patch) makes of the object.

        Decides again when another writer was faster. If the writer named a revision, the second look refuses
        it.
        """
        return await self._decided(write.target, source, self._change_once, write, source)

    async def apply(self, write: WriteRequest, patch: Patch, authorize_creation: Callable[[], object]) -> Any:
        """Store what a server-side apply makes of the object, or of nothing.

        ``authorize_creation`` raises 403 unless the user may create the object.
        """
        return await self._decided(write.target, patch, self._apply_once, write, patch, authorize_creation)

    async def _apply_once(
        self, heavy: bool, write: WriteRequest, patch: Patch, authorize_creation: Callable[[], object]
    ) -> Any:
        target = write.target
        if self._reads.exists(target):
            return await self._change_once(heavy, write, patch)
        authorize_creation()
        try:
            return await self.create(target, write.user, patch, write.options)
        except ApiError as error:
            if errors.is_already_exists(error) and self._reads.exists(target):
                raise Conflict(target.name, 0, 0) from None  # another writer was faster: change its object
            raise

    async def act(self, write: WriteRequest, change: Change) -> Any:
        """Store what ``change``, a rule of the server itself, makes of the object."""
        return await self._decided(write.target, None, self._act_once, write, change)

    async def _decided(
        self,
        target: Target,
        source: Any,
        attempt: Callable[Concatenate[bool, P], Awaitable[Any]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Any:
        """Return what ``attempt`` stored. Raises 409 when others change the object again and again.

        ``attempt`` is called with true if the change takes long to compute.
        """
        resource = target.resource
        key = resource.key(target.namespace, target.name)
        present = self._store.peek(key)
        heavy = _is_heavy(resource, present, source)
        if heavy and self.remote is None:
            await clock.sleep(0)  # others get a turn, as during an exchange with a worker
        try:
            return await self._queue.write(key, heavy, attempt, heavy, *args, **kwargs)
        except Conflict:
            raise errors.conflict(resource.plural, resource.group, target.name) from None

    async def _change_once(self, heavy: bool, write: WriteRequest, source: Any) -> Any:
        resource, options, now = write.resource, write.options, clock.now()
        if heavy:
            await self._decode(write.target)
        entry = self._reads.entry(write.target)
        old = object_of(entry, resource.storage_resource.type)
        if isinstance(old, CustomObject):
            old = await self._reads.conversion.converted(old, resource)
        changing = _Changing(write, old, now)
        noted = len(options.warnings)
        try:
            if self.remote is not None and (heavy or len(entry.value) >= LARGE_BYTES):
                changing.old_bytes = objects.encoded(entry, old)
                changing.draft = await self.remote.draft_change(write, source, changing.old_bytes, now)
                obj = changing.draft.obj
            else:
                obj = write_stages.draft_change(write, source, old, now)
            new = await self._settled_change(changing, obj)
            if new is old and not self._is_outdated(resource, entry):
                return old
            if options.dry_run:
                return new
            return await self._replace(resource, entry, new, options)
        except Conflict:
            del options.warnings[noted:]  # the next attempt makes them again
            raise
        except asyncio.CancelledError:
            release_later(changing.releases)
            raise
        finally:
            release(changing.releases)

    async def _decode(self, target: Target) -> None:
        """Decode the stored object in a turn of its own, if it is large and was let go of. Raises 500."""
        resource = target.resource
        entry = self._store.peek(resource.key(target.namespace, target.name))
        if entry is not None and lacks_object(entry):
            await turns.take(len(entry.value) * DECODING_WEIGHT)
            object_of(entry, resource.storage_resource.type)

    async def _act_once(self, heavy: bool, write: WriteRequest, change: Change) -> Any:
        if heavy:
            await self._decode(write.target)
        entry, options = self._reads.entry(write.target), write.options
        old = object_of(entry, write.resource.storage_resource.type)
        new = metadata.keep_server_metadata(change(old), old)
        if new == old:
            return old
        return new if options.dry_run else await self._replace(write.resource, entry, new, options)

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
        request = _request(Operation.UPDATE, write.target, write.user, now, write.options, shown, was)
        request = structs.replace(request, releases=changing.releases)
        admitted = await self._admission.admit(request)
        if admitted is not shown:
            behind = _behind(write, admitted, drafted, old, now)
            obj = with_readable_managed_fields(behind, drafted, write.options)
        draft = changing.draft
        if draft is None or self.remote is None:
            new = await self._settled_here(changing, obj)
        elif obj is drafted and draft.settled is not None:
            new = await remote_stages.settled_object(write, obj, draft.settled, old)
        else:
            new = await self.remote.settle_change(write, obj, old, changing.old_bytes, now)
        await self._admission.validate(structs.replace(request, object=_shown(write, new)))
        return new

    async def _settled_here(self, changing: _Changing, obj: Any) -> Any:
        """Return the object to store; a worker process evaluates rules of custom resources that cost much."""
        write, old, now = changing.write, changing.old, changing.now
        if self.remote is None or not isinstance(write.resource, CustomResource):
            return write_stages.settle_change(write, obj, old, now)
        noted = len(write.options.warnings)
        try:
            with cost_limited(RULES_COST_MAX):
                return write_stages.settle_change(write, obj, old, now)
        except TooCostly:
            del write.options.warnings[noted:]
            return await self.remote.settle_change(write, obj, old, codec.encode(old), now)

    async def _replace(self, resource: Resource, entry: Entry, new: Any, options: WriteOptions) -> Any:
        """Write ``new`` over ``entry``, or end the object if that was all its deletion waited for."""
        if deletion.ends_with_update(new, self._rules_for(resource)):
            last = await self._reads.conversion.converted(new, resource.storage_resource)
            return await self._remove(entry, last)
        return await self._put(resource, new, entry.key, entry.revision, options)

    async def _remove(self, entry: Entry, last: Any) -> Any:
        writing = Writing(last)
        removed = await self._store.delete(entry.key, expect=entry.revision, encode=writing.encode)
        removed.memo = writing.memo
        return writing.memo.object

    async def admitted(
        self,
        target: Target,
        user: User,
        body: Any,
        options: WriteOptions,
        operation: Operation = Operation.CREATE,
    ) -> Any:
        """Return the body of a POST to a subresource, or the options of a connection, after admission."""
        request = _request(operation, target, user, clock.now(), options, body)
        try:
            body = await self._admission.admit(request)
            await self._admission.validate(structs.replace(request, object=body))
        finally:
            release(request.releases)
        return body

    async def remove(
        self,
        target: Target,
        user: User,
        options: DeleteOptions,
        warnings: list[str] | None = None,
        *,
        reviewed: bool = False,
        collection: bool = False,
    ) -> Any:
        """End an object, or mark it as going: see ``deletion``. Raises 404 or 409.

        ``reviewed``: admission has already seen what this is part of (an eviction); ``collection``: it is one
        of many.
        """
        resource, now = target.resource, clock.now()
        rules, dry_run = self._rules_for(resource), "All" in options.dry_run

        async def remove_once(heavy: bool) -> Any:
            if heavy:
                await self._decode(target)
            entry = self._reads.entry(target)
            old = object_of(entry, resource.storage_resource.type)
            deletion.check_preconditions(resource, old.metadata, options)
            if not reviewed:
                write = WriteOptions(dry_run=dry_run, warnings=[] if warnings is None else warnings)
                request = _request(Operation.DELETE, target, user, now, write, None, old)
                request = structs.replace(request, options=options, collection=collection)
                await self._admission.validate(request)
            plan = deletion.plan_deletion(old, options, rules, now)
            if plan.outcome is Outcome.KEEP:
                return old
            if plan.outcome is Outcome.MARK:
                if dry_run:
                    return plan.object
                return await self._replace(resource, entry, plan.object, WriteOptions())
            last = plan.object if dry_run else await self._remove(entry, plan.object)
            return last if rules.returns_deleted else _deleted(resource, last)

        return await self._decided(target, None, remove_once)


def _request(
    operation: Operation,
    target: Target,
    user: User,
    now: datetime,
    options: WriteOptions,
    obj: Any = None,
    old: Any = None,
) -> AdmissionRequest:
    """Return the request for admission; a name that the URL does not have is taken from the object."""
    named = None if target.name else getattr(obj, "metadata", None)
    return AdmissionRequest(
        operation=operation,
        resource=target.resource,
        subresource=target.subresource,
        namespace=target.namespace,
        name=target.name or (named and named.name) or "",
        object=obj,
        old=old,
        user=user,
        now=now,
        dry_run=options.dry_run,
        warnings=options.warnings,
        options=None if operation is Operation.CONNECT else options,
    )


def _new_name(obj: Any, rules: KindRules[Any]) -> str:
    return write_stages.name_of_new(obj, rules, lambda: ids.suffix(metadata.SUFFIX_LENGTH), ids.uid)


def _is_raw(source: Any) -> bool:
    return isinstance(source, RawBody) or (isinstance(source, Patch) and isinstance(source.body, RawBody))


def _is_heavy(resource: Resource, entry: Entry | None, source: Any) -> bool:
    """Return whether the change of a stored object takes long to compute."""
    if _is_raw(source):
        return True
    if entry is None:
        return False
    applies = isinstance(source, Patch) and source.type is PatchType.APPLY
    return is_heavy(Work.APPLY if applies else Work.CHANGE, resource, entry.value)


def _shown(write: WriteRequest, obj: Any) -> Any:
    return obj if write.view is None else write.view.show(obj)


def _behind(write: WriteRequest, admitted: Any, obj: Any, old: Any, now: datetime) -> Any:
    """Return the object that admission has seen, as it leaves it: all of it, or what its view shows."""
    if write.view is None:
        return admitted
    changed = write.rules.default(write.view.put(old, admitted, write.context(now)))
    kept = structs.replace(changed.metadata, managed_fields=obj.metadata.managed_fields)
    return structs.replace(changed, metadata=kept)


def _deleted(resource: Resource, obj: Any) -> Status:
    details = StatusDetails(
        name=obj.metadata.name, group=resource.group, kind=resource.plural, uid=obj.metadata.uid
    )
    return Status(status="Success", details=details)

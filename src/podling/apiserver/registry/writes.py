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
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, ParamSpec

from msgspec import Struct, field, structs

from podling import clock, ids
from podling.api.meta_v1 import DeleteOptions, ObjectMeta, Status, StatusDetails
from podling.apiserver.admission.base import AdmissionRequest, Chain, Operation, release, release_later
from podling.apiserver.kinds.common import metadata
from podling.apiserver.kinds.common.base import Context, KindRules, View
from podling.apiserver.registry import deletion
from podling.apiserver.registry.deletion import Outcome
from podling.apiserver.registry.large_requests import LARGE_BYTES, Turns
from podling.apiserver.registry.managed_fields import (
    differs_only_in_times,
    with_managed_fields,
    with_readable_managed_fields,
)
from podling.apiserver.registry.objects import Writing, object_of, stored
from podling.apiserver.registry.reads import Reads
from podling.apiserver.registry.write_queue import Contention
from podling.client.requests import Target, User, WriteOptions
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomObject, CustomResource
from podling.machinery.errors import ApiError
from podling.machinery.fields import FieldError, Path, bounded, invalid
from podling.machinery.numbers import UINT64_MAX, natural
from podling.machinery.scheme import Resource
from podling.store.base import Conflict, Entry, Store

P = ParamSpec("P")

NAME_RETRIES = 8

Change = Callable[[Any], Any]
"""From the stored object to the wanted one; may raise ``ApiError``."""


class Update(Struct, frozen=True):
    """Properties of the write in progress, passed down as one argument."""

    target: Target
    user: User
    options: WriteOptions
    rules: KindRules[Any]
    trusted: bool = False
    """The change is the server's own (``binding``): stored without the kind's preparation."""
    view: View | None = None
    """The form of the object that admission sees, if it is not the object itself (``scale``)."""
    releases: list[Callable[[], object]] = field(default_factory=list)
    """``AdmissionRequest.releases`` of the present attempt."""


class Writes:
    """Writes objects of every kind to one store.

    Args:
        rules_for: the kinds' rules.
        admission: the plugins, in order, already joined.
        turns: of changes of large objects.
    """

    def __init__(
        self,
        store: Store,
        reads: Reads,
        rules_for: Callable[[Resource], KindRules[Any]],
        admission: Chain,
        turns: Turns,
    ) -> None:
        self._store = store
        self._reads = reads
        self._rules_for = rules_for
        self._admission = admission
        self._turns = turns
        self._contention = Contention()

    async def create(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        """Store a new object; under another name if a generated one is taken. Raises 409 or 422."""
        resource, now = target.resource, clock.now()
        rules = self._rules_for(resource)
        obj = rules.default(metadata.in_namespace(body, target.namespace))
        obj = metadata.without_duplicate_owners(obj, options.warnings)
        # Fields that admission sets have no manager.
        obj = with_managed_fields(None, obj, target, (options, user), now)
        request = _request(Operation.CREATE, target, user, now, options, obj)
        context = Context(
            now, user.name, dry_run=options.dry_run, groups=user.groups, uid=user.uid, extra=user.extra
        )
        try:
            admitted = await self._admission.admit(request)
            if admitted is not obj:
                obj = with_readable_managed_fields(
                    metadata.without_duplicate_owners(admitted, options.warnings, admitted=True), obj, options
                )
            return await self._create_admitted(request, obj, options, context)
        except asyncio.CancelledError:
            release_later(request.releases)
            raise
        finally:
            release(request.releases)

    async def _create_admitted(
        self, request: AdmissionRequest, obj: Any, options: WriteOptions, context: Context
    ) -> Any:
        """Store what admission made of the object of ``request``."""
        resource = request.resource
        rules = self._rules_for(resource)
        for attempt in range(NAME_RETRIES):
            name = obj.metadata.name or _generated_name(obj.metadata.generate_name, rules)
            new = metadata.set_server_metadata(
                obj, name=name, uid=ids.uid(), generation=rules.generation, now=context.now
            )
            new = rules.prepare_create(new, context)
            if attempt == 0:
                _refuse(resource, new, bounded(_wrong_with_new, resource, rules, new, context))
                options.warnings.extend(rules.warnings(new, None, context))
            try:
                await self._admission.validate(structs.replace(request, name=new.metadata.name, object=new))
                # As upstream's storage does, which drops a text that is no revision.
                if (
                    natural(request.object.metadata.resource_version or "", UINT64_MAX)
                    and not options.dry_run
                ):
                    raise errors.failure(
                        500, "", "resourceVersion should not be set on objects to be created"
                    )
                return await self._store_new(resource, new, options)
            except Conflict:
                if obj.metadata.name or not obj.metadata.generate_name:
                    break
        raise self._taken(resource, new.metadata)

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

    def change(self, update: Update, change: Change) -> Awaitable[Any]:
        """Store what ``change`` makes of the object, deciding again when another writer was faster."""
        # If the writer named a revision, the second look refuses it.
        return self._decided(update.target, self._change_once, update, change)

    async def _decided(
        self, target: Target, attempt: Callable[P, Awaitable[Any]], *args: P.args, **kwargs: P.kwargs
    ) -> Any:
        """Return what ``attempt`` stored. Raises 409 when others change the object again and again."""
        resource = target.resource
        key = resource.key(target.namespace, target.name)
        try:
            return await self._contention.write(key, attempt, *args, **kwargs)
        except Conflict:
            raise errors.conflict(resource.plural, resource.group, target.name) from None

    async def _change_once(self, update: Update, change: Change) -> Any:
        resource = update.target.resource
        entry = self._reads.entry(update.target)
        if len(entry.value) >= LARGE_BYTES:
            await self._turns.wait(len(entry.value))
            entry = self._reads.entry(update.target)
        old = object_of(entry, resource.storage_resource.type)
        if isinstance(old, CustomObject):
            old = await self._reads.conversion.converted(old, resource)
        wanted = change(old)
        self._check_revision(update, wanted, old)
        try:
            new = await self._prepared(update, wanted, old)
            if new == old and not self._is_outdated(resource, entry):
                return old
            if update.options.dry_run:
                return new
            return await self._replace(resource, entry, new, update.options)
        except asyncio.CancelledError:
            release_later(update.releases)
            raise
        finally:
            release(update.releases)

    def _is_outdated(self, resource: Resource, entry: Entry) -> bool:
        """Return whether a custom object is stored otherwise than it would be now; any write updates it."""
        if not isinstance(resource, CustomResource):
            return False
        memo = stored(entry, resource.storage_resource.type)
        version = resource.storage_resource.group_version
        return memo.completed_bytes is not None or memo.object.api_version != version

    def _check_revision(self, update: Update, wanted: Any, old: Any) -> None:
        """409 when the writer means another revision; 422 when it has to name one and does not."""
        resource, given = update.target.resource, wanted.metadata.resource_version
        if given and given != old.metadata.resource_version:
            raise errors.conflict(resource.plural, resource.group, update.target.name)
        if not given and not update.rules.unconditional_update:
            found = invalid(Path("metadata.resourceVersion"), 0, "must be specified for an update")
            # The one error of this kind that names the resource, as Kubernetes does.
            raise errors.invalid(resource.plural, resource.group, update.target.name, [found])

    async def _prepared(self, update: Update, wanted: Any, old: Any) -> Any:
        """Return the object to store: completed, admitted, and found valid."""
        if update.trusted:
            return metadata.keep_server_metadata(wanted, old)
        target, rules, now = update.target, update.rules, clock.now()
        options = update.options
        obj = with_managed_fields(old, rules.default(wanted), target, (options, update.user), now)
        context = Context(now, update.user.name, target.subresource, options.dry_run)
        shown, was = self._shown(update, obj), self._shown(update, old)
        request = _request(Operation.UPDATE, target, update.user, now, options, shown, was)
        request = structs.replace(request, releases=update.releases)
        admitted = await self._admission.admit(request)
        if admitted is not shown:
            obj = with_readable_managed_fields(
                self._behind(update, admitted, obj, old, context), obj, options
            )
        obj = metadata.without_duplicate_owners(obj, options.warnings, admitted=True)
        new = rules.prepare_update(metadata.keep_server_metadata(obj, old), old, context)
        if rules.generation and target.subresource != "status":
            changed = rules.intent(new) != rules.intent(old)
            new = metadata.raise_generation(new, old, changed=changed)
        if new == old or differs_only_in_times(new, old):
            self._warn(update, new, old, context)
            await self._admission.validate(structs.replace(request, object=self._shown(update, old)))
            return old
        _refuse(target.resource, new, bounded(_wrong_with_change, rules, new, old, context))
        self._warn(update, new, old, context)
        await self._admission.validate(structs.replace(request, object=self._shown(update, new)))
        return new

    def _warn(self, update: Update, new: Any, old: Any, context: Context) -> None:
        rules = update.rules
        status = context.subresource == "status"
        found = rules.status_warnings(new) if status else rules.warnings(new, old, context)
        update.options.warnings.extend(found)

    def _shown(self, update: Update, obj: Any) -> Any:
        return obj if update.view is None else update.view.show(obj)

    def _behind(self, update: Update, admitted: Any, obj: Any, old: Any, context: Context) -> Any:
        """Return the object that admission has seen, as it leaves it: all of it, or what its view shows."""
        if update.view is None:
            return admitted
        changed = update.rules.default(update.view.put(old, admitted, context))
        kept = structs.replace(changed.metadata, managed_fields=obj.metadata.managed_fields)
        return structs.replace(changed, metadata=kept)

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

        async def remove_once() -> Any:
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

        return await self._decided(target, remove_once)


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


def _generated_name(base: str | None, rules: KindRules[Any]) -> str:
    if base:
        return metadata.generated_name(base, ids.suffix(metadata.SUFFIX_LENGTH))
    return ids.uid() if rules.uuid_as_name else ""


def _wrong_with_new(
    resource: Resource, rules: KindRules[Any], new: Any, context: Context
) -> list[FieldError]:
    found = metadata.check_new(
        new.metadata,
        namespaced=resource.namespaced,
        name_errors=rules.name_errors,
        bare_finalizers=rules.bare_finalizers,
    )
    return found + rules.validate(new, context)


def _wrong_with_change(rules: KindRules[Any], new: Any, old: Any, context: Context) -> list[FieldError]:
    found = metadata.check_change(new.metadata, old.metadata, bare_finalizers=rules.bare_finalizers)
    return found + rules.validate_update(new, old, context)


def _refuse(resource: Resource, obj: Any, found: Sequence[FieldError]) -> None:
    if found:
        name = obj.metadata.name or obj.metadata.generate_name or ""
        raise errors.invalid(resource.kind, resource.group, name, found)


def _deleted(resource: Resource, obj: Any) -> Status:
    details = StatusDetails(
        name=obj.metadata.name, group=resource.group, kind=resource.plural, uid=obj.metadata.uid
    )
    return Status(status="Success", details=details)

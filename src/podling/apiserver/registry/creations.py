"""Creations of objects: admission, names, and the store."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from msgspec import structs

from podling import clock, ids
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.base import AdmissionRequest, Operation, release, release_later
from podling.apiserver.customresources.rule_costs import TooCostly, cost_limited
from podling.apiserver.kinds.common import metadata
from podling.apiserver.kinds.common.base import KindRules
from podling.apiserver.registry import remote_stages, write_stages
from podling.apiserver.registry.managed_fields import with_readable_managed_fields
from podling.apiserver.registry.objects import object_of
from podling.apiserver.registry.remote_stages import Draft
from podling.apiserver.registry.write_costs import RULES_COST_MAX
from podling.apiserver.registry.write_stages import WriteRequest
from podling.apiserver.registry.write_surroundings import WriteSurroundings, admission_request, is_raw
from podling.client.requests import Target, User, WriteOptions
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.errors import ApiError
from podling.machinery.numbers import UINT64_MAX, natural
from podling.machinery.scheme import Resource
from podling.store.base import Conflict

NAME_RETRIES = 8


class Creations:
    """Creates objects of every kind."""

    def __init__(self, surroundings: WriteSurroundings) -> None:
        self._in = surroundings

    async def create(self, target: Target, user: User, source: Any, options: WriteOptions) -> Any:
        """Store a new object; under another name if a generated one is taken. Raises 409 or 422.

        ``source``: the object, or the patch that applies it; read or as a ``RawBody``.
        """
        resource, now = target.resource, clock.now()
        write = WriteRequest(target, user, options, self._in.rules_for(resource))
        draft: Draft | None = None
        if self._in.remote is not None and is_raw(source):
            draft = await self._in.remote.draft_creation(write, source, now)
            obj = draft.obj
        else:
            obj = write_stages.draft_creation(write, source, now)
        request = admission_request(Operation.CREATE, target, user, now, options, obj)
        try:
            admitted = await self._in.admission.admit(request)
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
                await self._in.admission.validate(
                    structs.replace(request, name=new.metadata.name, object=new)
                )
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
        if draft is None or self._in.remote is None:
            name, uid = _new_name(obj, write.rules), ids.uid()
            if self._in.remote is None:
                return write_stages.settle_creation(write, obj, now, name=name, uid=uid)
            noted = len(write.options.warnings)
            try:
                with cost_limited(RULES_COST_MAX):
                    return write_stages.settle_creation(write, obj, now, name=name, uid=uid)
            except TooCostly:
                del write.options.warnings[noted:]
                return await self._in.remote.settle_creation(write, obj, now)
        if draft.settled is None:
            return await self._in.remote.settle_creation(write, obj, now)
        return await remote_stages.settled_object(write, draft.obj, draft.settled, None)

    def _taken(self, resource: Resource, wanted: ObjectMeta) -> ApiError:
        """409: what has the name already, and whether it is on its way out."""
        make = errors.name_taken_every_time if wanted.generate_name else errors.already_exists
        error = make(resource.plural, resource.group, wanted.name or "")
        present = self._in.store.peek(resource.key(wanted.namespace or "", wanted.name or ""))
        if present is None:
            return error
        if object_of(present, resource.storage_resource.type).metadata.deletion_timestamp is None:
            return error
        text = f"object is being deleted: {error.status.message}"
        return ApiError(structs.replace(error.status, message=text))

    async def _store_new(self, resource: Resource, new: Any, options: WriteOptions) -> Any:
        key = resource.key(new.metadata.namespace, new.metadata.name)
        if options.dry_run:
            present = self._in.store.peek(key)
            if present is not None:
                raise Conflict(key, 0, present.revision)
            return new
        return await self._in.put(resource, new, key, 0, options)


def _new_name(obj: Any, rules: KindRules[Any]) -> str:
    return write_stages.name_of_new(obj, rules, lambda: ids.suffix(metadata.SUFFIX_LENGTH), ids.uid)

"""All that the writes of a registry share: the store, the line of writers of one object, and the workers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Concatenate, ParamSpec

from msgspec import structs

from podling import clock, turns
from podling.apiserver.admission.base import AdmissionRequest, Chain, Operation
from podling.apiserver.kinds.common.base import KindRules
from podling.apiserver.registry import deletion
from podling.apiserver.registry.decoding import DECODING_WEIGHT
from podling.apiserver.registry.objects import Writing, lacks_object, object_of
from podling.apiserver.registry.reads import Reads
from podling.apiserver.registry.remote_stages import RemoteStages
from podling.apiserver.registry.write_costs import Work, is_heavy
from podling.apiserver.registry.write_queue import WriteQueue
from podling.client.base import PatchType
from podling.client.requests import Patch, RawBody, Target, User, WriteOptions
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.errors import ApiError
from podling.machinery.scheme import Resource
from podling.store.base import Conflict, Entry, Store

P = ParamSpec("P")


class WriteSurroundings:
    """Stores objects, one writer of an object after the other.

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
        self.store = store
        self.reads = reads
        self.rules_for = rules_for
        self.admission = admission
        self._queue = WriteQueue()
        self.remote: RemoteStages | None = None
        """Computes large writes; None computes all of them here."""

    async def put(self, resource: Resource, new: Any, key: str, expect: int, options: WriteOptions) -> Any:
        """Store ``new`` and return what was stored.

        An object that is too large loses its record of managers, as upstream, unless it is applied.
        """
        kept = new
        if isinstance(new, CustomObject):
            kept = await self.reads.conversion.converted(new, resource.storage_resource)
        writing = Writing(kept, converted=kept is not new)
        try:
            entry = await self.store.put(key, writing.encode, expect=expect, memo=writing.memo)
        except ApiError as error:
            if not errors.is_storage_too_large(error) or options.apply or not new.metadata.managed_fields:
                raise
            new = structs.replace(new, metadata=structs.replace(new.metadata, managed_fields=()))
            return await self.put(resource, new, key, expect, options)
        return self._written(resource, new, entry)

    def _written(self, resource: Resource, new: Any, entry: Entry) -> Any:
        """Return what was stored, in the version of the request."""
        kept = object_of(entry, resource.storage_resource.type)
        if not isinstance(new, CustomObject) or new.api_version == kept.api_version:
            return kept
        if self.reads.conversion.changes_content(resource):
            return structs.replace(new, metadata=kept.metadata)
        return self.reads.shown(resource, entry)

    async def decided(
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
        present = self.store.peek(key)
        heavy = _is_heavy(resource, present, source)
        if heavy and self.remote is None:
            await clock.sleep(0)  # others get a turn, as during an exchange with a worker
        try:
            return await self._queue.write(key, heavy, attempt, heavy, *args, **kwargs)
        except Conflict:
            raise errors.conflict(resource.plural, resource.group, target.name) from None

    async def decode(self, target: Target) -> None:
        """Decode the stored object in a turn of its own, if it is large and was let go of. Raises 500."""
        resource = target.resource
        entry = self.store.peek(resource.key(target.namespace, target.name))
        if entry is not None and lacks_object(entry):
            await turns.take(len(entry.value) * DECODING_WEIGHT)
            object_of(entry, resource.storage_resource.type)

    async def replace(self, resource: Resource, entry: Entry, new: Any, options: WriteOptions) -> Any:
        """Write ``new`` over ``entry``, or end the object if that was all its deletion waited for."""
        if deletion.ends_with_update(new, self.rules_for(resource)):
            last = await self.reads.conversion.converted(new, resource.storage_resource)
            return await self.remove(entry, last)
        return await self.put(resource, new, entry.key, entry.revision, options)

    async def remove(self, entry: Entry, last: Any) -> Any:
        writing = Writing(last)
        removed = await self.store.delete(entry.key, expect=entry.revision, encode=writing.encode)
        removed.memo = writing.memo
        return writing.memo.object


def admission_request(
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


def is_raw(source: Any) -> bool:
    """Return whether the body of a request has not been read."""
    return isinstance(source, RawBody) or (isinstance(source, Patch) and isinstance(source.body, RawBody))


def _is_heavy(resource: Resource, entry: Entry | None, source: Any) -> bool:
    """Return whether the change of a stored object takes long to compute."""
    if is_raw(source):
        return True
    if entry is None:
        return False
    applies = isinstance(source, Patch) and source.type is PatchType.APPLY
    return is_heavy(Work.APPLY if applies else Work.CHANGE, resource, entry.value)

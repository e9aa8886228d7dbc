"""The stages of large writes, computed by worker processes.

The server sends bytes and decodes the result with its types, at the speed of C. Custom resources are sent
with their definition, once for each process and revision.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, Protocol

import msgspec
from msgspec import Struct, structs

from podling import clock, ids
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.meta_v1 import DeleteOptions, ObjectMeta
from podling.apiserver.compute.frames import Perform
from podling.apiserver.compute.pool import Encode
from podling.apiserver.kinds.common import metadata
from podling.apiserver.registry import write_jobs as jobs
from podling.apiserver.registry.write_jobs import Naming, Operation, Settled, WriteJob, WriteResult
from podling.apiserver.registry.write_stages import WriteRequest, body_type
from podling.client.requests import Patch, RawBody, Target, User, WriteOptions
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.scheme import Resource

FindDefinition = Callable[[CustomResource], CustomResourceDefinition | None]


class Draft(Struct, frozen=True):
    """A drafted object, and what becomes of it if admission leaves it unchanged."""

    obj: Any
    settled: Settled | None


class Runner(Protocol):
    """Runs jobs: ``compute.pool.Pool``."""

    async def run(self, perform: Perform, encode: Encode, *, owner: str = "") -> bytes: ...


class RemoteStages:
    """Computes the stages of writes in the processes of a pool.

    Args:
        definition_of: the definition that a custom resource comes from, as it is now.
    """

    def __init__(self, pool: Runner, definition_of: FindDefinition) -> None:
        self._pool = pool
        self._definition_of = definition_of

    async def read(self, target: Target, user: User, body: RawBody, options: WriteOptions) -> Any:
        """Return the object in a body."""
        job = _job(Operation.READ, target, user, options, clock.now())
        job = structs.replace(job, source=body.data, content_type=body.content_type)
        result = await self._run(job, target.resource, options)
        return await _decoded(result.draft, body_type(target))

    async def read_options(
        self, target: Target, user: User, body: RawBody, options: WriteOptions
    ) -> DeleteOptions:
        """Return the options in the body of a deletion."""
        job = _job(Operation.READ_OPTIONS, target, user, options, clock.now())
        job = structs.replace(job, source=body.data, content_type=body.content_type)
        return codec.decode((await self._run(job, target.resource, options)).draft, DeleteOptions)

    async def draft_creation(self, write: WriteRequest, source: Any, now: datetime) -> Draft:
        """Compute ``write_stages.draft_creation``, and settle the result."""
        job = structs.replace(_job_of(Operation.CREATE, write, source, now), naming=_naming())
        return await self._drafted(write, job)

    async def settle_creation(self, write: WriteRequest, obj: Any, now: datetime) -> Any:
        """Compute ``write_stages.settle_creation`` for an object that admission changed."""
        job = structs.replace(_job_of(Operation.SETTLE_CREATION, write, obj, now), naming=_naming())
        return await self._settled(write, job, obj, None)

    async def draft_change(self, write: WriteRequest, source: Any, old: bytes, now: datetime) -> Draft:
        """Compute ``write_stages.draft_change`` of the stored ``old``, and settle the result."""
        return await self._drafted(
            write, structs.replace(_job_of(Operation.CHANGE, write, source, now), old=old)
        )

    async def settle_change(
        self, write: WriteRequest, obj: Any, old: Any, old_bytes: bytes, now: datetime
    ) -> Any:
        """Compute ``write_stages.settle_change`` for an object that admission changed."""
        job = structs.replace(_job_of(Operation.SETTLE_CHANGE, write, obj, now), old=old_bytes)
        return await self._settled(write, job, obj, old)

    async def _drafted(self, write: WriteRequest, job: WriteJob) -> Draft:
        result = await self._run(job, write.resource, write.options)
        assert result.settled is not None
        return Draft(await _decoded(result.draft, jobs.stored_type(write.resource)), result.settled)

    async def _settled(self, write: WriteRequest, job: WriteJob, obj: Any, old: Any) -> Any:
        result = await self._run(job, write.resource, write.options)
        assert result.settled is not None
        return await settled_object(write, obj, result.settled, old)

    async def _run(self, job: WriteJob, resource: Resource, options: WriteOptions) -> WriteResult:
        """Return the result of a job; its warnings go to ``options``. Raises ``ApiError``."""
        definition = None
        if isinstance(resource, CustomResource):
            definition = self._definition_of(resource)
            if definition is None:
                raise errors.no_such_resource()
        data = await self._pool.run(jobs.perform, partial(_encoded, job, definition), owner=job.user[0])
        result = jobs.read_result(data)
        options.warnings.extend(result.warnings)
        if result.failure is not None:
            raise result.failure.error()
        return result


def _encoded(job: WriteJob, definition: CustomResourceDefinition | None, notes: dict[str, None]) -> bytes:
    """Return a job for the process with these notes; with the definition that the process does not have."""
    if definition is None:
        return jobs.encode_job(job)
    identity = f"{definition.metadata.uid}/{definition.metadata.resource_version}"
    if identity in notes:
        return jobs.encode_job(structs.replace(job, definition=identity))
    data = codec.encode(definition)
    jobs.remember(notes, identity, None)
    return jobs.encode_job(structs.replace(job, definition=identity, definition_json=data))


async def settled_object(write: WriteRequest, obj: Any, settled: Settled, old: Any) -> Any:
    """Return the object to store for a drafted one; ``old`` if nothing changes. Raises 422."""
    write.options.warnings.extend(settled.warnings)
    if settled.failure is not None:
        raise settled.failure.error()
    if settled.unchanged:
        return old
    if settled.new:
        return await _decoded(settled.new, jobs.stored_type(write.resource))
    changed = codec.decode(settled.metadata, ObjectMeta)
    fields = {name: getattr(changed, name) for name in settled.fields}
    return structs.replace(obj, metadata=structs.replace(obj.metadata, **fields))


async def _decoded(data: bytes, type_: type[Any]) -> Any:
    """Decode an object in a piece of the event loop of its own."""
    obj = codec.decode(data, type_)
    await clock.sleep(0)
    return obj


def _naming() -> Naming:
    return Naming(ids.uid(), ids.suffix(metadata.SUFFIX_LENGTH), ids.uid())


def _job_of(operation: str, write: WriteRequest, source: Any, now: datetime) -> WriteJob:
    """Return a job with the source of a write: a body or a patch, each as it came or read already."""
    job = _job(operation, write.target, write.user, write.options, now)
    if isinstance(source, Patch):
        job = structs.replace(job, patch=source.type.value, duplicates=source.duplicates)
        if not isinstance(source.body, RawBody):
            return structs.replace(job, source=msgspec.json.encode(source.body), content_type=jobs.PLAIN)
        source = source.body
    if isinstance(source, RawBody):
        return structs.replace(job, source=source.data, content_type=source.content_type)
    return structs.replace(job, source=codec.encode(source))


def _job(operation: str, target: Target, user: User, options: WriteOptions, now: datetime) -> WriteJob:
    resource = target.resource
    return WriteJob(
        operation,
        (resource.group, resource.version, resource.plural),
        definition="",
        definition_json=b"",
        namespace=target.namespace,
        name=target.name,
        subresource=target.subresource,
        user=(user.name, user.groups, user.uid, dict(user.extra)),
        options=(
            options.dry_run,
            options.field_manager,
            options.field_validation,
            options.force,
            options.apply,
            options.manager_implied,
        ),
        now=now,
    )

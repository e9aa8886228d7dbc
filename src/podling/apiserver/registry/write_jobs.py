"""Stages of large writes as jobs of a worker process: requests and results as bytes.

``perform`` runs in the worker. It drafts an object and settles it at once, as if admission changed nothing,
so that most writes need one exchange. The results are encoded objects, warnings and errors; what differs
between the drafted and the settled object is often a few fields of the metadata alone, and then only these
are sent. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, structs

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.meta_v1 import DeleteOptions, ObjectMeta, Status
from podling.apiserver.kinds.common.base import KindRules, View
from podling.apiserver.kinds.registry import rules_for
from podling.apiserver.registry import write_stages as stages
from podling.apiserver.registry.patching import check_named
from podling.apiserver.registry.write_stages import WriteRequest
from podling.client.base import PatchType
from podling.client.requests import Patch, RawBody, Target, User, WriteOptions
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.encoding.jsonscan import TOO_DEEP
from podling.machinery.encoding.request_bodies import read_object, read_options, values_max
from podling.machinery.errors import ApiError
from podling.machinery.scheme import Resource, by_path, gated_resource
from podling.store.base import VALUE_BYTES_MAX

if TYPE_CHECKING:
    from podling.apiserver.customresources.served_definition import Served

DEFINITIONS_MAX = 8
"""A worker remembers so many definitions of custom resources."""

OBJECT = ""
"""In place of a content type: the source is an object that this program encoded."""
PLAIN = "plain"
"""The same: the source is the plain data of a patch."""


class Operation:
    """The stages that a job computes."""

    READ = "read"
    READ_OPTIONS = "read options"
    CREATE = "create"
    SETTLE_CREATION = "settle creation"
    CHANGE = "change"
    SETTLE_CHANGE = "settle change"


class Naming(Struct, frozen=True, array_like=True):
    """Random values for a new object; the random generator stays with the server."""

    uid: str = ""
    suffix: str = ""
    uuid: str = ""


class WriteJob(Struct, frozen=True, array_like=True):
    """A write, as far as a worker process has to know it."""

    operation: str
    resource: tuple[str, str, str]
    """Group, version, plural."""
    definition: str
    """The identity of the definition of a custom resource; empty for other kinds."""
    definition_json: bytes
    """The definition, if the worker does not have it."""
    namespace: str
    name: str
    subresource: str
    user: tuple[str, tuple[str, ...], str, dict[str, tuple[str, ...]]]
    options: tuple[bool, str, str, bool, bool, bool]
    now: datetime
    naming: Naming = Naming()
    old: bytes = b""
    """The stored object."""
    patch: str = ""
    """The type of a patch; empty if the source is an object."""
    source: bytes = b""
    content_type: str = OBJECT
    duplicates: tuple[str, ...] = ()


class Failure(Struct, frozen=True, array_like=True):
    """An ``ApiError``: the JSON of its status."""

    status: bytes

    def error(self) -> ApiError:
        return ApiError(codec.decode(self.status, Status))


class Settled(Struct, frozen=True, array_like=True):
    """The result of settling a draft."""

    failure: Failure | None = None
    unchanged: bool = False
    """The object stays as it is stored."""
    new: bytes = b""
    """The object to store; empty if it is the draft with other ``metadata``."""
    fields: tuple[str, ...] = ()
    """The fields of the metadata that differ from the draft's."""
    metadata: bytes = b""
    """Metadata with these fields only."""
    warnings: tuple[str, ...] = ()


class WriteResult(Struct, frozen=True, array_like=True):
    """The result of a job."""

    failure: Failure | None = None
    draft: bytes = b""
    settled: Settled | None = None
    warnings: tuple[str, ...] = ()


def perform(data: bytes) -> bytes:
    """Compute one ``WriteJob``; the function of the jobs."""
    job, warnings = _decode_job(data), list[str]()
    try:
        result = _OPERATIONS[job.operation](job, _write_request(job, warnings))
    except ApiError as error:
        result = WriteResult(_failure(error))
    except RecursionError:
        result = WriteResult(_failure(errors.bad_request(TOO_DEEP)))
    return _encoder.encode(structs.replace(result, warnings=tuple(warnings)))


_encoder = msgspec.msgpack.Encoder()
_decode_job = msgspec.msgpack.Decoder(WriteJob).decode
read_result = msgspec.msgpack.Decoder(WriteResult).decode


def encode_job(job: WriteJob) -> bytes:
    return _encoder.encode(job)


def stored_type(resource: Resource) -> type[Any]:
    """Return the type in which writes of ``resource`` see the stored object."""
    return resource.type if isinstance(resource, CustomResource) else resource.storage_resource.type


_served: dict[str, Served] = {}
"""The definitions of custom resources that this process was sent."""


def remember(notes: dict[str, Any], key: str, value: Any) -> None:
    """Add a definition, and forget the oldest beyond the limit. The server follows with its own notes."""
    notes[key] = value
    if len(notes) > DEFINITIONS_MAX:
        del notes[next(iter(notes))]


def _write_request(job: WriteJob, warnings: list[str]) -> WriteRequest:
    if job.definition_json:
        from podling.apiserver.customresources.served_definition import serve

        definition = codec.decode(job.definition_json, CustomResourceDefinition)
        remember(_served, job.definition, serve(definition))
    resource, rules = _resource_and_rules(job)
    target = Target(resource, job.namespace, job.name, job.subresource)
    part = rules.subresources.get(job.subresource) if job.subresource else None
    options = WriteOptions(*job.options, warnings=warnings)
    return WriteRequest(target, User(*job.user), options, rules, part if isinstance(part, View) else None)


def _resource_and_rules(job: WriteJob) -> tuple[Resource, KindRules[Any]]:
    group, version, plural = job.resource
    if not job.definition:
        built_in = by_path(group, version, plural) or gated_resource(group, version, plural)
        assert built_in is not None
        return built_in, rules_for(built_in)
    served = _served[job.definition]
    for resource in served.resources:
        if resource.version == version:
            return resource, served.rules[version]
    raise errors.no_such_resource()  # not served any more


def _read(job: WriteJob, write: WriteRequest) -> WriteResult:
    return WriteResult(draft=codec.encode(_body(job, write)))


def _read_options(job: WriteJob, write: WriteRequest) -> WriteResult:
    return WriteResult(draft=codec.encode(read_options(job.source, job.content_type, DeleteOptions)))


def _create(job: WriteJob, write: WriteRequest) -> WriteResult:
    source: Any = _patch(job, write) if job.patch else _body(job, write)
    obj = stages.draft_creation(write, source, job.now)
    return _drafted(write, obj, obj, lambda settling: _new(job, settling, obj))


def _settle_creation(job: WriteJob, write: WriteRequest) -> WriteResult:
    obj = _decoded(job.source, write)
    return WriteResult(settled=_settled(write, obj, None, lambda settling: _new(job, settling, obj)))


def _new(job: WriteJob, write: WriteRequest, obj: Any) -> Any:
    naming = job.naming
    name = stages.name_of_new(obj, write.rules, lambda: naming.suffix, lambda: naming.uuid)
    return stages.settle_creation(write, obj, job.now, name=name, uid=naming.uid)


def _change(job: WriteJob, write: WriteRequest) -> WriteResult:
    old = _decoded(job.old, write)
    source: Any = _patch(job, write) if job.patch else _update_body(job, write)
    obj = stages.draft_change(write, source, old, job.now)
    return _drafted(write, obj, old, lambda settling: stages.settle_change(settling, obj, old, job.now))


def _update_body(job: WriteJob, write: WriteRequest) -> Any:
    body = _body(job, write)
    if job.content_type == OBJECT:
        return body
    check_named(body.metadata.name, write.target)
    return stages.update_body(write, body)


def _settle_change(job: WriteJob, write: WriteRequest) -> WriteResult:
    old, obj = _decoded(job.old, write), _decoded(job.source, write)
    settle = lambda settling: stages.settle_change(settling, obj, old, job.now)  # noqa: E731
    return WriteResult(settled=_settled(write, obj, old, settle))


_OPERATIONS: dict[str, Callable[[WriteJob, WriteRequest], WriteResult]] = {
    Operation.READ: _read,
    Operation.READ_OPTIONS: _read_options,
    Operation.CREATE: _create,
    Operation.SETTLE_CREATION: _settle_creation,
    Operation.CHANGE: _change,
    Operation.SETTLE_CHANGE: _settle_change,
}


def _body(job: WriteJob, write: WriteRequest) -> Any:
    """Return the object in the request's body."""
    type_ = stages.body_type(write.target)
    if job.content_type == OBJECT:
        return codec.decode(job.source, stored_type(write.resource) if write.view is None else type_)
    body, warnings = read_object(job.source, job.content_type, type_, write.options.field_validation)
    write.options.warnings.extend(warnings)
    return body


def _patch(job: WriteJob, write: WriteRequest) -> Patch:
    if job.content_type == PLAIN:
        return Patch(PatchType(job.patch), msgspec.json.decode(job.source), job.duplicates)
    return read_patch(Patch(PatchType(job.patch), RawBody(job.source, job.content_type)), write.resource)


def read_patch(patch: Patch, resource: Resource) -> Patch:
    """Return a patch with its body as plain data. Raises ``ApiError``."""
    raw = patch.body
    if not isinstance(raw, RawBody):
        return patch
    body = codec.read_body(raw.data, raw.content_type, "", values_max(resource.kind))
    return Patch(patch.type, body.value, body.duplicates)


def _decoded(data: bytes, write: WriteRequest) -> Any:
    return codec.decode(data, stored_type(write.resource))


def _drafted(write: WriteRequest, obj: Any, old: Any, settle: Callable[[WriteRequest], Any]) -> WriteResult:
    """Return a draft with what becomes of it if admission changes nothing."""
    settled = _settled(write, obj, old, settle)
    draft = codec.encode(obj)
    if len(draft) > VALUE_BYTES_MAX and not _fits(obj, draft, write):
        raise settled.failure.error() if settled.failure else errors.storage_too_large()
    return WriteResult(draft=draft, settled=settled)


def _fits(obj: Any, draft: bytes, write: WriteRequest) -> bool:
    """Return whether the object can be stored, as a last resort without its record of managers."""
    record = obj.metadata.managed_fields
    if write.options.apply or not record:
        return False
    return len(draft) - len(codec.encode(record)) <= VALUE_BYTES_MAX


def _settled(write: WriteRequest, obj: Any, old: Any, settle: Callable[[WriteRequest], Any]) -> Settled:
    settling = structs.replace(write, options=structs.replace(write.options, warnings=[]))
    try:
        new = settle(settling)
    except ApiError as error:
        return Settled(_failure(error), warnings=tuple(settling.options.warnings))
    except RecursionError:
        return Settled(_failure(errors.bad_request(TOO_DEEP)))
    warnings = tuple(settling.options.warnings)
    if new is old:
        return Settled(unchanged=True, warnings=warnings)
    if not _differ_in_metadata_only(new, obj):
        return Settled(new=codec.encode(new), warnings=warnings)
    fields = tuple(
        name for name in ObjectMeta.__struct_fields__ if _differs(name, new.metadata, obj.metadata)
    )
    changed = ObjectMeta(**{name: getattr(new.metadata, name) for name in fields})
    return Settled(fields=fields, metadata=codec.encode(changed), warnings=warnings)


def _differ_in_metadata_only(new: Any, obj: Any) -> bool:
    return type(new) is type(obj) and all(
        getattr(new, name) is getattr(obj, name) for name in new.__struct_fields__ if name != "metadata"
    )


def _differs(name: str, new: ObjectMeta, obj: ObjectMeta) -> bool:
    mine, other = getattr(new, name), getattr(obj, name)
    return mine is not other and mine != other


def _failure(error: ApiError) -> Failure:
    return Failure(codec.encode(error.status))

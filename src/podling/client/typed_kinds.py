"""Structs for the objects of custom kinds, and a client that reads and writes them.

Servers and informers know custom objects as plain data. A controller declares its kind as a struct instead:

    class Backup(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
        custom_resource: ClassVar[CustomResource] = defined_resource(DEFINITION)
        spec: BackupSpec = msgspec.field(default_factory=BackupSpec)

``TypedClient`` passes all other kinds on unchanged. An update loses fields that the struct does not have, so
it must have all of its definition.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, ClassVar, TypeVar, cast

import msgspec
from msgspec import Struct, structs

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.autoscaling_v1 import Scale
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import ApiObject, Client, Listing, PatchType, WatchEvent
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject, CustomResource, from_plain, stored_resource
from podling.machinery.scheme import Resource

T = TypeVar("T", bound=ApiObject)
S = TypeVar("S", bound=Struct)


class TypedObject(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The base of the structs. ``custom_resource`` is the kind in the version that is stored."""

    custom_resource: ClassVar[CustomResource]

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=lambda: ObjectMeta())


def defined_resource(definition: CustomResourceDefinition) -> CustomResource:
    """Return the resource of a definition under the names that it requests, in the version that is stored."""
    status = structs.replace(definition.status, accepted_names=definition.spec.names)
    return stored_resource(structs.replace(definition, status=status))


def typed(obj: CustomObject, kind: type[T]) -> T:
    """Return a custom object as a struct. Raises ``ApiError`` 400 for fields of other types."""
    return codec.from_plain(obj.plain(), kind)


def untyped(obj: Any) -> CustomObject:
    """Return a struct as the custom object that servers know."""
    resource = type(obj).custom_resource
    plain = codec.to_plain(obj)
    head = {"apiVersion": resource.group_version, "kind": resource.kind}
    return cast("CustomObject", from_plain({**plain, **head}, obj.metadata, resource.type))


class TypedClient:
    """``Client`` over another one, with structs for custom kinds."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def get(self, kind: type[T], name: str, namespace: str | None = None) -> T:
        return _outward(await self._client.get(_plain_kind(kind), name, namespace), kind)

    async def list(
        self,
        kind: type[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> Listing[T]:
        found = await self._client.list(
            _plain_kind(kind),
            namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            limit=limit,
            continue_token=continue_token,
        )
        if not _is_typed(kind):
            return found
        items = tuple(_outward(each, kind) for each in found.items)
        return Listing(items, found.resource_version, found.continue_token, found.remaining)

    def watch(
        self,
        kind: type[T],
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[WatchEvent[T]]:
        stream = self._client.watch(
            _plain_kind(kind),
            namespace,
            resource_version=resource_version,
            label_selector=label_selector,
            field_selector=field_selector,
        )
        return _TypedWatch(stream, kind) if _is_typed(kind) else stream

    async def create(self, obj: T, *, namespace: str | None = None, dry_run: bool = False) -> T:
        made = await self._client.create(_inward(obj), namespace=namespace, dry_run=dry_run)
        return _outward(made, type(obj))

    async def update(self, obj: T, *, subresource: str = "", dry_run: bool = False) -> T:
        written = await self._client.update(_inward(obj), subresource=subresource, dry_run=dry_run)
        return _outward(written, type(obj))

    async def patch(  # noqa: PLR0913 the protocol's
        self,
        kind: type[T],
        name: str,
        patch: Any,
        namespace: str | None = None,
        *,
        patch_type: PatchType = PatchType.MERGE,
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> T:
        patched = await self._client.patch(
            _plain_kind(kind),
            name,
            patch,
            namespace,
            patch_type=patch_type,
            subresource=subresource,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
        )
        return _outward(patched, kind)

    async def delete(  # noqa: PLR0913 the protocol's
        self,
        kind: type[T],
        name: str,
        namespace: str | None = None,
        *,
        grace_seconds: int | None = None,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "",
        dry_run: bool = False,
    ) -> None:
        await self._client.delete(
            _plain_kind(kind),
            name,
            namespace,
            grace_seconds=grace_seconds,
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
            dry_run=dry_run,
        )

    async def create_subresource(
        self, kind: type[T], name: str, subresource: str, body: S, namespace: str | None = None
    ) -> Struct:
        return await self._client.create_subresource(_plain_kind(kind), name, subresource, body, namespace)

    async def get_scale(self, resource: Resource, name: str, namespace: str) -> Scale:
        return await self._client.get_scale(resource, name, namespace)

    async def update_scale(self, resource: Resource, scale: Scale) -> Scale:
        return await self._client.update_scale(resource, scale)

    async def close(self) -> None:
        await self._client.close()


class _TypedWatch:
    """A watch whose objects are structs."""

    def __init__(self, stream: AsyncIterator[WatchEvent[Any]], kind: type[Any]) -> None:
        self._stream, self._kind = stream, kind

    def __aiter__(self) -> _TypedWatch:
        return self

    async def __anext__(self) -> WatchEvent[Any]:
        event = await self._stream.__anext__()
        return WatchEvent(event.type, _outward(event.object, self._kind))

    async def aclose(self) -> None:
        aclose = getattr(self._stream, "aclose", None)
        if aclose is not None:
            await aclose()


def _is_typed(kind: type[Any]) -> bool:
    return issubclass(kind, TypedObject)


def _plain_kind(kind: type[T]) -> type[T]:
    return cast("type[T]", kind.custom_resource.type) if issubclass(kind, TypedObject) else kind


def _inward(obj: Any) -> Any:
    return untyped(obj) if isinstance(obj, TypedObject) else obj


def _outward(obj: Any, kind: type[T]) -> T:
    return typed(obj, kind) if isinstance(obj, CustomObject) and _is_typed(kind) else obj

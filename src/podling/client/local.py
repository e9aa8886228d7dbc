"""The client of an API server that trusts it: in the same process, or in another one of this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeVar, cast

from msgspec import Struct

from podling.api.autoscaling_v1 import Scale
from podling.api.meta_v1 import DeleteOptions, Preconditions
from podling.client.base import ApiObject, Listing, PatchType, WatchEvent
from podling.client.requests import SYSTEM, Backend, ListOptions, Patch, Target, User, WriteOptions
from podling.machinery.scheme import Resource, resource_of

T = TypeVar("T", bound=ApiObject)
S = TypeVar("S", bound=Struct)
SCALE = "scale"


class LocalClient:
    """``Client`` over a ``Backend``, acting for ``user``."""

    def __init__(self, backend: Backend, user: User = SYSTEM) -> None:
        self._backend = backend
        self._user = user

    def acting_as(self, user: User) -> LocalClient:
        """Return a client of the same server that acts as another user."""
        return LocalClient(self._backend, user)

    async def get(self, kind: type[T], name: str, namespace: str | None = None) -> T:
        target = Target(resource_of(kind), namespace or "", name)
        return cast(T, await self._backend.get(target, self._user))

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
        options = ListOptions(
            label_selector=label_selector,
            field_selector=field_selector,
            limit=limit,
            continue_token=continue_token,
        )
        return await self._backend.list(Target(resource_of(kind), namespace or ""), self._user, options)

    def watch(
        self,
        kind: type[T],
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[WatchEvent[T]]:
        """Watch as the protocol states, but without bookmarks.

        No connection of a watch inside the process can break, and one over a Unix socket breaks only with
        its server; bookmarks would wake thousands of watches every minute.
        """
        options = ListOptions(
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
        )
        return self._backend.watch(Target(resource_of(kind), namespace or ""), self._user, options)

    async def create(self, obj: T, *, namespace: str | None = None, dry_run: bool = False) -> T:
        target = Target(resource_of(type(obj)), _namespace(obj, namespace))
        return cast(T, await self._backend.create(target, self._user, obj, WriteOptions(dry_run=dry_run)))

    async def update(self, obj: T, *, subresource: str = "", dry_run: bool = False) -> T:
        target = Target(resource_of(type(obj)), _namespace(obj, None), obj.metadata.name or "", subresource)
        return cast(T, await self._backend.update(target, self._user, obj, WriteOptions(dry_run=dry_run)))

    async def patch(  # noqa: PLR0913 -- the protocol's
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
        target = Target(resource_of(kind), namespace or "", name, subresource)
        options = WriteOptions(
            dry_run=dry_run,
            field_manager=field_manager,
            force=force,
            apply=patch_type is PatchType.APPLY,
        )
        return cast(T, await self._backend.patch(target, self._user, Patch(patch_type, patch), options))

    async def delete(  # noqa: PLR0913 -- the protocol's
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
        preconditions = Preconditions(uid=uid or None, resource_version=resource_version or None)
        options = DeleteOptions(
            grace_period_seconds=grace_seconds,
            preconditions=preconditions if uid or resource_version else None,
            propagation_policy=propagation or None,
            dry_run=("All",) if dry_run else (),
        )
        await self._backend.delete(Target(resource_of(kind), namespace or "", name), self._user, options)

    async def create_subresource(
        self, kind: type[T], name: str, subresource: str, body: S, namespace: str | None = None
    ) -> Struct:
        target = Target(resource_of(kind), namespace or "", name, subresource)
        return cast(Struct, await self._backend.create(target, self._user, body, WriteOptions()))

    async def get_scale(self, resource: Resource, name: str, namespace: str) -> Scale:
        return cast(Scale, await self._backend.get(Target(resource, namespace, name, SCALE), self._user))

    async def update_scale(self, resource: Resource, scale: Scale) -> Scale:
        target = Target(resource, scale.metadata.namespace or "", scale.metadata.name or "", SCALE)
        return cast(Scale, await self._backend.update(target, self._user, scale, WriteOptions()))

    async def close(self) -> None:
        """Nothing to let go of: the server is not ours."""


def _namespace(obj: ApiObject, given: str | None) -> str:
    return given if given is not None else obj.metadata.namespace or ""

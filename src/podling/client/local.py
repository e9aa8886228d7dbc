"""The client of an API server in the same process: the same stages, no sockets, no re-encoding.

``Backend`` is the door: what an API server offers to whoever lives in its process. It is spoken by
``LocalClient``, which gives components the ``Client`` protocol, and by the server's own HTTP edge, so that
both run the very same stages. Objects pass through it as the frozen structs that the store keeps
decoded; nothing is copied and nothing is parsed again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast

from msgspec import Struct

from podling.api.meta_v1 import DeleteOptions, Preconditions
from podling.client.base import ApiObject, Listing, PatchType, WatchEvent
from podling.machinery.scheme import Resource, resource_of

T = TypeVar("T", bound=ApiObject)
S = TypeVar("S", bound=Struct)


@dataclass(frozen=True, slots=True)
class User:
    """Who a request acts for, as authentication found out."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}), hash=False)


SYSTEM = User("system:apiserver", ("system:masters", "system:authenticated"))
"""The server itself and the components it trusts as itself."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about. An empty ``name`` means the collection, an empty ``namespace`` all of
    them or a cluster-scoped kind."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of list, watch and deletecollection; empty and zero mean not given (k8s.io meta/v1)."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout_seconds: int | None = None
    bookmarks: bool = False
    send_initial_events: bool | None = None


class WriteOptions(Struct, frozen=True):
    """Options of create, update and patch. ``warnings`` collects what the response should warn of."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool = False
    apply: bool = False
    """The object comes from a server-side apply and says itself who owns its fields."""
    manager_implied: bool = False
    """The client named no field manager and is known by its program's name."""
    warnings: list[str] = []


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch as plain data, and how to read it."""

    type: PatchType
    body: Any
    duplicates: tuple[str, ...] = ()
    """One text for each key that it names twice."""


NO_OPTIONS = ListOptions()
NO_DELETE_OPTIONS = DeleteOptions()


class Backend(Protocol):
    """An API server in the same process. All raise ``ApiError``."""

    async def get(self, target: Target, user: User) -> Any: ...

    async def list(self, target: Target, user: User, options: ListOptions) -> Listing[Any]: ...

    def watch(self, target: Target, user: User, options: ListOptions) -> AsyncIterator[WatchEvent[Any]]: ...

    async def create(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        """Create ``body``; with a subresource, POST it there and return what that answers."""
        ...

    async def update(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any: ...

    async def patch(self, target: Target, user: User, patch: Patch, options: WriteOptions) -> Any: ...

    async def delete(self, target: Target, user: User, options: DeleteOptions) -> Any:
        """Delete one object; returns it (still there and going, or its last state) or a ``Status``."""
        ...

    async def delete_collection(
        self, target: Target, user: User, selection: ListOptions, options: DeleteOptions
    ) -> Sequence[Any]: ...


class LocalClient:
    """``Client`` over a ``Backend``, acting for ``user``."""

    def __init__(self, backend: Backend, user: User = SYSTEM) -> None:
        self._backend = backend
        self._user = user

    def acting_as(self, user: User) -> LocalClient:
        """The same server, seen as another user."""
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
        """As the protocol says, but without bookmarks: a watch inside the process does not break off for
        want of a connection, and thousands of them would otherwise wake up every minute for nothing."""
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

    async def close(self) -> None:
        """Nothing to let go of: the server is not ours."""


def _namespace(obj: ApiObject, given: str | None) -> str:
    return given if given is not None else obj.metadata.namespace or ""

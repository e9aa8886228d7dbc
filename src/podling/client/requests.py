"""The typed values of a request, and the protocol that serves them.

``Backend`` is an API server that trusts its caller to name the user. ``LocalClient`` calls it for components,
the server's HTTP side for clients, so that both run the same stages. In the same process, objects pass
through it as the frozen structs that the store keeps decoded: nothing is copied and nothing is parsed again.
For other processes, ``client.socket_backend`` implements it over a Unix socket.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from msgspec import Struct

from podling.api.meta_v1 import DeleteOptions
from podling.client.base import Listing, PatchType, WatchEvent
from podling.machinery.scheme import Resource


@dataclass(frozen=True, slots=True)
class User:
    """The user that a request acts for, as authentication found it."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}), hash=False)


SYSTEM = User("system:apiserver", ("system:masters", "system:authenticated"))
"""The server itself and the components it trusts as itself."""


class Target(Struct, frozen=True):
    """The object or collection of a request. An empty ``name`` means the collection; an empty ``namespace``
    means all namespaces or a cluster-scoped kind."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class ListOptions(Struct, frozen=True):
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
    """Options of create, update and patch. ``warnings`` collects the warnings of the response."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool = False
    apply: bool = False
    """The object comes from a server-side apply, and its ``managedFields`` are complete."""
    manager_implied: bool = False
    """The client named no field manager and is known by its program's name."""
    warnings: list[str] = []


class RawBody(Struct, frozen=True):
    """A body that is too large to be read on the event loop: its bytes, as they came."""

    data: bytes
    content_type: str


class Patch(Struct, frozen=True):
    """A patch as plain data or as a ``RawBody``, and its type."""

    type: PatchType
    body: Any
    duplicates: tuple[str, ...] = ()
    """A message for each key that occurs twice."""


NO_DELETE_OPTIONS = DeleteOptions()


class Backend(Protocol):
    """An API server that trusts its caller. All raise ``ApiError``, and ``Unreachable`` without an answer."""

    async def get(self, target: Target, user: User) -> Any: ...

    async def list(self, target: Target, user: User, options: ListOptions) -> Listing[Any]: ...

    def watch(self, target: Target, user: User, options: ListOptions) -> AsyncIterator[WatchEvent[Any]]: ...

    async def create(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        """Create ``body``; with a subresource, POST it there and return the response."""
        ...

    async def update(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any: ...

    async def patch(self, target: Target, user: User, patch: Patch, options: WriteOptions) -> Any: ...

    async def delete(self, target: Target, user: User, options: DeleteOptions) -> Any:
        """Delete one object. Return it (being deleted, or its last state) or a ``Status``."""
        ...

    async def delete_collection(
        self, target: Target, user: User, selection: ListOptions, options: DeleteOptions
    ) -> Sequence[Any]: ...

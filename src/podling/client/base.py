"""The client protocol, with which every component reads and changes the cluster.

Two implementations, one contract suite: ``client.local`` calls an API server that trusts it, in the same
process without sockets or re-encoding, in another process over a Unix socket (``client.socket_backend``);
``client.http`` connects to any over HTTPS. Objects are the frozen
structs of ``podling.api``; what a client returns may be shared with others and must not be changed
(build new ones with ``msgspec.structs.replace``). All calls raise ``machinery.errors.ApiError`` for what
the server refused, and ``Unreachable`` where no answer came.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from podling.api.autoscaling_v1 import Scale
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.resource import Resource


class ApiObject(Protocol):
    """The fields of every stored kind. Each generated kind satisfies it structurally."""

    @property
    def metadata(self) -> ObjectMeta: ...

    @property
    def kind(self) -> str: ...

    @property
    def api_version(self) -> str: ...


T = TypeVar("T", bound=ApiObject)
S = TypeVar("S", bound=Struct)


class Unreachable(Exception):
    """No answer came: the server is down, the network is cut, or the connection broke on the way.

    The request may have been carried out nevertheless.
    """


class Key(NamedTuple):
    """An object's namespace (empty for cluster-scoped kinds) and name: what work queues carry."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def key_of(obj: ApiObject) -> Key:
    return Key(obj.metadata.namespace or "", obj.metadata.name or "")


class PatchType(Enum):
    """The type of a patch; the value is its media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class WatchEventType(Enum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[T]):
    """One change seen by a watch. For DELETED the object's last state; for BOOKMARK only its
    ``metadata.resourceVersion`` means anything."""

    type: WatchEventType
    object: T


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """The answer to a list: items in key order, all as of one ``resource_version``."""

    items: tuple[T, ...]
    resource_version: str
    continue_token: str = ""
    remaining: int | None = None


class Client(Protocol):
    """Typed access to one cluster. ``namespace`` is None for cluster-scoped kinds, and in lists and
    watches also for "all namespaces"."""

    async def get(self, kind: type[T], name: str, namespace: str | None = None) -> T: ...

    async def list(
        self,
        kind: type[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> Listing[T]: ...

    def watch(
        self,
        kind: type[T],
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[WatchEvent[T]]:
        """Changes after ``resource_version``, with bookmarks, until the server ends the watch.

        Raises an ``Expired`` ApiError when the revision is too old: list again.
        """
        ...

    async def create(self, obj: T, *, namespace: str | None = None, dry_run: bool = False) -> T: ...

    async def update(self, obj: T, *, subresource: str = "", dry_run: bool = False) -> T:
        """Replace; the object's ``resourceVersion``, when set, must still be the current one."""
        ...

    async def patch(  # noqa: PLR0913 the API's own options, all by name
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
        """Apply ``patch`` (plain data: dicts, lists) to the stored object."""
        ...

    async def delete(  # noqa: PLR0913 the API's own options, all by name
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
        """Request the deletion; ``uid`` and ``resource_version`` are preconditions (409 on mismatch)."""
        ...

    async def create_subresource(
        self, kind: type[T], name: str, subresource: str, body: S, namespace: str | None = None
    ) -> Struct:
        """POST to a subresource: ``binding``, ``eviction``, ``token``. Returns what it answers."""
        ...

    async def get_scale(self, resource: Resource, name: str, namespace: str) -> Scale:
        """Return the ``scale`` of an object of any kind, also of one without a type."""
        ...

    async def update_scale(self, resource: Resource, scale: Scale) -> Scale:
        """Replace the ``scale`` of the object that ``scale`` names."""
        ...

    async def close(self) -> None: ...


Labels = Mapping[str, str]

"""Admission: what may still change or refuse a request after its user was found to be allowed it.

A plugin is one object with up to two steps. ``admit`` returns the object, perhaps changed, and runs
after decoding and defaulting; ``validate`` runs when the object is final and the kind's own validation has
passed. Either refuses by raising ``ApiError``. Plugins read the cluster through ``Objects``, never
write to it, and take the time from the request: the same request over the same objects is answered
the same.

Upstream counterpart: ``staging/src/k8s.io/apiserver/pkg/admission`` and ``plugin/pkg/admission``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Protocol, TypeVar

from msgspec import Struct, structs

from podling.client.base import ApiObject
from podling.client.local import User
from podling.machinery import errors
from podling.machinery.scheme import Resource

T = TypeVar("T", bound=ApiObject)


class Operation(Enum):
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class Request(Struct, frozen=True, kw_only=True):
    """What a plugin may know. ``object`` is the new state (None for a deletion), ``old`` the stored one
    (None for a creation); for subresources that take a body of their own (``binding``, ``eviction``) and for
    CONNECT, ``object`` is that body or those options and ``old`` is the parent where it is known."""

    operation: Operation
    resource: Resource
    subresource: str
    namespace: str
    name: str
    object: Any
    old: Any
    user: User
    now: datetime
    dry_run: bool = False
    warnings: list[str] = []
    """Texts for the response's ``Warning`` headers: append to it."""

    @property
    def kind(self) -> str:
        return self.resource.kind

    def forbidden(self, why: str) -> errors.ApiError:
        """The error of a refusal: 403, ``pods "x" is forbidden: <why>``."""
        return errors.forbidden(self.resource.plural, self.resource.group, self.name, why)


class Objects(Protocol):
    """Read access to the cluster as stored now."""

    def get(self, kind: type[T], name: str, namespace: str = "") -> T | None: ...

    async def list(self, kind: type[T], namespace: str = "") -> Sequence[T]:
        """Every object of a kind in one namespace (empty: in all, or cluster-scoped), in key order."""
        ...


class Plugin:
    """The defaults: handles everything, changes nothing, refuses nothing."""

    name: str = ""
    """Kubernetes' own name of the plugin (``NamespaceLifecycle``)."""

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        """Whether the plugin has anything to say about such requests; asked once and remembered."""
        return True

    async def admit(self, request: Request, objects: Objects) -> Any:
        """The object to go on with; ``request.object`` itself when nothing changes."""
        return request.object

    async def validate(self, request: Request, objects: Objects) -> None:
        """Refuse by raising ``ApiError``."""


class Chain:
    """Plugins in order, with who handles what worked out once per kind of request."""

    def __init__(self, plugins: Iterable[Plugin], objects: Objects) -> None:
        self._plugins = tuple(plugins)
        self._objects = objects
        self._mutating: dict[tuple[Operation, Resource, str], tuple[Plugin, ...]] = {}
        self._validating: dict[tuple[Operation, Resource, str], tuple[Plugin, ...]] = {}

    async def admit(self, request: Request) -> Any:
        """``request.object`` after every plugin's ``admit``, each seeing what the one before made."""
        key = (request.operation, request.resource, request.subresource)
        plugins = self._mutating.get(key)
        if plugins is None:
            plugins = self._mutating[key] = self._handlers(key, "admit")
        for plugin in plugins:
            admitted = await plugin.admit(request, self._objects)
            if admitted is not request.object:
                request = structs.replace(request, object=admitted)
        return request.object

    async def validate(self, request: Request) -> None:
        key = (request.operation, request.resource, request.subresource)
        plugins = self._validating.get(key)
        if plugins is None:
            plugins = self._validating[key] = self._handlers(key, "validate")
        for plugin in plugins:
            await plugin.validate(request, self._objects)

    def _handlers(self, key: tuple[Operation, Resource, str], step: str) -> tuple[Plugin, ...]:
        """The plugins that override ``step`` and handle requests like ``key``."""
        return tuple(
            plugin
            for plugin in self._plugins
            if getattr(type(plugin), step) is not getattr(Plugin, step) and plugin.handles(*key)
        )

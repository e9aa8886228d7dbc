"""Admission: what may still change or refuse a request after its user was found to be allowed it.

A plugin is one object with up to two steps. ``admit`` returns the object, perhaps changed, and runs
after decoding and defaulting; ``validate`` runs when the object is final and the kind's own validation has
passed. Either refuses by raising ``ApiError``. Plugins read the cluster through ``Objects``, do not
write to it, and take the time from the request: the same request over the same objects is answered
the same. The exception is a plugin that admits requests at the cost of a budget: it spends the budget first,
by a write of its status through ``Server.client``, as the eviction subresource does. A request that fails
later, or is tried again, must not spend twice: the status records what it was spent for.

Upstream counterpart: ``staging/src/k8s.io/apiserver/pkg/admission`` and ``plugin/pkg/admission``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import Struct, structs

from podling import clock
from podling.api.meta_v1 import DeleteOptions
from podling.apiserver.admission.step_metrics import StepMetrics
from podling.client.base import ApiObject, Client
from podling.client.events import EventRecorder
from podling.client.requests import User, WriteOptions
from podling.machinery import errors
from podling.machinery.fields import FieldError
from podling.machinery.histograms import Histogram
from podling.machinery.scheme import Resource
from podling.store.base import Store

if TYPE_CHECKING:
    from podling.apiserver.auth.authz import Decision
    from podling.apiserver.auth.rbac import Attributes
    from podling.apiserver.backends.local_servers import LocalServers

T = TypeVar("T", bound=ApiObject)


class Operation(StrEnum):
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


UNSETTLED_SECONDS = 30.0
"""Time after which a cancelled write is certain not to be stored any more."""


class Rounds:
    """State of reinvocation: plugins are called a second time after a webhook or policy changed the object.

    Upstream: ``ReinvocationContext``.
    """

    __slots__ = ("again", "needed", "notes")

    def __init__(self) -> None:
        self.needed = False
        """Set by a plugin that changed the object in a way that others may have to see."""
        self.again = False
        """True if this is the second round; there is no third."""
        self.notes: dict[str, Any] = {}
        """Plugins' notes from the first round, by the plugin's name."""


def release(releases: list[Callable[[], object]]) -> None:
    """Call and forget all of ``AdmissionRequest.releases``."""
    while releases:
        releases.pop()()


def release_later(releases: list[Callable[[], object]]) -> None:
    """Release after a cancelled write, when it has been stored or never will be: a client that goes away
    does not stop a write that is on its way to the disk."""
    if releases:
        asyncio.get_running_loop().call_later(UNSETTLED_SECONDS, release, releases.copy())
        releases.clear()


class AdmissionRequest(Struct, frozen=True, kw_only=True):
    """Request as seen by a plugin.

    ``object`` is the new state (None for a deletion), ``old`` the stored one (None for a creation). For
    subresources of another kind (``scale``) both are of that kind. For subresources with a body of their own
    (``binding``, ``eviction``) ``object`` is that body, for CONNECT the options as plain data, and ``old`` is
    None.
    """

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
    options: WriteOptions | DeleteOptions | None = None
    """The options of the write; None for a connection, whose options are its object."""
    collection: bool = False
    """The object is one of many that the request deletes: the request names none of them."""
    rounds: Rounds = msgspec.field(default_factory=Rounds)
    releases: list[Callable[[], object]] = []
    """Called when the object is stored, or will not be: what a plugin holds for the request until then."""

    @property
    def kind(self) -> str:
        return self.resource.kind

    @property
    def within(self) -> str:
        """The namespace of the request as others see it: namespaces are in themselves."""
        itself = (self.resource.group, self.resource.plural) == ("", "namespaces")
        return self.name if itself else self.namespace

    @property
    def asked_name(self) -> str:
        """The name that the request itself has; it may have none."""
        return "" if self.collection else self.name

    def forbidden(self, why: str) -> errors.ApiError:
        """The error of a refusal: 403, ``pods "x" is forbidden: <why>``; a name yet to be generated is shown
        as far as it is known (source: ``extractResourceName``)."""
        metadata = getattr(self.object, "metadata", None)
        own = metadata and (metadata.name or metadata.generate_name)
        name = self.asked_name or own or "Unknown"
        return errors.forbidden(self.resource.plural, self.resource.group, name, why)


class Objects(Protocol):
    """Read access to the cluster as stored now."""

    def get(self, kind: type[T], name: str, namespace: str = "") -> T | None: ...

    async def list(self, kind: type[T], namespace: str = "") -> Sequence[T]:
        """Return every object of a kind in one namespace (empty: in all, or cluster-scoped), in key order."""
        ...

    def has_none(self, kind: type[Any]) -> bool:
        """Return true if it is known without looking that there is no object of a kind."""
        ...


class Server(Protocol):
    """Services of the server for plugins, beside its objects."""

    @property
    def store(self) -> Store:
        """The store, for an index of stored objects that follows it."""
        ...

    @property
    def local_servers(self) -> LocalServers | None:
        """The webhooks in this process."""
        ...

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """The gates that differ from their defaults."""
        ...

    def versions(self, resource: Resource) -> Sequence[Resource]:
        """Return every served resource that shows the same stored objects as this one, itself included."""
        ...

    def by_path(self, group: str, version: str, plural: str) -> Resource | None:
        """Return the served resource of a path."""
        ...

    def resource(self, group: str, version: str, kind: str) -> Resource | None:
        """Return the served resource of a kind."""
        ...

    @property
    def client(self) -> Client:
        """A client that acts for the server itself; never for what ``Objects`` can answer."""
        ...

    def recorder(self, component: str) -> EventRecorder:
        """Return a recorder of events in the name of a component; for ``initialize`` only."""
        ...

    async def converted(self, obj: Any, resource: Resource) -> Any:
        """Return a custom object in the version of ``resource``. Raises 500."""
        ...

    def defaulted(self, obj: Any, resource: Resource) -> Any:
        """Return an object of a request for ``resource`` with its kind's defaults filled in."""
        ...

    def errors_in(self, obj: Any, resource: Resource, now: datetime) -> list[FieldError]:
        """Return what the validation of its kind finds in an object that is to be created."""
        ...

    def decide(self, user: User, asked: Attributes) -> Decision:
        """Return whether a user is allowed a request."""
        ...


class Plugin:
    """The defaults: handles everything, changes nothing, refuses nothing."""

    name: str = ""
    """Kubernetes' own name of the plugin (``NamespaceLifecycle``)."""

    acts_on: type[ApiObject] | None = None
    """A kind without any object of which the plugin changes and refuses nothing, and need not be called."""

    def initialize(self, server: Server) -> None:
        """Take what the server offers; called once, before any request."""

    def close(self) -> None:
        """Let go of what follows the store; called once, when the server stops."""

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        """Return whether the plugin handles such requests; called once per kind of request and remembered."""
        return True

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        """The object to go on with, its defaults filled in; ``request.object`` itself if nothing changes."""
        return request.object

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        """Refuse by raising ``ApiError``."""


class _Step(NamedTuple):
    """One step of admission for one kind of request: who has a say, and where its time is counted."""

    plugins: tuple[Plugin, ...]
    passed: Histogram
    refused: Histogram


class Chain:
    """Plugins in order, with who handles what worked out once per kind of request."""

    def __init__(self, plugins: Iterable[Plugin], objects: Objects) -> None:
        self._plugins = tuple(plugins)
        self._objects = objects
        self._mutating: dict[tuple[Operation, Resource, str], _Step] = {}
        self._validating: dict[tuple[Operation, Resource, str], _Step] = {}
        self.metrics = StepMetrics()

    async def admit(self, request: AdmissionRequest) -> Any:
        """Return ``request.object`` after every plugin's ``admit``, each with the result of the one before.

        All plugins are called once more when one of them requests it.
        """
        key = (request.operation, request.resource, request.subresource)
        step = self._mutating.get(key)
        if step is None:
            step = self._mutating[key] = self._step(key, "admit")
        started = clock.monotonic()
        try:
            admitted = await self._round(step, request)
            if request.rounds.needed:
                request.rounds.again = True
                admitted = await self._round(step, structs.replace(request, object=admitted))
        except BaseException:
            step.refused.observe(clock.monotonic() - started)
            raise
        step.passed.observe(clock.monotonic() - started)
        return admitted

    async def _round(self, step: _Step, request: AdmissionRequest) -> Any:
        objects = self._objects
        for plugin in step.plugins:
            if plugin.acts_on is not None and objects.has_none(plugin.acts_on):
                continue
            admitted = await plugin.admit(request, objects)
            if admitted is not request.object:
                request = structs.replace(request, object=admitted)
        return request.object

    async def validate(self, request: AdmissionRequest) -> None:
        key = (request.operation, request.resource, request.subresource)
        step = self._validating.get(key)
        if step is None:
            step = self._validating[key] = self._step(key, "validate")
        started = clock.monotonic()
        objects = self._objects
        try:
            for plugin in step.plugins:
                if plugin.acts_on is None or not objects.has_none(plugin.acts_on):
                    await plugin.validate(request, objects)
        except BaseException:
            step.refused.observe(clock.monotonic() - started)
            raise
        step.passed.observe(clock.monotonic() - started)

    def _step(self, key: tuple[Operation, Resource, str], step: str) -> _Step:
        """With the plugins that override ``step`` and handle requests like ``key``."""
        plugins = tuple(
            plugin
            for plugin in self._plugins
            if getattr(type(plugin), step) is not getattr(Plugin, step) and plugin.handles(*key)
        )
        operation = key[0].value
        passed, refused = (self.metrics.of(step, operation, rejected=each) for each in (False, True))
        return _Step(plugins, passed, refused)

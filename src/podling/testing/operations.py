"""The operations on a test's cluster, on the loop of the cluster.

Every write returns when all that follows from it without time has happened: a Deployment's pods run, unless
their containers take time to start.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from podling import clock
from podling.api.meta_v1 import DeleteOptions
from podling.apiserver.http.wait_conditions import Awaited, Holds, predicate, resource_named, until_met
from podling.client.base import PatchType
from podling.client.requests import SYSTEM, ListOptions, Patch, Target, WriteOptions
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.machinery.scheme import RESOURCES, Resource
from podling.sim.simulated_cluster import SimulatedCluster
from podling.testing.app_servers import App, handler_of
from podling.testing.manifests import Plain, Source, documents
from podling.testing.settings import span_of
from podling.winding import Winding

T = TypeVar("T")

MANAGER = "podling.testing"
ESTABLISHED_SECONDS = 60.0
DEFINITION = "CustomResourceDefinition"

Condition = str | Callable[[Plain], bool]
"""A condition as ``kubectl wait --for`` takes it, or a test of the object as plain data."""


class ExpectationFailed(AssertionError):
    """An object did not come to meet a condition in time."""


class Operations:
    """The operations on a running cluster; all of them run on its loop."""

    def __init__(self, cluster: SimulatedCluster, winding: Winding) -> None:
        self.cluster = cluster
        self.winding = winding

    # Objects.

    async def apply(self, source: Source, namespace: str) -> list[Plain]:
        """Apply objects on the server's side, and return them as stored. Raises ``ApiError``."""
        applied = []
        for plain in documents(source):
            applied.append(await self._apply(plain, namespace))
            if plain["kind"] == DEFINITION:
                name = f"crd/{plain['metadata']['name']}"
                await self.expect(name, "condition=Established", ESTABLISHED_SECONDS, "")
        await self.settle()
        return applied

    async def _apply(self, plain: Plain, namespace: str) -> Plain:
        resource = self._resource_of(plain)
        metadata = plain.get("metadata") or {}
        target = Target(
            resource,
            (metadata.get("namespace") or namespace) if resource.namespaced else "",
            metadata.get("name") or "",
        )
        options = WriteOptions(field_manager=MANAGER, force=True, apply=True)
        patch = Patch(PatchType.APPLY, plain)
        return _plain(await _as_client(self._registry.patch(target, SYSTEM, patch, options)))

    async def get(self, what: str, namespace: str) -> Plain:
        """Return an object. Raises ``ApiError``."""
        return _plain(await _as_client(self._registry.get(self._target(what, namespace), SYSTEM)))

    async def list(self, kind: str, namespace: str, labels: str) -> list[Plain]:
        """Return the objects of a kind; all namespaces' where ``namespace`` is empty. Raises ``ApiError``."""
        resource = self._resource_named(kind)
        target = Target(resource, namespace if resource.namespaced else "")
        options = ListOptions(label_selector=labels)
        found = await _as_client(self._registry.list(target, SYSTEM, options))
        return [_plain(each) for each in found.items]

    async def patch(self, what: str, patch: Mapping[str, Any], namespace: str, subresource: str) -> Plain:
        """Merge ``patch`` into an object, and return it. Raises ``ApiError``."""
        target = self._target(what, namespace, subresource)
        options = WriteOptions(field_manager=MANAGER)
        change = Patch(PatchType.MERGE, dict(patch))
        found = await _as_client(self._registry.patch(target, SYSTEM, change, options))
        await self.settle()
        return _plain(found)

    async def delete(self, what: str, namespace: str, grace_seconds: int | None) -> None:
        """Request the deletion of an object. Raises ``ApiError``."""
        options = DeleteOptions(grace_period_seconds=grace_seconds)
        await _as_client(self._registry.delete(self._target(what, namespace), SYSTEM, options))
        await self.settle()

    # Servers.

    async def serve(self, name: str, app: App, seconds: float, *, needs_endpoint: bool) -> None:
        """Let an application answer for a Service or a URL. Raises ``ValueError`` for a name of neither."""
        if "://" not in name and name.count("/") != 1:
            raise ValueError(f"{name!r} names no server: a Service as namespace/name, or a URL")
        self.cluster.servers.serve(name, handler_of(app, seconds), needs_endpoint=needs_endpoint)

    # Time.

    async def settle(self) -> None:
        """Let everything happen that needs no time."""
        await self.winding.advance(0)

    async def advance(self, seconds: float) -> None:
        """Let time pass."""
        await self.winding.advance(seconds)

    async def expect(
        self,
        what: str,
        condition: Condition,
        within: str | float,
        namespace: str,
        machine_seconds: float = 0,
    ) -> Plain | None:
        """Let time pass until a condition holds; return the object, or None for a deleted one.

        Raises ``ExpectationFailed``.

        Args:
            machine_seconds: the machine's time for which time stands still at first, so that another
                program can act.
        """
        kind, _, name = what.partition("/")
        resource, seconds = self._resource_named(kind), span_of(within)
        own = namespace if resource.namespaced else ""
        text = condition if isinstance(condition, str) else "create"
        holds = predicate(condition) if isinstance(condition, str) else _present_and(condition)

        def met() -> Coroutine[Any, Any, None]:
            return until_met(self._registry, resource, Awaited(kind, name, text, own), SYSTEM, holds)

        is_met = machine_seconds > 0 and await _in_machine_time(met(), machine_seconds)
        if not is_met and not await self.winding.run_until(met(), seconds):
            shown = condition if isinstance(condition, str) else getattr(condition, "__name__", "condition")
            raise ExpectationFailed(f"{what}: {shown} did not come true within {seconds:g} s")
        await self.settle()
        return await self._present(Target(resource, own, name))

    async def _present(self, target: Target) -> Plain | None:
        try:
            return _plain(await self._registry.get(target, SYSTEM))
        except ApiError as error:
            if errors.is_not_found(error):
                return None
            raise

    # Names.

    @property
    def _registry(self) -> Any:
        return self.cluster.server.registry

    def _resources(self) -> tuple[Resource, ...]:
        return (*RESOURCES, *self.cluster.server.catalogue.resources())

    def _resource_named(self, kind: str) -> Resource:
        found = resource_named(kind, self._resources())
        if found is None:
            raise LookupError(f'the server doesn\'t have a resource type "{kind}"')
        return found

    def _resource_of(self, plain: Plain) -> Resource:
        for each in self._resources():
            if (each.group_version, each.kind) == (plain["apiVersion"], plain["kind"]) and each.stored:
                return each
        raise LookupError(f'no matches for kind "{plain["kind"]}" in version "{plain["apiVersion"]}"')

    def _target(self, what: str, namespace: str, subresource: str = "") -> Target:
        kind, _, name = what.partition("/")
        if not name:
            raise ValueError(f"{what!r} does not name an object: TYPE/NAME, as in 'deployment/web'")
        resource = self._resource_named(kind)
        return Target(resource, namespace if resource.namespaced else "", name, subresource)


async def _as_client(request: Coroutine[Any, Any, T]) -> T:
    """Return the answer to a request that the test waits for: time passes if a webhook needs some."""
    hold = clock.hold_for_client()
    try:
        return await request
    finally:
        if hold is not None:
            hold.cancel()


def seconds_in(days: float, hours: float, minutes: float, seconds: float) -> float:
    """Return a time as seconds. Raises ``ValueError`` for one that is negative. Pure."""
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if not 0 <= total < math.inf:
        raise ValueError("time cannot go back")
    return total


async def _in_machine_time(work: Coroutine[Any, Any, None], seconds: float) -> bool:
    """Return whether ``work`` ends in time."""
    try:
        async with asyncio.timeout(seconds):
            await work
    except TimeoutError:
        return False
    return True


def _present_and(test: Callable[[Plain], bool]) -> Holds:
    return lambda plain: plain is not None and bool(test(plain))


def _plain(obj: Any) -> Plain:
    """Return an object as the API shows it."""
    plain: Plain = codec.to_plain(obj)
    group, version, kind = obj.group_version_kind
    return {"apiVersion": f"{group}/{version}" if group else version, "kind": kind} | plain

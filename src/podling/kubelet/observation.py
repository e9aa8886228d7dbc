"""One pod's sandboxes and containers in the runtime at one moment.

An observation is a frozen value that every decision about the pod starts from. Only the pod's worker takes
it, at the start of each pass, so an older one can never replace a newer one. ``sequence`` shows the order to
readers that keep one.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from podling.runtime.base import Container, ContainerState, Runtime, Sandbox

Fingerprint = frozenset[tuple[str, str]]
"""Ids of sandboxes and containers with their states, without order."""


class PodObservation(Struct, frozen=True):
    """A pod's sandboxes and containers, newest first."""

    pod_uid: str
    sequence: int = 0
    sandboxes: tuple[Sandbox, ...] = ()
    containers: tuple[Container, ...] = ()

    def newest(self, name: str) -> Container | None:
        """Return the latest container of that name, in any sandbox."""
        return next((found for found in self.containers if found.name == name), None)

    def instances(self, name: str) -> tuple[Container, ...]:
        """Return every container of that name, newest first."""
        return tuple(found for found in self.containers if found.name == name)

    def newest_exited(self, name: str) -> Container | None:
        """Return the latest ended container of that name; restart back-off counts from its end."""
        return next((found for found in self.instances(name) if found.state is ContainerState.EXITED), None)

    def current(self, name: str) -> Container | None:
        """Return the latest container of that name in the latest sandbox only."""
        if not self.sandboxes:
            return None
        sandbox = self.sandboxes[0].id
        return next((f for f in self.containers if f.name == name and f.sandbox_id == sandbox), None)

    @property
    def sandbox(self) -> Sandbox | None:
        """Return the latest sandbox, ready or not."""
        return self.sandboxes[0] if self.sandboxes else None

    @property
    def ready_sandboxes(self) -> tuple[Sandbox, ...]:
        return tuple(sandbox for sandbox in self.sandboxes if sandbox.ready)

    @property
    def running(self) -> tuple[Container, ...]:
        return tuple(found for found in self.containers if found.state is ContainerState.RUNNING)

    def fingerprint(self) -> Fingerprint:
        """Return ids with states, which a relist compares."""
        return frozenset(
            [(sandbox.id, str(sandbox.ready)) for sandbox in self.sandboxes]
            + [(container.id, container.state.value) for container in self.containers]
        )


def assemble(
    pod_uid: str, sequence: int, sandboxes: Iterable[Sandbox], containers: Iterable[Container]
) -> PodObservation:
    """Return an observation from the runtime's lists, sorted newest first.

    Attempts decide, as they rise also if the clock was set back. By its time a new sandbox would then count
    as older than a lost one, and another one would be created at once, again and again. Upstream: times
    (``kuberuntime_sandbox.go``, ``getSandboxIDByPodUID``).
    """
    ordered = sorted(sandboxes, key=lambda sandbox: (sandbox.attempt, sandbox.created_at), reverse=True)
    newest = sorted(containers, key=lambda found: (found.attempt, found.created_at), reverse=True)
    return PodObservation(pod_uid, sequence, tuple(ordered), tuple(newest))


class Observer:
    """Observes pods in the runtime and numbers the observations."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._sequence = 0

    async def observe(self, pod_uid: str) -> PodObservation:
        """Return an observation of the pod. Raises ``RuntimeFailure``."""
        self._sequence += 1
        sequence = self._sequence
        sandboxes = await self._runtime.list_sandboxes(pod_uid=pod_uid)
        containers: list[Container] = []
        for sandbox in sandboxes:
            containers += await self._runtime.list_containers(sandbox_id=sandbox.id)
        return assemble(pod_uid, sequence, sandboxes, containers)

    async def pod_uids(self) -> frozenset[str]:
        """Return every pod with a sandbox in the runtime. Raises ``RuntimeFailure``."""
        return frozenset(sandbox.pod_uid for sandbox in await self._runtime.list_sandboxes())

    async def fingerprints(self) -> tuple[int, dict[str, Fingerprint]]:
        """Return the number of this observation, and the fingerprint of every pod by UID.

        Raises ``RuntimeFailure``.
        """
        self._sequence += 1
        sequence = self._sequence
        seen: dict[str, set[tuple[str, str]]] = {}
        owner: dict[str, str] = {}
        for sandbox in await self._runtime.list_sandboxes():
            owner[sandbox.id] = sandbox.pod_uid
            seen.setdefault(sandbox.pod_uid, set()).add((sandbox.id, str(sandbox.ready)))
        for container in await self._runtime.list_containers():
            uid = owner.get(container.sandbox_id)
            if uid is not None:
                seen[uid].add((container.id, container.state.value))
        return sequence, {uid: frozenset(marks) for uid, marks in seen.items()}

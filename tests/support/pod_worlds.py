"""A pure model of a runtime's state, in which plans can be carried out.

Checks laws of planning: plans converge, and never contain forbidden actions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from podling.api.core_v1 import Pod
from podling.kubelet.labels import container_annotations
from podling.kubelet.observation import PodObservation, assemble
from podling.kubelet.pod_spec import find_container
from podling.kubelet.pods.actions import PodPlan
from podling.runtime.base import Container, ContainerState, Sandbox

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class World:
    """One pod's sandboxes and containers, changed by plans and by outside events."""

    pod: Pod
    now: datetime = START
    sandboxes: list[Sandbox] = field(default_factory=list)
    containers: list[Container] = field(default_factory=list)
    made: int = 0
    attempts: dict[str, int] = field(default_factory=dict)
    """The number of each container's latest instance, which rises also if the runtime forgets some."""

    @property
    def observed(self) -> PodObservation:
        return assemble(self.pod.metadata.uid or "", 1, self.sandboxes, self.containers)

    def tick(self, seconds: float = 1) -> None:
        self.now += timedelta(seconds=seconds)

    def carry_out(self, plan: PodPlan) -> None:
        """Carry out all actions of the plan successfully."""
        self.tick()
        if plan.reset_all:
            self.containers.clear()
            return
        if plan.kill_pod:
            for running in self.observed.running:
                self.end(running.name, 137)
            self.sandboxes = [replace(sandbox, ready=False) for sandbox in self.sandboxes]
        for kill in plan.kill:
            self.end(kill.name, 137)
        if plan.create_sandbox:
            names = {container.name for container in self.pod.spec.init_containers}
            self.containers = [found for found in self.containers if found.name not in names]
            self.sandboxes.append(self._sandbox(plan.attempt))
        for container in plan.starts:
            self.run(container.name)

    def _sandbox(self, attempt: int) -> Sandbox:
        self.made += 1
        return Sandbox(
            id=f"sandbox-{self.made}",
            pod_uid=self.pod.metadata.uid or "",
            pod_name=self.pod.metadata.name or "",
            pod_namespace="default",
            attempt=attempt,
            ready=True,
            created_at=self.now,
            ips=("10.0.0.1",),
            host_network=bool(self.pod.spec.host_network),
        )

    def run(self, name: str) -> None:
        """Start a new instance of a container in the latest sandbox."""
        self.made += 1
        self.tick(0.001)
        container = find_container(self.pod.spec, name)
        assert container is not None
        attempt = self.attempts[name] = self.attempts.get(name, -1) + 1
        self.containers.append(
            Container(
                id=f"container-{self.made}",
                sandbox_id=self.sandboxes[-1].id,
                name=name,
                attempt=attempt,
                state=ContainerState.RUNNING,
                created_at=self.now,
                started_at=self.now,
                annotations=container_annotations(self.pod, container, attempt, ""),
            )
        )

    def end(self, name: str, exit_code: int) -> None:
        """End a running container."""
        self.containers = [
            replace(found, state=ContainerState.EXITED, exit_code=exit_code, finished_at=self.now)
            if found.name == name and found.state is ContainerState.RUNNING
            else found
            for found in self.containers
        ]

    def lose_power(self) -> None:
        """End everything without an event."""
        for container in self.observed.running:
            self.end(container.name, 255)
        self.sandboxes = [replace(sandbox, ready=False) for sandbox in self.sandboxes]

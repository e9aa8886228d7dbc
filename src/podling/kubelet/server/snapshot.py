"""One measurement of all running pods and containers, for the pages of statistics and metrics."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from podling.kubelet.pods.pod_source import PodSource
from podling.runtime.base import Container, ContainerStats, MeasuresInDetail, Sandbox
from podling.runtime.figures import ContainerFigures, PodFigures

Item = tuple[Sandbox, Container, ContainerStats]


class MeasuredPod(Struct, frozen=True):
    """A pod with its running containers. ``figures`` is None if the runtime does not measure in detail."""

    sandbox: Sandbox
    items: tuple[Item, ...]
    figures: PodFigures | None = None


class UsageSnapshot(Struct, frozen=True):
    """All running containers with their use at one moment."""

    running: tuple[Item, ...]
    containers: dict[str, ContainerFigures] = {}
    """Detailed figures, by container."""
    pods: dict[str, PodFigures] = {}
    """Detailed figures, by sandbox."""

    def by_pod(self) -> dict[str, list[Item]]:
        """Return the containers by sandbox."""
        pods: dict[str, list[Item]] = {}
        for item in self.running:
            pods.setdefault(item[0].id, []).append(item)
        return pods

    def measured_pods(self) -> list[MeasuredPod]:
        """Return the pods that have running containers."""
        found = self.by_pod()
        return [MeasuredPod(items[0][0], tuple(items), self.pods.get(name)) for name, items in found.items()]

    @property
    def at(self) -> datetime | None:
        """Return the moment of the measurement; None if nothing runs."""
        return self.running[0][2].at if self.running else None


async def take_snapshot(source: PodSource, *, detailed: bool = False) -> UsageSnapshot:
    """Measure all running containers; ``detailed``: with all that the kernel counts for them."""
    runtime = source.runtime
    figures = await runtime.stats()
    containers = {container.id: container for container in await runtime.list_containers()}
    sandboxes = {sandbox.id: sandbox for sandbox in await runtime.list_sandboxes()}
    found = []
    for each in figures:
        container = containers.get(each.container_id)
        sandbox = sandboxes.get(container.sandbox_id) if container is not None else None
        if container is not None and sandbox is not None:  # else it went meanwhile
            found.append((sandbox, container, each))
    if not detailed or not isinstance(runtime, MeasuresInDetail):
        return UsageSnapshot(tuple(found))
    detail = await runtime.figures()
    return UsageSnapshot(
        tuple(found),
        {each.container_id: each for each in detail.containers},
        {each.sandbox_id: each for each in detail.pods},
    )

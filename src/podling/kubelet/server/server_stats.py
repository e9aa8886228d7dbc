"""The pods' resource use for ``/stats/summary`` and ``/metrics/resource``.

Both are made from one listing of the runtime. Usage per second is the difference to the listing before, so
it is absent the first time. Shapes and names: ``k8s.io/kubelet/pkg/apis/stats/v1alpha1`` and
``pkg/kubelet/metrics/collectors/resource_metrics.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from podling.kubelet.pods.pod_source import PodSource
from podling.runtime.base import Container, ContainerStats, Sandbox


class CpuUse(msgspec.Struct, rename="camel", omit_defaults=True):
    """CPU use; ``usageNanoCores`` is the rate, absent until it is known."""

    time: datetime
    usage_nano_cores: int | None = None
    usage_core_nano_seconds: int = 0


class MemoryUse(msgspec.Struct, rename="camel"):
    time: datetime
    usage_bytes: int
    working_set_bytes: int


class DiskUse(msgspec.Struct, rename="camel"):
    time: datetime
    used_bytes: int


class ContainerUse(msgspec.Struct, rename="camel"):
    name: str
    start_time: datetime
    cpu: CpuUse
    memory: MemoryUse
    rootfs: DiskUse


class PodReference(msgspec.Struct, rename="camel"):
    name: str
    namespace: str
    uid: str


class ProcessCount(msgspec.Struct):
    process_count: int


class PodUse(msgspec.Struct, rename="camel"):
    pod_ref: PodReference
    start_time: datetime
    containers: list[ContainerUse]
    cpu: CpuUse
    memory: MemoryUse
    process_stats: ProcessCount = msgspec.field(name="process_stats")


class NodeUse(msgspec.Struct, rename="camel"):
    node_name: str


class Summary(msgspec.Struct):
    """The response. It holds no figures of the node itself, only its name."""

    node: NodeUse
    pods: list[PodUse]


class UsageSnapshot(Struct, frozen=True):
    """All running containers with their use at one moment."""

    running: tuple[tuple[Sandbox, Container, ContainerStats], ...]

    def by_pod(self) -> dict[str, list[tuple[Sandbox, Container, ContainerStats]]]:
        pods: dict[str, list[tuple[Sandbox, Container, ContainerStats]]] = {}
        for item in self.running:
            pods.setdefault(item[0].id, []).append(item)
        return pods


async def take_snapshot(source: PodSource) -> UsageSnapshot:
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
    return UsageSnapshot(tuple(found))


def summary(node_name: str, now: UsageSnapshot, before: Mapping[str, ContainerStats]) -> Summary:
    """Return the summary; ``before`` holds the earlier figures by container."""
    return Summary(NodeUse(node_name), [_pod(items, before) for items in now.by_pod().values()])


def _pod(
    items: Sequence[tuple[Sandbox, Container, ContainerStats]], before: Mapping[str, ContainerStats]
) -> PodUse:
    sandbox = items[0][0]
    containers = [_container(container, figures, before.get(container.id)) for _, container, figures in items]
    at = containers[0].cpu.time
    rates = [each.cpu.usage_nano_cores for each in containers]
    known = [rate for rate in rates if rate is not None]
    return PodUse(
        pod_ref=PodReference(sandbox.pod_name, sandbox.pod_namespace, sandbox.pod_uid),
        start_time=sandbox.created_at,
        containers=containers,
        cpu=CpuUse(
            at,
            sum(known) if len(known) == len(rates) else None,
            sum(each.cpu.usage_core_nano_seconds for each in containers),
        ),
        memory=MemoryUse(
            at,
            sum(each.memory.usage_bytes for each in containers),
            sum(each.memory.working_set_bytes for each in containers),
        ),
        process_stats=ProcessCount(sum(figures.processes for _, _, figures in items)),
    )


def _container(container: Container, figures: ContainerStats, before: ContainerStats | None) -> ContainerUse:
    return ContainerUse(
        name=container.name,
        start_time=container.started_at or container.created_at,
        cpu=CpuUse(figures.at, _rate(figures, before), figures.cpu_nanoseconds),
        memory=MemoryUse(figures.at, figures.memory_bytes, figures.memory_working_set_bytes),
        rootfs=DiskUse(figures.at, figures.writable_layer_bytes),
    )


def _rate(now: ContainerStats, before: ContainerStats | None) -> int | None:
    """Return nanoseconds of CPU time per second since ``before``."""
    if before is None:
        return None
    seconds = (now.at - before.at).total_seconds()
    return max(0, int((now.cpu_nanoseconds - before.cpu_nanoseconds) / seconds)) if seconds > 0 else None

"""Measurements of all running containers."""

from __future__ import annotations

from datetime import datetime

from podling import clock
from podling.kubelet.server.snapshot import take_snapshot
from podling.runtime.figures import CgroupFigures, ContainerFigures, PodFigures, RuntimeFigures
from tests.unit.kubelet.server.machines import Source, machine


class Counting:
    """Detailed figures of a simulated machine."""

    def __init__(self, source: Source) -> None:
        self._source = source

    async def figures(self) -> RuntimeFigures:
        at: datetime = clock.now()
        used = CgroupFigures(cpu_nanoseconds=7)
        containers = await self._source.runtime.list_containers()
        return RuntimeFigures(
            at=at,
            pods=tuple(
                PodFigures(sandbox_id=each.id, cgroup="/pod", figures=used)
                for each in await self._source.runtime.list_sandboxes()
            ),
            containers=tuple(
                ContainerFigures(container_id=each.id, cgroup="/pod/main", figures=used)
                for each in containers
            ),
        )


async def test_pods_without_running_containers_are_left_out() -> None:
    found = await take_snapshot(await machine())
    assert [pod.sandbox.pod_name for pod in found.measured_pods()] == ["web"]
    assert [container.name for _, container, _ in found.running] == ["busy", "idle"]


async def test_details_are_measured_only_on_demand() -> None:
    source = await machine()
    source.runtime.figures = Counting(source).figures  # type: ignore[attr-defined]
    plain, detailed = await take_snapshot(source), await take_snapshot(source, detailed=True)
    assert (plain.containers, plain.pods) == ({}, {})
    (pod,) = detailed.measured_pods()
    assert pod.figures is not None
    assert pod.figures.figures.cpu_nanoseconds == 7
    assert set(detailed.containers) == {container.id for _, container, _ in detailed.running}

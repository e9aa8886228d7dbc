"""A day of an autoscaled service on virtual time: nights, a flapping load, cold starts, a spike."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from podling import clock
from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Pod
from podling.controllers.autoscaling.settings import AutoscalerSettings
from podling.testing import ControlPlane
from tests.unit.controllers.autoscaling.test_horizontal import Scene, autoscaled

TARGET, START_USE = 50, 100
"""Millicores of each ready pod that the autoscaler aims at, and of each pod while it starts."""
COLD_START = timedelta(seconds=45)
FIRST_SAMPLE = timedelta(seconds=15)
STEP = 60.0


def load(hours: float) -> int:
    """Return the millicores that the whole service needs at a time of the day."""
    if hours < 6:
        return 100
    if hours < 8:
        return 400 if round(hours * 60) % 4 < 2 else 100
    if hours < 18:
        return 950
    if hours < 20:
        return int(950 - 850 * (hours - 18) / 2)
    return 1000 if round(hours * 60) == 22 * 60 else 100


class Service:
    """The pods of the scene: those that start use much and serve nothing yet."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._started: dict[str, datetime] = {}
        self._ready: set[str] = set()

    async def live(self, demand: int) -> int:
        """Create and end pods as the Deployment wants them; return their number."""
        wanted = await self._scene.replicas()
        for name in sorted(self._started, key=lambda each: int(each[4:]))[wanted:]:
            await self._scene.client.delete(Pod, name, "default", grace_seconds=0)
            self._ready.discard(name)
            del self._started[name]
        for place in range(wanted):
            await self._tend(f"web-{place}")
        status = {"status": {"replicas": wanted}}
        await self._scene.client.patch(Deployment, "web", status, "default", subresource="status")
        share = demand // max(1, len(self._ready))
        measured = sum(clock.now() - started >= FIRST_SAMPLE for started in self._started.values())
        uses = [share if f"web-{place}" in self._ready else START_USE for place in range(measured)]
        self._scene.adapter.cpu(*uses, window="15s")
        return wanted

    async def _tend(self, name: str) -> None:
        now = clock.now()
        if name not in self._started:
            self._started[name] = now
            template = (await self._scene.client.get(Deployment, "web", "default")).spec.template
            await self._scene.client.create(
                Pod(metadata=_metadata(name, template.metadata), spec=template.spec)
            )
            await self._report(name, "False", now)
        elif name not in self._ready and now - self._started[name] >= COLD_START:
            self._ready.add(name)
            await self._report(name, "True", now)

    async def _report(self, name: str, ready: str, at: datetime) -> None:
        condition = {"type": "Ready", "status": ready, "lastTransitionTime": at.isoformat()}
        started = self._started[name].isoformat()
        status = {"phase": "Running", "startTime": started, "conditions": [condition]}
        await self._scene.client.patch(Pod, name, {"status": status}, "default", subresource="status")


def _metadata(name: str, template: Any) -> Any:
    return type(template)(name=name, namespace="default", labels=template.labels)


@pytest.mark.parametrize("with_behavior", [False, True])
async def test_day_of_flapping_and_cold_starts(cluster: ControlPlane, with_behavior: bool) -> None:
    spec: dict[str, Any] = {"minReplicas": 1, "maxReplicas": 30}
    if with_behavior:
        spec["behavior"] = {"scaleDown": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}}
    sizes: list[tuple[float, int]] = []
    async with autoscaled(cluster, 0, AutoscalerSettings(sync_period=STEP)) as scene:
        await scene.client.patch(Deployment, "web", {"spec": {"replicas": 2}}, "default")
        service = Service(scene)
        target = {"type": "AverageValue", "averageValue": f"{TARGET}m"}
        await scene.autoscale({"type": "Resource", "resource": {"name": "cpu", "target": target}}, **spec)
        await cluster.advance(seconds=STEP / 2)  # looks come in the middle of steps
        for step in range(int(24 * 3600 / STEP)):
            hours = step * STEP / 3600
            sizes.append((hours, await service.live(load(hours))))
            await cluster.advance(seconds=STEP)

    def during(begin: float, end: float) -> set[int]:
        return {size for hours, size in sizes if begin <= hours < end}

    assert during(1, 6) == {2}
    assert during(6.5, 8) == {8}, "the highest recommendation of five minutes counts while the load flaps"
    needed = math.ceil(950 / TARGET)
    assert max(during(8, 18)) == needed, "pods that start are no reason for more pods"
    assert during(8.2, 18) == {needed}
    assert during(21, 22) == {2}
    # Without behaviour the recommendation of a spike counts for five minutes, and is approached meanwhile.
    assert max(during(22, 22.3)) == (6 if with_behavior else 1000 // TARGET)
    assert during(22.5, 24) == {2}
    changes = [after - before for (_, before), (_, after) in pairwise(sizes)]
    assert sum(change > 0 for change in changes) <= 12
    assert sum(change < 0 for change in changes) <= 24

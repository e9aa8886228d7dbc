"""Node-pressure eviction: thresholds and ranks as tables, and the story of a node that runs short."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Node, Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.eviction import (
    ContainerUse,
    Observation,
    PodUse,
    Pressure,
    Threshold,
    look,
    message,
    rank,
    refuses,
    thresholds,
)
from podling.runtime.sim import Scenario
from podling.testing import ControlPlane
from tests.support.kubelet_node import NODE, SimNode, condition, pod, sim_node

START = datetime(2026, 1, 1, tzinfo=UTC)
MI = 1 << 20
HARD = Threshold("memory.available", "100Mi")
SOFT = Threshold("memory.available", "10%", timedelta(seconds=60))


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def seen(available_mi: int) -> dict[str, Observation]:
    return {"memory.available": Observation(available_mi * MI, 2000 * MI)}


def test_a_hard_threshold_counts_at_once() -> None:
    pressure = look(Pressure(), [HARD], seen(99), START)
    assert pressure.due(START) == (HARD,)
    assert look(Pressure(), [HARD], seen(101), START).due(START) == ()


def test_a_soft_threshold_counts_after_its_grace_period() -> None:
    pressure = look(Pressure(), [SOFT], seen(150), START)
    assert pressure.due(START) == ()
    pressure = look(pressure, [SOFT], seen(150), at(59))
    assert pressure.due(at(59)) == ()
    assert look(pressure, [SOFT], seen(150), at(60)).due(at(60)) == (SOFT,)
    recovered = look(pressure, [SOFT], seen(500), at(60))
    assert look(recovered, [SOFT], seen(150), at(70)).due(at(70)) == ()


def test_a_condition_stays_for_a_while() -> None:
    pressure = look(Pressure(), [HARD], seen(50), START)
    pressure = look(pressure, [HARD], seen(500), at(10))
    transition = timedelta(minutes=5)
    assert pressure.conditions(at(10), transition) == {"MemoryPressure"}
    assert pressure.conditions(at(301), transition) == frozenset()


def test_thresholds_are_read_from_the_configuration() -> None:
    found = thresholds({"memory.available": "1Gi", "nodefs.available": "0%"}, {}, {})
    assert found == (Threshold("memory.available", "1Gi"),)
    with pytest.raises(ValueError, match="unknown eviction signals: moon"):
        thresholds({"moon.available": "1"}, {}, {})
    with pytest.raises(ValueError, match="without a grace period"):
        thresholds({}, {"memory.available": "1Gi"}, {})


def use(name: str, used: int, request: int = 0, priority: int = 0) -> PodUse:
    requests = {"memory": f"{request}Mi"} if request else {}
    plain = {
        "metadata": {"name": name},
        "spec": {"priority": priority, "containers": [{"name": "app", "resources": {"requests": requests}}]},
    }
    subject = msgspec.convert(plain, Pod)
    return PodUse(subject, (ContainerUse("app", memory=used * MI, processes=used),))


@pytest.mark.parametrize(
    ("uses", "order"),
    [
        ([use("small", 10), use("large", 20)], ["large", "small"]),
        ([use("within", 90, 100), use("above", 20, 10)], ["above", "within"]),
        ([use("dear", 50, priority=9), use("cheap", 10)], ["cheap", "dear"]),
        ([use("critical", 90, priority=2_000_000_000), use("other", 1)], ["other"]),
    ],
)
def test_who_goes_first(uses: list[PodUse], order: list[str]) -> None:
    assert [found.pod.metadata.name for found in rank(uses, "memory.available")] == order


def test_by_processes_only_importance_and_number_count() -> None:
    found = rank([use("few", 5, priority=1), use("many", 50, priority=1), use("cheap", 1)], "pid.available")
    assert [each.pod.metadata.name for each in found] == ["cheap", "many", "few"]


def test_what_an_evicted_pod_is_told() -> None:
    told = message(use("web", 300, 100), HARD, Observation(50 * MI, 2000 * MI))
    assert told == (
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 51200Ki. "
        "Container app was using 307200Ki, request is 100Mi, has larger consumption of memory. "
    )


TOLERANT = {"tolerations": [{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("spec", "conditions", "refused"),
    [
        ({}, [], False),
        ({}, ["MemoryPressure"], True),
        (TOLERANT, ["MemoryPressure"], False),
        (TOLERANT, ["DiskPressure"], True),
        ({"priority": 2_000_000_000}, ["DiskPressure"], False),
    ],
)
def test_whom_a_node_under_pressure_takes(spec: dict[str, Any], conditions: list[str], refused: bool) -> None:
    assert bool(refuses(pod(**spec), frozenset(conditions))) == refused


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    config = KubeletConfig(
        node_addresses=("192.168.0.10",), capacity={"cpu": "4", "memory": "1Gi"}, write_files=False
    )
    async with sim_node(cluster, tmp_path, Scenario(), config) as found:
        yield found


async def test_a_node_that_runs_short_evicts_the_greediest_pod(node: SimNode) -> None:
    await node.create(pod("modest", script={"usage": [{"memoryBytes": 200 * MI}]}))
    await node.create(pod("greedy", script={"usage": [{"after": 30, "memoryBytes": 800 * MI}]}))
    await node.pass_time(25)
    assert (await node.get("greedy")).status.phase == "Running"
    await node.pass_time(25)
    found = await node.get("greedy")
    assert (found.status.phase, found.status.reason) == ("Failed", "Evicted")
    assert condition(found, "DisruptionTarget") == "True TerminationByKubelet"
    assert (await node.get("modest")).status.phase == "Running"
    pressed = {c.type: c.status for c in (await node.client.get(Node, NODE)).status.conditions}
    assert pressed["MemoryPressure"] == "True"
    await node.create(pod("late"))
    await node.pass_time(1)
    late = await node.get("late")
    assert (late.status.phase, late.status.reason) == ("Failed", "Evicted")
    assert late.status.message == "Pod was rejected: The node had condition: [MemoryPressure]. "
    await node.pass_time(320)
    pressed = {c.type: c.status for c in (await node.client.get(Node, NODE)).status.conditions}
    assert pressed["MemoryPressure"] == "False"
    await node.create(pod("later"))
    await node.pass_time(1)
    assert (await node.get("later")).status.phase == "Running"

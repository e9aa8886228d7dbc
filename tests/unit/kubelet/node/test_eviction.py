"""Node-pressure eviction: thresholds as tables, and the story of a node that runs short."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import Node
from podling.kubelet.config import KubeletConfig
from podling.kubelet.node.node_pressure import (
    Observation,
    Pressure,
    Threshold,
    observe_pressure,
    pressure_refusal,
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
    pressure = observe_pressure(Pressure(), [HARD], seen(99), START)
    assert pressure.due(START) == (HARD,)
    assert observe_pressure(Pressure(), [HARD], seen(101), START).due(START) == ()


def test_a_soft_threshold_counts_after_its_grace_period() -> None:
    pressure = observe_pressure(Pressure(), [SOFT], seen(150), START)
    assert pressure.due(START) == ()
    pressure = observe_pressure(pressure, [SOFT], seen(150), at(59))
    assert pressure.due(at(59)) == ()
    assert observe_pressure(pressure, [SOFT], seen(150), at(60)).due(at(60)) == (SOFT,)
    recovered = observe_pressure(pressure, [SOFT], seen(500), at(60))
    assert observe_pressure(recovered, [SOFT], seen(150), at(70)).due(at(70)) == ()


def test_a_condition_stays_for_a_while() -> None:
    pressure = observe_pressure(Pressure(), [HARD], seen(50), START)
    pressure = observe_pressure(pressure, [HARD], seen(500), at(10))
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


REQUESTING = {"name": "setup", "image": "i", "resources": {"requests": {"cpu": "1"}}}
TOLERANT = {"tolerations": [{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("spec", "conditions", "refused"),
    [
        ({}, [], False),
        ({}, ["MemoryPressure"], True),
        (TOLERANT, ["MemoryPressure"], False),
        (TOLERANT, ["DiskPressure"], True),
        ({"priority": 2_000_000_000}, ["DiskPressure"], False),
        ({"resources": {"requests": {"memory": "1Mi"}}}, ["MemoryPressure"], False),
        ({"initContainers": [REQUESTING]}, ["MemoryPressure"], False),
        ({"tolerations": [{**TOLERANT["tolerations"][0], "operator": "Equal"}]}, ["MemoryPressure"], False),
        (
            {"tolerations": [{**TOLERANT["tolerations"][0], "operator": "Equal", "value": "x"}]},
            ["MemoryPressure"],
            True,
        ),
        ({"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]}, ["MemoryPressure"], True),
    ],
)
def test_whom_a_node_under_pressure_takes(spec: dict[str, Any], conditions: list[str], refused: bool) -> None:
    assert bool(pressure_refusal(pod(**spec), frozenset(conditions))) == refused


def test_refusal_lists_the_conditions_as_go_prints_a_list() -> None:
    both = frozenset({"MemoryPressure", "DiskPressure"})
    assert pressure_refusal(pod(), both) == "The node had condition: [DiskPressure MemoryPressure]. "


def test_percentages_are_of_single_precision() -> None:
    assert Threshold("nodefs.available", "15%").limit(67469250560) == 10120387986


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


async def test_eviction_ends_all_containers_after_their_pre_stop_hooks(node: SimNode) -> None:
    """Under a hard threshold the hook has one second."""
    hooked = {"lifecycle": {"preStop": {"sleep": {"seconds": 20}}}}
    containers: list[dict[str, Any]] = [
        {"name": "app", "image": "app:1", **hooked},
        {"name": "other", "image": "app:1"},
    ]
    await node.create(
        pod(containers=containers, script={"usage": [{}, {"after": 15, "memoryBytes": 1000 * MI}]})
    )
    await node.pass_time(15)
    began = {held.name for held in await node.runtime.list_containers()}
    assert began == {"app", "other"}
    await node.pass_time(30)
    found = await node.get()
    assert (found.status.phase, found.status.reason) == ("Failed", "Evicted")
    ended = {held.name: held.state.terminated for held in found.status.container_statuses}
    assert sorted(name for name, state in ended.items() if state is not None) == ["app", "other"]
    app, other = ended["app"], ended["other"]
    assert app is not None
    assert other is not None
    assert app.finished_at is not None
    assert other.finished_at is not None
    assert round((app.finished_at - other.finished_at).total_seconds()) == 1

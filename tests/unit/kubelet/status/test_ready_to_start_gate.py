"""The condition PodReadyToStartContainers with its feature gate on and off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import Pod
from podling.kubelet.config import KubeletConfig
from podling.runtime.sim import Scenario
from podling.testing import ControlPlane
from tests.support.kubelet_node import condition, pod, sim_node

GATE, CONDITION = "PodReadyToStartContainersCondition", "PodReadyToStartContainers"


def config(**gates: bool) -> KubeletConfig:
    return KubeletConfig(node_addresses=("192.168.0.10",), write_files=False, feature_gates=gates)


def shown(subject: Pod) -> tuple[str, str]:
    return condition(subject, CONDITION), condition(subject, "Ready")


@pytest.mark.parametrize(
    ("gates", "life"),
    [
        pytest.param({}, ["False", "True", "False"], id="default"),
        pytest.param({GATE: True}, ["False", "True", "False"], id="on"),
        pytest.param({"PodHasNetworkCondition": True}, ["False", "True", "False"], id="on by its older name"),
        pytest.param({GATE: False}, ["absent", "absent", "absent"], id="off"),
    ],
)
async def test_condition_is_shown_with_its_gate_only(
    cluster: ControlPlane, tmp_path: Path, gates: dict[str, bool], life: list[str]
) -> None:
    """Before the sandbox is made, while the container runs, and after the pod's end."""
    async with sim_node(cluster, tmp_path, Scenario(), config(**gates)) as node:
        scripts: dict[str, dict[str, Any]] = {
            "Pod": {"sandboxSeconds": 5},
            "app": {"runs": [{"seconds": 10}]},
        }
        await node.create(pod(restartPolicy="Never", scripts=scripts))
        await node.pass_time(2)
        found = [shown(await node.get())]
        await node.pass_time(6)
        found.append(shown(await node.get()))
        await node.pass_time(10)
        found.append(shown(await node.get()))
        ready = ["False ContainersNotReady", "True", "False PodCompleted"]
        assert found == list(zip(life, ready, strict=True))


async def test_kubelet_without_the_gate_leaves_the_condition_of_an_earlier_one(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    async with sim_node(cluster, tmp_path, Scenario(), config()) as node:
        await node.create(pod(script={"runs": [{"seconds": 20, "exitCode": 1}, {}]}))
        await node.pass_time(5)
        before = await node.get()
        assert shown(before) == ("True", "True")
        node.deps = structs.replace(node.deps, config=config(**{GATE: False}))
        await node.restart()
        await node.pass_time(20)
        after = await node.get()
        assert after.status.container_statuses[0].restart_count == 1
        assert shown(after) == ("True", "True")
        held = [found for found in before.status.conditions if found.type == CONDITION]
        assert [found for found in after.status.conditions if found.type == CONDITION] == held

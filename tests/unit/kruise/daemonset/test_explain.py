"""``podling why`` for Advanced DaemonSets, on virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import Node, Pod
from podling.controllers.workloads.daemonset_rules import node_of
from podling.runtime.sim import ImageScript, Scenario
from podling.testing import memory_cluster, running
from podling_kruise.extension import KruiseExtension
from tests.support.advanced_sets import DaemonSets, daemon, daemon_rolling
from tests.support.clone_sets import cluster_of, template
from tests.support.control_loops import add_node, bind_pod, make_ready
from tests.support.extension_answers import why
from tests.support.kubelet_node import NODE

KIND = "daemonset.apps.kruise.io"
ABSENT = Scenario(images={"*absent:*": ImageScript(missing=True)})


@pytest.fixture
async def sets() -> AsyncIterator[DaemonSets]:
    """Run a cluster of three nodes without kubelets."""
    extension = KruiseExtension()
    async with (
        memory_cluster(extensions=[extension]) as plane,
        running(plane.client, *extension.controllers().values()),
    ):
        for number in range(1, 4):
            await add_node(plane.client, f"n{number}", type="canary" if number == 2 else "stable")
        yield DaemonSets(plane)


def on_all(image: str = "web:1", **spec: Any) -> dict[str, Any]:
    """Return a DaemonSet of pods that no node's name binds."""
    made = template(image)
    del made["spec"]["nodeName"]
    return daemon(template=made, **spec)


async def settle(sets: DaemonSets) -> None:
    """Bind, start and end pods as a scheduler and kubelets do, until the controller rests."""
    for _ in range(12):
        await sets.wait(1)
        for pod in (await sets.client.list(Pod, "default")).items:
            if pod.metadata.deletion_timestamp is None:
                await bind_pod(sets.plane.client, pod, node_of(pod))
            elif not pod.metadata.finalizers:
                await sets.client.delete(Pod, pod.metadata.name or "", "default", grace_seconds=0)
        await make_ready(sets.plane.client)
    await sets.wait(1)


async def change(sets: DaemonSets, image: str) -> None:
    await sets.patch("v1beta1", template=on_all(image)["spec"]["template"])


async def test_pods_on_all_nodes_are_well(sets: DaemonSets) -> None:
    await sets.create(on_all())
    await settle(sets)
    answer = await why(sets, KIND, "web")
    assert (answer.healthy, answer.reason) == (True, "Ready")
    assert "each of the 3 nodes" in answer.text


async def test_template_that_fits_no_node_is_named(sets: DaemonSets) -> None:
    made = on_all()
    made["spec"]["template"]["spec"]["nodeSelector"] = {"type": "none"}
    await sets.create(made)
    await sets.wait(2)
    answer = await why(sets, KIND, "web")
    assert (answer.healthy, answer.reason) == (False, "NoNodes")


@pytest.mark.parametrize(
    ("strategy", "reason", "healthy"),
    [
        ({"type": "OnDelete"}, "OnDelete", False),
        (daemon_rolling(paused=True), "Paused", False),
        (daemon_rolling(partition=3), "Partition", True),
        (daemon_rolling(selector={"matchLabels": {"type": "canary"}}), "Selector", True),
    ],
    ids=["on delete", "paused", "partition", "selector"],
)
async def test_strategy_that_holds_the_update_back_is_named(
    sets: DaemonSets, strategy: dict[str, Any], reason: str, healthy: bool
) -> None:
    await sets.create(on_all(updateStrategy=strategy))
    await settle(sets)
    await change(sets, "web:2")
    await settle(sets)
    answer = await why(sets, KIND, "web")
    assert (answer.reason, answer.healthy) == (reason, healthy)
    updated = 1 if reason == "Selector" else 0
    assert f"{updated} of 3 pods are of its newest template" in answer.text


async def test_pod_that_is_being_replaced_is_part_of_the_update(sets: DaemonSets) -> None:
    await sets.create(on_all())
    await settle(sets)
    await change(sets, "web:2")
    await sets.wait(2)
    answer = await why(sets, KIND, "web")
    assert (answer.reason, answer.healthy) == ("Updating", False)


async def test_pods_that_the_partition_leaves_out_are_explained(sets: DaemonSets) -> None:
    strategy = daemon_rolling(partition=2)
    await sets.create(on_all(updateStrategy=strategy, scaleStrategy={"partitionedScaling": True}))
    await settle(sets)
    answer = await why(sets, KIND, "web")
    assert (answer.reason, answer.healthy) == ("Partition", True)
    assert answer.text.endswith("1 of 3 nodes have a pod.")


async def test_hook_that_holds_a_pod_is_named(sets: DaemonSets) -> None:
    made = on_all(lifecycle={"preDelete": {"labelsHandler": {"hook": "yes"}}})
    made["spec"]["template"]["metadata"]["labels"]["hook"] = "yes"
    await sets.create(made)
    await settle(sets)
    await sets.patch("v1beta1", template={"spec": {"containers": [{"name": "main", "image": "web:2"}]}})
    await settle(sets)
    answer = await why(sets, KIND, "web")
    assert (answer.reason, answer.evidence[0].name) == ("PreparingDelete", "spec.lifecycle.preDelete")


async def test_refused_pods_are_named(sets: DaemonSets) -> None:
    made = on_all()
    made["spec"]["template"]["spec"]["priorityClassName"] = "absent"
    await sets.create(made)
    await sets.wait(3)
    answer = await why(sets, KIND, "web")
    assert answer.reason == "FailedCreate"
    assert "no PriorityClass with name absent was found" in answer.text


async def test_image_that_cannot_be_pulled_is_named(tmp_path: Path) -> None:
    async with cluster_of(DaemonSets, tmp_path, ABSENT) as sets:
        await sets.client.patch(Node, NODE, {"spec": {"taints": None}})
        await sets.create(daemon(updateStrategy=daemon_rolling("InPlaceIfPossible")))
        await sets.wait(30)
        await sets.change("absent:1")
        await sets.wait(60)
        answer = await why(sets, KIND, "web")
    assert not answer.healthy
    assert answer.text.startswith("DaemonSet web: 1 of 1 pods are of its newest template. Pod web-")
    assert "Its new image cannot be had" in answer.text

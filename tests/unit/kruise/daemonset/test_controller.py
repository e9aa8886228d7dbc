"""Advanced DaemonSets on several nodes, whose pods the tests make ready."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Node
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.daemonset_rules import node_of
from podling.controllers.workloads.revisions import REVISION_LABEL
from podling.testing import memory_cluster, running
from podling_kruise.extension import KruiseExtension
from tests.support.advanced_sets import DaemonSets, daemon, daemon_rolling
from tests.support.clone_sets import template
from tests.support.control_loops import add_node, make_ready


@pytest.fixture
async def sets() -> AsyncIterator[DaemonSets]:
    extension = KruiseExtension()
    async with (
        memory_cluster(extensions=[extension]) as plane,
        running(plane.client, *extension.controllers().values()),
    ):
        for number in range(1, 5):
            kind = "canary" if number == 2 else "stable"
            await add_node(plane.client, f"n{number}", type=kind)
        yield DaemonSets(plane)


def anywhere(image: str = "web:1") -> dict[str, Any]:
    """Return a template without a node's name."""
    made = template(image)
    del made["spec"]["nodeName"]
    return made


def on_all(**spec: Any) -> dict[str, Any]:
    return daemon(template=anywhere(), **spec)


async def settle(sets: DaemonSets, rounds: int = 15) -> dict[str, str]:
    """Make pods ready until the controller rests; return the images by node, in the order of names."""
    for _ in range(rounds):
        await sets.wait(1)
        await make_ready(sets.plane.client)
    await sets.wait(1)
    found = {node_of(pod): pod.spec.containers[0].image for pod in await sets.pods()}
    return dict(sorted(found.items()))


async def test_every_node_that_should_have_a_pod_has_one(sets: DaemonSets) -> None:
    await sets.create(on_all())
    assert list(await settle(sets)) == ["n1", "n2", "n3", "n4"]
    status = (await sets.stored()).status
    assert (status.desired_number_scheduled, status.number_available, status.number_unavailable) == (4, 4, 0)
    await sets.client.delete(Node, "n4")
    await add_node(sets.plane.client, "n5")
    taint = [{"key": "example.com/no", "effect": "NoExecute"}]
    await sets.client.patch(Node, "n1", {"spec": {"taints": taint}})
    nodes = await settle(sets)
    assert {"n2", "n3", "n5"} <= nodes.keys()
    assert "n1" not in nodes


@pytest.mark.parametrize(("node", "desired"), [("n2", ["n2"]), ("absent", [])])
async def test_only_the_node_that_the_template_names_should_have_a_pod(
    sets: DaemonSets, node: str, desired: list[str]
) -> None:
    await sets.create(daemon(template=template(nodeName=node)))
    assert list(await settle(sets, rounds=3)) == desired
    status = (await sets.stored()).status
    assert (status.observed_generation, status.desired_number_scheduled) == (1, len(desired))


async def test_update_goes_to_selected_nodes_and_leaves_the_partition(sets: DaemonSets) -> None:
    canaries = {"matchLabels": {"type": "canary"}}
    await sets.create(on_all(updateStrategy=daemon_rolling(selector=canaries)))
    await settle(sets)
    await sets.patch("v1beta1", template=anywhere("web:2"))
    found = await settle(sets)
    assert [node for node, image in found.items() if image == "web:2"] == ["n2"]
    strategy = {"rollingUpdate": {"selector": None, "partition": 2}}
    await sets.patch("v1beta1", updateStrategy=strategy)
    found = await settle(sets)
    assert sorted(node for node, image in found.items() if image == "web:2") == ["n2", "n4"]
    assert (await sets.stored()).status.updated_number_scheduled == 2
    await sets.patch("v1beta1", updateStrategy={"rollingUpdate": {"partition": 0}})
    assert set((await settle(sets, 25)).values()) == {"web:2"}


async def test_partition_limits_creations_where_it_is_wanted(sets: DaemonSets) -> None:
    strategy = daemon_rolling(partition=3)
    await sets.create(on_all(updateStrategy=strategy, scaleStrategy={"partitionedScaling": True}))
    assert list(await settle(sets)) == ["n1"]
    await sets.patch("v1beta1", updateStrategy={"rollingUpdate": {"partition": 1}})
    assert list(await settle(sets)) == ["n1", "n2", "n3"]


async def test_burst_limits_what_one_run_creates(sets: DaemonSets) -> None:
    await sets.create(on_all(burstReplicas=0))
    assert await settle(sets) == {}
    await sets.patch("v1beta1", burstReplicas="25%")
    assert list(await settle(sets)) == ["n1", "n2", "n3", "n4"]


async def test_surge_makes_a_new_pod_beside_the_old_one(sets: DaemonSets) -> None:
    await sets.create(on_all(updateStrategy=daemon_rolling(maxSurge=1)))
    await settle(sets)
    await sets.patch("v1beta1", template=anywhere("web:2"))
    await sets.wait(1)
    nodes = [node_of(pod) for pod in await sets.pods()]
    assert (len(nodes), len(set(nodes))) == (5, 4)
    assert set((await settle(sets, 25)).values()) == {"web:2"}
    assert len(await sets.pods()) == 4


async def test_old_revisions_are_kept_as_many_as_wanted(sets: DaemonSets) -> None:
    strategy = daemon_rolling(maxUnavailable="100%")
    await sets.create(on_all(revisionHistoryLimit=1, updateStrategy=strategy))
    for number in range(2, 5):
        await settle(sets)
        await sets.patch("v1beta1", template=anywhere(f"web:{number}"))
    await settle(sets)
    found = (await sets.client.list(ControllerRevision, "default")).items
    assert sorted(each.revision for each in found) == [3, 4]


async def test_revisions_that_hold_the_same_become_one_and_pods_stay(sets: DaemonSets) -> None:
    await sets.create(on_all())
    await settle(sets)
    before = [pod.metadata.uid for pod in await sets.pods()]
    (made,) = (await sets.client.list(ControllerRevision, "default")).items
    double = ObjectMeta(
        name="restored",
        namespace="default",
        labels={**made.metadata.labels, REVISION_LABEL: "restored"},
        owner_references=made.metadata.owner_references,
    )
    await sets.client.create(ControllerRevision(metadata=double, data=made.data, revision=7))
    await settle(sets)
    assert len((await sets.client.list(ControllerRevision, "default")).items) == 2
    await sets.patch("v1beta1", minReadySeconds=1)
    await settle(sets)
    after = await sets.pods()
    assert [pod.metadata.uid for pod in after] == before
    assert {pod.metadata.labels[REVISION_LABEL] for pod in after} == {"restored"}
    left = (await sets.client.list(ControllerRevision, "default")).items
    assert [each.metadata.name for each in left] == ["restored"]


@pytest.mark.parametrize(("partition", "updated"), [(1, 3), ("50%", 2), ("100%", 0), (0, 4)])
async def test_partition_is_a_number_or_share_of_pods_that_stay_old(
    sets: DaemonSets, partition: int | str, updated: int
) -> None:
    await sets.create(on_all(updateStrategy=daemon_rolling(partition=partition, maxUnavailable=4)))
    await settle(sets)
    await sets.patch("v1beta1", template=anywhere("web:2"))
    found = await settle(sets, 25)
    assert list(found.values()).count("web:2") == updated
    assert (await sets.stored()).status.updated_number_scheduled == updated

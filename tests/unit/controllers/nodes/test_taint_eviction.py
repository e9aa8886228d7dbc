"""Pods leave tainted nodes: at once, after a while, or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec import to_builtins

from podling.api.core_v1 import Node, Pod, Toleration
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.nodes.taint_eviction import TaintEvictionController
from podling.machinery.conditions import find
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, pod, running, told
from tests.support.counts import samples

TAINT = {"key": "maintenance", "effect": "NoExecute"}


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    await add_node(cluster.client, "n1")
    async with running(cluster.client, TaintEvictionController) as manager:
        yield manager


pytestmark = pytest.mark.usefixtures("manager")


async def taint(cluster: ControlPlane, *taints: dict[str, str]) -> None:
    await cluster.client.patch(Node, "n1", {"spec": {"taints": list(taints) or None}})


async def add_pod(
    cluster: ControlPlane, name: str, seconds: int | None = None, *, forever: bool = False
) -> None:
    """A pod on the node that tolerates the taint for some seconds, for ever, or not at all."""
    one = Toleration(key="maintenance", operator="Exists", effect="NoExecute", toleration_seconds=seconds)
    tolerations = (one,) if forever or seconds is not None else ()
    await cluster.client.create(pod(name, node="n1", tolerations=tolerations))


async def leaving(cluster: ControlPlane) -> list[str]:
    pods = (await cluster.client.list(Pod, "default")).items
    return [each.metadata.name or "" for each in pods if each.metadata.deletion_timestamp is not None]


async def test_a_pod_that_does_not_tolerate_the_taint_leaves_at_once(cluster: ControlPlane) -> None:
    await add_pod(cluster, "stranger")
    await add_pod(cluster, "friend", forever=True)
    await taint(cluster, TAINT)
    await cluster.advance(seconds=1)
    assert await leaving(cluster) == ["stranger"]
    stranger = await cluster.client.get(Pod, "stranger", "default")
    target = find(stranger.status.conditions, "DisruptionTarget")
    assert target is not None
    assert (target.status, target.reason) == ("True", "DeletionByTaintManager")
    assert target.message == "Taint manager: deleting due to NoExecute taint"
    assert await told(cluster.client) == [
        "Normal TaintManagerEviction stranger: Marking for deletion Pod default/stranger"
    ]


async def test_a_pod_leaves_when_its_toleration_runs_out(cluster: ControlPlane) -> None:
    await add_pod(cluster, "patient", 300)
    await taint(cluster, TAINT)
    await cluster.advance(seconds=299)
    assert await leaving(cluster) == []
    await cluster.advance(seconds=2)
    assert await leaving(cluster) == ["patient"]


async def test_a_taint_taken_back_in_time_cancels_the_eviction(cluster: ControlPlane) -> None:
    await add_pod(cluster, "patient", 300)
    await taint(cluster, TAINT)
    await cluster.advance(seconds=200)
    await taint(cluster)
    await cluster.advance(seconds=200)
    assert await leaving(cluster) == []
    assert await told(cluster.client) == [
        "Normal TaintManagerEviction patient: Cancelling deletion of Pod default/patient"
    ]
    # The next taint starts the time anew.
    await taint(cluster, TAINT)
    await cluster.advance(seconds=299)
    assert await leaving(cluster) == []


async def test_second_untolerated_taint_evicts_at_once(cluster: ControlPlane) -> None:
    await add_pod(cluster, "patient", 300)
    await taint(cluster, TAINT)
    await cluster.advance(seconds=100)
    await taint(cluster, TAINT, {"key": "fire", "effect": "NoExecute"})
    await cluster.advance(seconds=1)
    assert await leaving(cluster) == ["patient"]
    assert set(await told(cluster.client)) == {
        "Normal TaintManagerEviction patient: Cancelling deletion of Pod default/patient",
        "Normal TaintManagerEviction patient: Marking for deletion Pod default/patient",
    }


async def test_a_pod_that_comes_to_a_tainted_node_leaves_too(cluster: ControlPlane) -> None:
    await taint(cluster, TAINT)
    await add_pod(cluster, "late")
    await cluster.advance(seconds=1)
    assert await leaving(cluster) == ["late"]


async def test_a_toleration_added_in_time_saves_the_pod(cluster: ControlPlane) -> None:
    await add_pod(cluster, "patient", 300)
    await taint(cluster, TAINT)
    await cluster.advance(seconds=100)
    held = await cluster.client.get(Pod, "patient", "default")
    forever = {"key": "maintenance", "operator": "Exists"}
    tolerations = [forever, *(to_builtins(each) for each in held.spec.tolerations)]
    await cluster.client.patch(Pod, "patient", {"spec": {"tolerations": tolerations}}, "default")
    await cluster.advance(seconds=300)
    assert await leaving(cluster) == []


@pytest.mark.parametrize("key", ["full", "node.kubernetes.io/unschedulable"])
async def test_no_schedule_taints_evict_no_pods(cluster: ControlPlane, key: str) -> None:
    """The second one is that of a cordoned node."""
    await add_pod(cluster, "stranger")
    await taint(cluster, {"key": key, "effect": "NoSchedule"})
    await cluster.advance(minutes=10)
    assert await leaving(cluster) == []


async def test_deadline_stands_when_taints_change(cluster: ControlPlane) -> None:
    await add_pod(cluster, "patient", 300)
    await taint(cluster, TAINT)
    await cluster.advance(seconds=200)
    await taint(cluster, {**TAINT, "value": "other"})
    await cluster.advance(seconds=99)
    assert await leaving(cluster) == []
    await cluster.advance(seconds=2)
    assert await leaving(cluster) == ["patient"]


async def test_deadline_stands_when_the_node_object_goes(cluster: ControlPlane) -> None:
    await add_pod(cluster, "patient", 300)
    await add_pod(cluster, "settled", forever=True)
    await taint(cluster, TAINT)
    await cluster.advance(seconds=200)
    await cluster.client.delete(Node, "n1")
    await cluster.advance(seconds=99)
    assert await leaving(cluster) == []
    await cluster.advance(seconds=2)
    assert await leaving(cluster) == ["patient"]


async def test_pod_deleted_before_its_deadline_is_reported(cluster: ControlPlane) -> None:
    await add_pod(cluster, "patient", 300)
    await taint(cluster, TAINT)
    await cluster.advance(seconds=200)
    await cluster.client.delete(Pod, "patient", "default", grace_seconds=0)
    await cluster.advance(seconds=1)
    assert await told(cluster.client) == [
        "Normal TaintManagerEviction patient: Cancelling deletion of Pod default/patient"
    ]


async def test_pod_made_anew_under_its_name_gets_its_own_deadline(cluster: ControlPlane) -> None:
    await add_pod(cluster, "patient", 300)
    await taint(cluster, TAINT)
    await cluster.advance(seconds=200)
    await cluster.client.delete(Pod, "patient", "default", grace_seconds=0)
    await add_pod(cluster, "patient", 300)
    await cluster.advance(seconds=299)
    assert await leaving(cluster) == []
    await cluster.advance(seconds=2)
    assert await leaving(cluster) == ["patient"]


async def test_toleration_of_no_seconds_evicts_at_once(cluster: ControlPlane) -> None:
    await taint(cluster, TAINT)
    for name, seconds in (("none", 0), ("less", -5), ("some", 5)):
        await add_pod(cluster, name, seconds)
    await cluster.advance(seconds=1)
    assert await leaving(cluster) == ["less", "none"]


async def test_pod_that_is_being_deleted_is_marked_too(cluster: ControlPlane) -> None:
    await add_pod(cluster, "going")
    await cluster.client.delete(Pod, "going", "default")
    await taint(cluster, TAINT)
    await cluster.advance(seconds=1)
    going = await cluster.client.get(Pod, "going", "default")
    assert find(going.status.conditions, "DisruptionTarget") is not None


async def test_metrics_count_deletions_and_their_delay(
    cluster: ControlPlane, manager: ControllerManager
) -> None:
    await add_pod(cluster, "stranger")
    await add_pod(cluster, "patient", 300)
    await taint(cluster, TAINT)
    await cluster.advance(seconds=301)
    name = "taint_eviction_controller_pod_deletion"
    assert samples([manager], f"{name}s_total")[()] == 2
    assert samples([manager], f"{name}_duration_seconds_count")[()] == 2
    assert samples([manager], f"{name}_duration_seconds_sum")[()] < 1

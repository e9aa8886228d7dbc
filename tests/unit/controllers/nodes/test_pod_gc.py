"""Garbage collection of pods: orphaned, unscheduled and terminated pods, not too early."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from msgspec import structs

from podling.api.core_v1 import Node, NodeCondition, NodeSpec, NodeStatus, Pod, PodSpec, PodStatus, Taint
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.nodes.pod_gc import (
    PodGCController,
    missing_nodes,
    never_bound,
    stuck_out_of_service,
    surplus,
)
from podling.controllers.nodes.taints import OUT_OF_SERVICE
from podling.controllers.options import ControllerOptions
from podling.machinery.conditions import find
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, heartbeat, pod, running, set_phase
from tests.support.counts import samples


def ended(name: str, age: int, phase: str = "Succeeded", reason: str = "") -> Pod:
    created = EPOCH - timedelta(seconds=age)
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", creation_timestamp=created),
        status=PodStatus(phase=phase, reason=reason),
    )


def test_limit_is_that_of_kubernetes() -> None:
    assert ControllerOptions().terminated_pod_gc_threshold == 12_500


def test_the_oldest_go_first_but_evicted_ones_before_all() -> None:
    pods = [
        ended("young", 10),
        ended("old", 100),
        ended("evicted", 1, "Failed", "Evicted"),
        ended("busy", 500, "Running"),
        ended("middle", 50),
    ]
    assert [each.metadata.name for each in surplus(pods, 2)] == ["evicted", "old"]
    assert surplus(pods, 4) == []
    assert surplus(pods, 0) == []


# phases of pods from the oldest to the youngest, the number that may stay, and the names that go
# (cases of gc_controller_test.go)
TERMINATED: list[tuple[str, int, str]] = [
    ("FS", 0, ""),
    ("FS", -1, ""),
    ("FS", 1, "a"),
    ("RSF", 1, "b"),
    ("FS", 2, ""),
    ("FS", 5, ""),
    ("PUR", 1, ""),
    ("FSRFS", 2, "ab"),
]
PHASES = {"F": "Failed", "S": "Succeeded", "R": "Running", "P": "Pending", "U": "Unknown"}


@pytest.mark.parametrize(("phases", "keep", "gone"), TERMINATED)
def test_terminated_pods_beyond_the_number_go_oldest_first(phases: str, keep: int, gone: str) -> None:
    pods = [
        ended(name, 100 - age, PHASES[phase])
        for age, (name, phase) in enumerate(zip("abcde", phases, strict=False))
    ]
    assert "".join(each.metadata.name or "" for each in surplus(pods[::-1], keep)) == gone


def test_of_equally_old_pods_the_name_decides_and_evicted_ones_go_first() -> None:
    pods = [ended("c", 1, "Failed"), ended("b", 1), ended("a", 1), ended("d", 1, "Failed", "Evicted")]
    assert [each.metadata.name for each in surplus(pods, 1)] == ["d", "a", "b"]


def bound(phase: str, node: str, *, deleted: bool) -> Pod:
    metadata = ObjectMeta(name="p", namespace="default", deletion_timestamp=EPOCH if deleted else None)
    return Pod(metadata=metadata, spec=PodSpec(node_name=node), status=PodStatus(phase=phase))


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded", "Failed"])
@pytest.mark.parametrize(
    ("node", "deleted", "gone"), [("", True, True), ("", False, False), ("n", True, False)]
)
def test_pod_that_was_never_bound_goes_once_it_is_deleted(
    phase: str, node: str, *, deleted: bool, gone: bool
) -> None:
    held = bound(phase, node, deleted=deleted)
    assert never_bound([held]) == ([held] if gone else [])


# whether the node exists, is Ready, has the taint, whether the pod is being deleted, and whether it goes
OUTAGES = [
    (True, False, True, True, True),
    (True, False, True, False, False),
    (True, False, False, True, False),
    (True, True, True, True, False),
    (False, False, True, True, False),
]


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded", "Failed"])
@pytest.mark.parametrize(("exists", "ready", "tainted", "deleted", "gone"), OUTAGES)
def test_deleted_pod_goes_from_an_unready_node_that_is_out_of_service(
    phase: str, *, exists: bool, ready: bool, tainted: bool, deleted: bool, gone: bool
) -> None:
    taints = (Taint(key=OUT_OF_SERVICE, effect="NoExecute"),) if tainted else ()
    condition = NodeCondition(type="Ready", status="True" if ready else "False")
    node = Node(spec=NodeSpec(taints=taints), status=NodeStatus(conditions=(condition,)))
    held = bound(phase, "n", deleted=deleted)
    assert stuck_out_of_service([held], {"n": node} if exists else {}) == ([held] if gone else [])


def test_a_node_is_missed_from_when_it_was_first_missed() -> None:
    bound = Pod(spec=PodSpec(node_name="gone"))
    first = missing_nodes([bound], {}, {}, EPOCH)
    assert (dict(first.since), first.overdue) == ({"gone": EPOCH}, ())
    later = missing_nodes([bound], {}, first.since, EPOCH + timedelta(seconds=40))
    assert later.overdue == ("gone",)
    back = missing_nodes([bound], {"gone": Node()}, later.since, EPOCH + timedelta(seconds=60))
    assert dict(back.since) == {}


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, PodGCController) as manager:
        yield manager


async def names(cluster: ControlPlane) -> list[str]:
    return [each.metadata.name or "" for each in (await cluster.client.list(Pod, "default")).items]


@pytest.mark.usefixtures("manager")
async def test_orphaned_pods_go_after_their_node_was_missed_for_a_while(cluster: ControlPlane) -> None:
    await add_node(cluster.client, "n1")
    await cluster.client.create(pod("orphan", node="n1"))
    await cluster.client.create(pod("unbound"))
    await cluster.advance(minutes=2)
    await cluster.client.delete(Node, "n1")
    await cluster.advance(seconds=39)
    assert await names(cluster) == ["orphan", "unbound"]
    await cluster.advance(seconds=25)
    assert await names(cluster) == ["unbound"]


@pytest.mark.usefixtures("manager")
async def test_orphaned_pod_fails_with_reason_before_deletion(cluster: ControlPlane) -> None:
    """Seen through its own finalizer, which keeps it from going."""
    held = pod("orphan", node="never-was")
    metadata = structs.replace(held.metadata, finalizers=("example.com/hold",))
    await cluster.client.create(structs.replace(held, metadata=metadata))
    await cluster.advance(minutes=2)
    orphan = await cluster.client.get(Pod, "orphan", "default")
    target = find(orphan.status.conditions, "DisruptionTarget")
    assert orphan.status.phase == "Failed"
    assert target is not None
    assert (target.reason, target.message) == ("DeletionByPodGC", "PodGC: node no longer exists")
    assert orphan.metadata.deletion_timestamp is not None


@pytest.mark.usefixtures("manager")
async def test_a_node_that_comes_back_keeps_its_pods(cluster: ControlPlane) -> None:
    await cluster.client.create(pod("p", node="n1"))
    await cluster.advance(seconds=30)
    await add_node(cluster.client, "n1")
    await cluster.advance(minutes=5)
    assert await names(cluster) == ["p"]


@pytest.mark.usefixtures("manager")
async def test_terminating_pods_of_a_node_out_of_service_go_without_their_kubelet(
    cluster: ControlPlane,
) -> None:
    await add_node(cluster.client, "n1", ready="False")
    await cluster.client.create(pod("stuck", node="n1"))
    await cluster.client.delete(Pod, "stuck", "default")
    await cluster.advance(minutes=5)
    assert await names(cluster) == ["stuck"]
    taint = Taint(key="node.kubernetes.io/out-of-service", value="nodeshutdown", effect="NoExecute")
    patch = {"spec": {"taints": [{"key": taint.key, "value": taint.value, "effect": taint.effect}]}}
    await cluster.client.patch(Node, "n1", patch)
    await cluster.advance(seconds=21)
    assert await names(cluster) == []


@pytest.mark.usefixtures("manager")
async def test_terminating_pods_of_a_ready_node_wait_for_their_kubelet(cluster: ControlPlane) -> None:
    await add_node(cluster.client, "n1")
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    await cluster.client.patch(Node, "n1", {"spec": {"taints": [taint]}})
    await cluster.client.create(pod("stuck", node="n1"))
    await cluster.client.delete(Pod, "stuck", "default")
    await cluster.advance(minutes=5)
    assert await names(cluster) == ["stuck"]


@pytest.mark.usefixtures("manager")
async def test_terminating_pods_that_were_never_bound_are_failed_and_removed(cluster: ControlPlane) -> None:
    """A finalizer keeps the pod when it is deleted; without one the API server removes it at once."""
    held = pod("unbound")
    metadata = structs.replace(held.metadata, finalizers=("example.com/hold",))
    await cluster.client.create(structs.replace(held, metadata=metadata))
    await cluster.client.create(pod("wanted"))
    await cluster.client.delete(Pod, "unbound", "default")
    await cluster.advance(seconds=21)
    assert (await cluster.client.get(Pod, "unbound", "default")).status.phase == "Failed"
    assert (await cluster.client.get(Pod, "wanted", "default")).status.phase == "Pending"
    await cluster.client.patch(Pod, "unbound", {"metadata": {"finalizers": None}}, "default")
    await cluster.advance(seconds=21)
    assert await names(cluster) == ["wanted"]


async def test_terminated_pods_beyond_the_limit_go(cluster: ControlPlane) -> None:
    for number in range(4):
        await cluster.client.create(pod(f"p{number}"))
        await cluster.advance(seconds=1)
    for number in range(3):
        await set_phase(cluster.client, f"p{number}", "Succeeded")
    async with running(
        cluster.client,
        lambda context: PodGCController(context, ControllerOptions(terminated_pod_gc_threshold=1)),
    ):
        await cluster.advance(seconds=1)
        assert await names(cluster) == ["p2", "p3"]


async def test_orphan_that_has_ended_keeps_its_status(cluster: ControlPlane) -> None:
    async with running(cluster.client, PodGCController) as manager:
        held = pod("done", node="never-was")
        metadata = structs.replace(held.metadata, finalizers=("example.com/hold",))
        await cluster.client.create(structs.replace(held, metadata=metadata))
        await set_phase(cluster.client, "done", "Succeeded")
        await cluster.advance(minutes=2)
        done = await cluster.client.get(Pod, "done", "default")
        assert done.metadata.deletion_timestamp is not None
        assert done.status.phase == "Succeeded"
        assert find(done.status.conditions, "DisruptionTarget") is None
        assert samples([manager], "pod_gc_collector_force_delete_pods_total")["default", "orphaned"] >= 1
        assert samples([manager], "pod_gc_collector_force_delete_pod_errors_total") == {}


async def test_pass_over_an_unchanged_cluster_looks_at_no_pod(cluster: ControlPlane) -> None:
    async with running(cluster.client, PodGCController) as manager:
        await add_node(cluster.client, "n1")
        await cluster.client.create(pod("fine", node="n1"))
        await cluster.advance(minutes=2)
        (found,) = manager.controllers
        assert isinstance(found, PodGCController)
        assert not found.is_due
        await heartbeat(cluster.client, "n1")
        await cluster.advance(seconds=1)
        assert not found.is_due, "a heartbeat changes nothing for pods"
        await cluster.client.delete(Node, "n1")
        await cluster.advance(minutes=3)
        assert await names(cluster) == []

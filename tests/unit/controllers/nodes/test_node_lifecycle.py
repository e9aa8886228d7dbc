"""A node falls silent and comes back: what happens to its conditions, its taints and its pods."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator

import pytest
from msgspec import structs

from podling import clock
from podling.api.coordination_v1 import Lease, LeaseSpec
from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.nodes.node_lifecycle import NodeLifecycleController
from podling.machinery.conditions import find
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, heartbeat, pod, running, set_phase, told
from tests.support.counts import samples

UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, NodeLifecycleController) as manager:
        yield manager


pytestmark = pytest.mark.usefixtures("manager")


async def taints(client: Client, node: str) -> set[str]:
    return {f"{each.key}:{each.effect}" for each in (await client.get(Node, node)).spec.taints}


async def ready(client: Client, node: str) -> str:
    found = find((await client.get(Node, node)).status.conditions, "Ready")
    assert found is not None
    return found.status


async def pass_time(cluster: ControlPlane, seconds: int, *alive: str, status: str = "True") -> None:
    """Let time pass while the kubelets of these nodes keep reporting."""
    for _ in range(seconds // 10):
        for name in alive:
            await heartbeat(cluster.client, name, ready=status)
        await cluster.advance(seconds=10)


async def test_a_silent_node_becomes_unknown_then_unreachable(cluster: ControlPlane) -> None:
    for name in ("quiet", "healthy"):
        await add_node(cluster.client, name)
    await pass_time(cluster, 50, "healthy")
    assert await ready(cluster.client, "quiet") == "True"
    await pass_time(cluster, 20, "healthy")
    assert await ready(cluster.client, "quiet") == "Unknown"
    assert await taints(cluster.client, "quiet") == {f"{UNREACHABLE}:NoExecute", f"{UNREACHABLE}:NoSchedule"}
    assert await taints(cluster.client, "healthy") == set()
    assert "Normal NodeNotReady quiet: Node quiet status is now: NodeNotReady" in await told(cluster.client)


async def test_old_labels_follow_operating_system_and_architecture(cluster: ControlPlane) -> None:
    """A node registered by hand matches selectors of older manifests, too."""
    await add_node(cluster.client, "n1")
    labels = {"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "plan9", "kubernetes.io/arch": "arm64"}
    await cluster.client.patch(Node, "n1", {"metadata": {"labels": {**labels, "mine": "stays"}}})
    await cluster.advance(seconds=1)
    found = (await cluster.client.get(Node, "n1")).metadata.labels
    old = {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm64"}
    assert {name: found.get(name) for name in (*old, "mine")} == {**old, "mine": "stays"}
    await cluster.client.patch(Node, "n1", {"metadata": {"labels": dict.fromkeys((*labels, *old))}})
    await cluster.advance(seconds=1)
    assert not set(old) & set((await cluster.client.get(Node, "n1")).metadata.labels)


async def test_a_lease_alone_keeps_a_node_alive(cluster: ControlPlane) -> None:
    await add_node(cluster.client, "n1")
    lease = Lease(metadata=ObjectMeta(name="n1", namespace="kube-node-lease"))
    lease = await cluster.client.create(lease)
    for _ in range(12):
        await cluster.advance(seconds=10)
        spec = LeaseSpec(renew_time=clock.now())
        patch = {"spec": {"renewTime": spec.renew_time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}  # type: ignore[union-attr]
        await cluster.client.patch(Lease, "n1", patch, "kube-node-lease")
    assert await ready(cluster.client, "n1") == "True"


@pytest.mark.parametrize("renewals", [1, 4, 9])
@pytest.mark.parametrize("apart", [3.0, 9.7, 26.0])
async def test_node_falls_silent_a_grace_period_after_the_look_that_saw_its_last_renewal(
    cluster: ControlPlane, renewals: int, apart: float
) -> None:
    """Looks follow each 5 s; healthy nodes are not looked at each time, which changes nothing."""
    began = clock.now()
    await add_node(cluster.client, "n1")
    lease = await cluster.client.create(Lease(metadata=ObjectMeta(name="n1", namespace="kube-node-lease")))
    for _ in range(renewals):
        await cluster.advance(seconds=apart)
        spec = LeaseSpec(renew_time=clock.now())
        lease = await cluster.client.update(structs.replace(lease, spec=spec))
    last = (clock.now() - began).total_seconds()
    await cluster.advance(seconds=120)
    found = find((await cluster.client.get(Node, "n1")).status.conditions, "Ready")
    assert found is not None
    assert found.last_transition_time is not None
    assert (found.status, (found.last_transition_time - began).total_seconds()) == (
        "Unknown",
        math.ceil(last / 5) * 5 + 55,
    )


async def test_its_pods_are_marked_not_ready(cluster: ControlPlane) -> None:
    for name in ("quiet", "healthy"):
        await add_node(cluster.client, name)
    for name, node in (("lost", "quiet"), ("fine", "healthy")):
        await cluster.client.create(pod(name, node=node))
        await set_phase(cluster.client, name, "Running", ready=True)
    await pass_time(cluster, 70, "healthy")
    lost = find((await cluster.client.get(Pod, "lost", "default")).status.conditions, "Ready")
    fine = find((await cluster.client.get(Pod, "fine", "default")).status.conditions, "Ready")
    assert lost is not None
    assert fine is not None
    assert (lost.status, fine.status) == ("False", "True")
    assert "Warning NodeNotReady lost: Node is not ready" in await told(cluster.client)


async def test_a_node_that_comes_back_loses_its_taints(cluster: ControlPlane) -> None:
    for name in ("quiet", "healthy"):
        await add_node(cluster.client, name)
    await pass_time(cluster, 80, "healthy")
    assert await taints(cluster.client, "quiet")
    await pass_time(cluster, 20, "healthy", "quiet")
    assert await taints(cluster.client, "quiet") == set()


async def test_a_node_that_says_it_is_not_ready_is_tainted_so(cluster: ControlPlane) -> None:
    for name in ("ill", "healthy"):
        await add_node(cluster.client, name)
    await heartbeat(cluster.client, "ill", ready="False")
    await cluster.advance(seconds=10)
    assert await taints(cluster.client, "ill") == {f"{NOT_READY}:NoExecute", f"{NOT_READY}:NoSchedule"}


async def test_the_kind_of_taint_changes_at_once_when_an_ill_node_falls_silent(cluster: ControlPlane) -> None:
    for name in ("ill", "healthy"):
        await add_node(cluster.client, name)
    await heartbeat(cluster.client, "ill", ready="False")
    await pass_time(cluster, 80, "healthy")
    assert await taints(cluster.client, "ill") == {f"{UNREACHABLE}:NoExecute", f"{UNREACHABLE}:NoSchedule"}


async def test_cordoning_shows_as_a_taint(cluster: ControlPlane) -> None:
    await add_node(cluster.client, "n1")
    await cluster.client.patch(Node, "n1", {"spec": {"unschedulable": True}})
    await cluster.advance(seconds=1)
    assert await taints(cluster.client, "n1") == {"node.kubernetes.io/unschedulable:NoSchedule"}
    await cluster.client.patch(Node, "n1", {"spec": {"unschedulable": None}})
    await cluster.advance(seconds=1)
    assert await taints(cluster.client, "n1") == set()


async def test_the_only_node_of_a_cluster_is_never_evicted(cluster: ControlPlane) -> None:
    """When everything is silent it is us who cannot see."""
    await add_node(cluster.client, "only")
    await cluster.advance(minutes=10)
    assert await ready(cluster.client, "only") == "Unknown"
    assert await taints(cluster.client, "only") == {f"{UNREACHABLE}:NoSchedule"}


async def test_when_all_nodes_go_dark_what_was_tainted_is_untainted(cluster: ControlPlane) -> None:
    for name in ("a", "b"):
        await add_node(cluster.client, name)
    await pass_time(cluster, 80, "b")
    assert f"{UNREACHABLE}:NoExecute" in await taints(cluster.client, "a")
    await cluster.advance(minutes=5)
    for name in ("a", "b"):
        assert await taints(cluster.client, name) == {f"{UNREACHABLE}:NoSchedule"}
    # One comes back; the other gets its full grace again before it is tainted.
    await pass_time(cluster, 40, "b")
    assert f"{UNREACHABLE}:NoExecute" in await taints(cluster.client, "a")


async def test_nodes_of_a_zone_are_tainted_one_in_ten_seconds(cluster: ControlPlane) -> None:
    silent = [f"s{number}" for number in range(4)]
    healthy = [f"h{number}" for number in range(5)]
    for name in silent + healthy:
        await add_node(cluster.client, name)

    async def tainted() -> int:
        return sum([f"{UNREACHABLE}:NoExecute" in await taints(cluster.client, name) for name in silent])

    await pass_time(cluster, 60, *healthy)
    counts = []
    for _ in range(5):
        counts.append(await tainted())
        await pass_time(cluster, 10, *healthy)
    assert counts == [0, 1, 2, 3, 4]


async def test_events_record_registered_and_removed_nodes(cluster: ControlPlane) -> None:
    await add_node(cluster.client, "n1")
    await cluster.advance(seconds=10)
    await cluster.client.delete(Node, "n1")
    await cluster.advance(seconds=10)
    assert await told(cluster.client) == [
        "Normal RegisteredNode n1: Node n1 event: Registered Node n1 in Controller",
        "Normal RemovingNode n1: Node n1 event: Removing Node n1 from Controller",
    ]


async def test_a_pod_bound_to_a_node_that_is_not_ready_is_not_ready(cluster: ControlPlane) -> None:
    await add_node(cluster.client, "n1", ready="False")
    await cluster.client.create(pod("p"))
    await set_phase(cluster.client, "p", "Running", ready=True)
    from podling.api.core_v1 import Binding, ObjectReference

    binding = Binding(metadata=ObjectMeta(name="p"), target=ObjectReference(kind="Node", name="n1"))
    await cluster.client.create_subresource(Pod, "p", "binding", binding, "default")
    await cluster.advance(seconds=1)
    found = find((await cluster.client.get(Pod, "p", "default")).status.conditions, "Ready")
    assert found is not None
    assert found.status == "False"


async def test_node_that_never_reported_counts_as_down(cluster: ControlPlane) -> None:
    """All nodes of the zone are down, so nothing is evicted."""
    await add_node(cluster.client, "ill")
    await cluster.client.create(Node(metadata=ObjectMeta(name="mute")))
    await cluster.advance(seconds=10)
    for _ in range(3):
        await heartbeat(cluster.client, "ill", ready="False")
        await cluster.advance(seconds=10)
    assert f"{NOT_READY}:NoExecute" not in await taints(cluster.client, "ill")


async def test_nodes_have_no_eviction_taints_when_the_controller_first_sees_them(
    cluster: ControlPlane,
) -> None:
    """An eviction that another controller prepared begins anew, at the rate of the zone."""
    for name in ("quiet", "healthy"):
        await add_node(cluster.client, name)
    old = [{"key": UNREACHABLE, "effect": "NoExecute"}, {"key": "mine", "effect": "NoExecute"}]
    await cluster.client.patch(Node, "quiet", {"spec": {"taints": old}})
    await cluster.advance(seconds=6)
    assert await taints(cluster.client, "quiet") == {"mine:NoExecute"}


async def test_metrics_show_zones_and_evictions(cluster: ControlPlane, manager: ControllerManager) -> None:
    for name in ("quiet", "healthy"):
        await add_node(cluster.client, name)
    await pass_time(cluster, 80, "healthy")

    def read(name: str) -> float:
        return samples([manager], f"node_collector_{name}")[("",)]

    assert (read("zone_size"), read("unhealthy_nodes_in_zone"), read("zone_health")) == (2, 1, 50)
    assert read("evictions_total") == 1
    for name in ("quiet", "healthy"):
        await cluster.client.delete(Node, name)
    await cluster.advance(seconds=10)
    assert (read("zone_size"), read("unhealthy_nodes_in_zone"), read("zone_health")) == (0, 0, 100)

"""The whole scheduler against the real API server, on virtual time: what users see happen."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import Binding, Event, Node, ObjectReference, Pod, PodSchedulingGate
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject
from podling.client.requests import User
from podling.machinery.pods import condition
from podling.testing import ControlPlane
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import get, join, kill, node_of, pod, scheduler_for, told

FULL = (
    "0/1 nodes are available: 1 Insufficient cpu. "
    "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
)


async def test_a_pod_waits_for_a_node_and_gets_it(running: ControlPlane) -> None:
    await running.client.create(pod("a"))
    await running.advance(seconds=1)
    waiting = condition(await get(running, "a"), "PodScheduled")
    assert waiting is not None
    assert (waiting.status, waiting.reason) == ("False", "Unschedulable")
    assert waiting.message == "no nodes available to schedule pods"

    await join(running, scheduling.node("n"))
    await running.advance(seconds=1)
    bound = await get(running, "a")
    assert bound.spec.node_name == "n"
    scheduled = condition(bound, "PodScheduled")
    assert scheduled is not None
    assert (scheduled.status, scheduled.reason, scheduled.message) == ("True", "", "")
    said = await told(running, "a")
    assert said[0] == "Warning FailedScheduling no nodes available to schedule pods"
    assert said[-1] == "Normal Scheduled Successfully assigned default/a to n"


async def test_pod_waits_for_full_cluster_until_another_leaves(running: ControlPlane) -> None:
    await join(running, scheduling.node("n", cpu="1"))
    await running.client.create(pod("first"))
    await running.client.create(pod("second"))
    await running.advance(seconds=1)
    refused = condition(await get(running, "second"), "PodScheduled")
    assert refused is not None
    assert refused.message == FULL
    assert await told(running, "second") == [f"Warning FailedScheduling {FULL}"]

    await kill(running, "first")
    await running.advance(seconds=1)
    assert await node_of(running, "second") == "n"


async def test_decisions_count_pods_placed_earlier(running: ControlPlane) -> None:
    """Fifty pods at once, space for twelve: decisions count before the API server has them."""
    for number in range(3):
        await join(running, scheduling.node(f"n{number}", cpu="4"))
    await asyncio.gather(*(running.client.create(pod(f"p{number}")) for number in range(50)))
    await running.advance(seconds=1)
    pods = (await running.client.list(Pod, "default")).items
    taken = [each.spec.node_name for each in pods if each.spec.node_name]
    assert sorted(taken) == sorted(["n0", "n1", "n2"] * 4)


async def test_the_important_are_placed_first(running: ControlPlane) -> None:
    for name, priority in (("low", 1), ("high", 100), ("middle", 10)):
        await running.client.create(pod(name, priority_class_name=f"p{priority}"))
    await running.advance(seconds=1)
    await join(running, scheduling.node("n", cpu="2"))
    await running.advance(seconds=1)
    assert [await node_of(running, name) for name in ("high", "middle", "low")] == ["n", "n", ""]


async def test_a_gated_pod_waits_in_silence_until_its_last_gate_is_gone(running: ControlPlane) -> None:
    await join(running, scheduling.node("n"))
    gates = (PodSchedulingGate(name="a"), PodSchedulingGate(name="b"))
    gated = await running.client.create(pod("gated", scheduling_gates=gates))
    await running.advance(hours=1)
    assert await told(running, "gated") == []
    for left, node in ((gates[1:], ""), ((), "n")):
        gated = structs.replace(gated, spec=structs.replace(gated.spec, scheduling_gates=left))
        gated = await running.client.update(gated)
        assert gated.spec.node_name == ""
        await running.advance(hours=1)
        assert await node_of(running, "gated") == node


async def test_pods_of_another_scheduler_are_not_touched(running: ControlPlane) -> None:
    await join(running, scheduling.node("n"))
    await running.client.create(pod("theirs", scheduler_name="other"))
    await running.advance(minutes=10)
    theirs = await get(running, "theirs")
    assert (theirs.spec.node_name, theirs.status.conditions, await told(running, "theirs")) == ("", (), [])


async def test_cordoned_and_uncordoned(running: ControlPlane) -> None:
    await join(running, scheduling.node("n", unschedulable=True))
    await running.client.create(pod("a"))
    await running.advance(seconds=1)
    assert (await told(running, "a"))[-1] == (
        "Warning FailedScheduling 0/1 nodes are available: 1 node(s) were unschedulable. "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )
    await running.client.patch(Node, "n", {"spec": {"unschedulable": None, "taints": None}})
    await running.advance(seconds=1)
    assert await node_of(running, "a") == "n"


async def test_nothing_happens_while_nothing_changes_but_once_in_five_minutes(running: ControlPlane) -> None:
    """The scheduler sleeps: one look per five minutes, and the same words are one event counted up."""
    await join(running, scheduling.node("n", cpu="1"))
    await running.client.create(pod("big", "2"))
    await running.advance(seconds=1)
    revision = running.store.revision
    await running.advance(seconds=290)
    assert running.store.revision == revision
    await running.advance(minutes=10)
    [event] = [
        event
        for event in (await running.client.list(Event, "default")).items
        if event.involved_object.name == "big" and "Insufficient" in (event.message or "")
    ]
    assert event.count == 3


@pytest.mark.parametrize(
    ("change", "helps"),
    [
        ({"metadata": {"labels": {"disk": "fast"}}}, True),
        ({"metadata": {"labels": {"disk": "slow"}}}, False),
        ({"metadata": {"labels": {"unrelated": "x"}}}, False),
        ({"metadata": {"annotations": {"a": "b"}}}, False),
    ],
    ids=["the label it wants", "another value", "another label", "an annotation"],
)
async def test_only_a_change_that_may_help_is_worth_another_try(
    running: ControlPlane, change: dict[str, Any], helps: bool
) -> None:
    await join(running, scheduling.node("n"))
    await running.client.create(pod("picky", node_selector={"disk": "fast"}))
    await running.advance(seconds=1)
    await running.client.patch(Node, "n", change)
    revision = running.store.revision
    await running.advance(seconds=1)
    if helps:
        assert await node_of(running, "picky") == "n"
    else:
        assert running.store.revision == revision, "the pod was tried again"


async def test_change_of_a_node_that_suited_before_is_not_worth_another_try(running: ControlPlane) -> None:
    await join(running, scheduling.node("full", cpu="1", labels={"disk": "fast"}))
    await join(running, scheduling.node("other"))
    await running.client.create(pod("picky", "2", node_selector={"disk": "fast"}))
    await running.advance(seconds=1)
    await running.client.patch(Node, "full", {"metadata": {"labels": {"unrelated": "x"}}})
    revision = running.store.revision
    await running.advance(seconds=10)
    assert running.store.revision == revision, "the pod was tried again"


async def test_a_pod_that_changes_itself_is_tried_again(running: ControlPlane) -> None:
    await join(running, scheduling.node("n", taints=[scheduling.taint("k")]))
    created = await running.client.create(pod("a"))
    await running.advance(seconds=1)
    tolerations = (*created.spec.tolerations, scheduling.toleration("k"))
    latest = await get(running, "a")
    await running.client.update(
        structs.replace(latest, spec=structs.replace(latest.spec, tolerations=tolerations))
    )
    await running.advance(seconds=1)
    assert await node_of(running, "a") == "n"


async def test_when_binding_fails_it_is_said_and_tried_again_after_a_back_off(cluster: ControlPlane) -> None:
    """A scheduler that may do everything but bind, until an administrator grants that, too."""
    weak = User("weak", ("system:authenticated",))
    rules = [
        PolicyRule(api_groups=("*",), resources=("*",), verbs=("get", "list", "watch")),
        PolicyRule(api_groups=("",), resources=("events", "pods/status"), verbs=("create", "patch")),
    ]
    role = await cluster.client.create(ClusterRole(metadata=ObjectMeta(name="weak"), rules=tuple(rules)))
    await cluster.client.create(
        ClusterRoleBinding(
            metadata=ObjectMeta(name="weak"),
            role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="weak"),
            subjects=(Subject(api_group="rbac.authorization.k8s.io", kind="User", name="weak"),),
        )
    )
    await join(cluster, scheduling.node("n", cpu="1"))
    async with scheduler_for(cluster.client_for(weak)):
        await cluster.client.create(pod("a"))
        await cluster.advance(seconds=1)
        failed = condition(await get(cluster, "a"), "PodScheduled")
        assert failed is not None
        assert (failed.status, failed.reason) == ("False", "SchedulerError")
        assert (failed.message or "").startswith(
            'running Bind plugin "DefaultBinder": pods "a" is forbidden: User "weak" cannot create resource '
            '"pods/binding" in API group "" in the namespace "default"'
        )
        may_bind = PolicyRule(api_groups=("",), resources=("pods/binding",), verbs=("create",))
        await cluster.client.update(structs.replace(role, rules=(*rules, may_bind)))
        await cluster.advance(seconds=10)
        assert await node_of(cluster, "a") == "n"


async def test_pod_bound_by_another_client_is_accepted(running: ControlPlane) -> None:
    """A pod that got its node by another hand is neither bound again nor counted twice."""
    await running.client.create(pod("a"))
    await running.advance(seconds=1)
    target = ObjectReference(kind="Node", name="elsewhere")
    by_hand = Binding(metadata=ObjectMeta(name="a", namespace="default"), target=target)
    await running.client.create_subresource(Pod, "a", "binding", by_hand, "default")
    await join(running, scheduling.node("n"))
    await running.advance(minutes=10)
    assert await node_of(running, "a") == "elsewhere"


async def test_a_scheduler_that_starts_again_goes_on_where_it_stopped(cluster: ControlPlane) -> None:
    await join(cluster, scheduling.node("n", cpu="2"))
    async with scheduler_for(cluster.client):
        await cluster.client.create(pod("first"))
        await cluster.advance(seconds=1)
    await cluster.client.create(pod("second"))
    await cluster.client.create(pod("third"))
    async with scheduler_for(cluster.client):
        await cluster.advance(seconds=1)
    placed = [await node_of(cluster, name) for name in ("first", "second", "third")]
    assert placed.count("n") == 2
    assert placed[0] == "n"


async def test_a_pod_that_is_being_deleted_is_not_placed_any_more(running: ControlPlane) -> None:
    held = pod("held")
    held = structs.replace(held, metadata=structs.replace(held.metadata, finalizers=("example.com/hold",)))
    await running.client.create(held)
    await running.advance(seconds=1)
    await running.client.delete(Pod, "held", "default")
    await join(running, scheduling.node("n"))
    await running.advance(minutes=10)
    assert await node_of(running, "held") == ""
    assert (await told(running, "held"))[-1] == (
        "Warning FailedScheduling skip schedule deleting pod: default/held"
    )


FIRST_POD = """
import asyncio, sys
from msgspec import structs
from podling.api.core_v1 import Container, Node, Pod, PodSpec
from podling.api.meta_v1 import ObjectMeta
from podling.client.informer_factory import InformerFactory
from podling.scheduler.scheduler import Scheduler
from podling.sim import loop
from podling.testing.control_plane import memory_cluster

def pod(name, node):
    spec = PodSpec(containers=(Container(name="c", image="i"),), node_name=node)
    return Pod(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)

def sizes(scheduler):
    [family] = [each for each in scheduler.collect() if each.name == "scheduler_cache_size"]
    return {sample.labels["type"]: sample.value for sample in family.samples}

async def main():
    async with memory_cluster() as cluster:
        informers = InformerFactory(cluster.client)
        scheduler = Scheduler(cluster.client, informers)
        tasks = [asyncio.ensure_future(each.run()) for each in (informers, scheduler)]
        made = await cluster.client.create(Node(metadata=ObjectMeta(name="n")))
        await cluster.client.update(structs.replace(made, spec=structs.replace(made.spec, taints=())))
        await cluster.client.create(pod("static", "n"))
        await cluster.advance(seconds=60)
        assert sizes(scheduler) == {"nodes": 1, "pods": 1, "assumed_pods": 0}, sizes(scheduler)
        assert "numpy" not in sys.modules
        await cluster.client.create(pod("first", ""))
        await cluster.advance(seconds=1)
        assert "numpy" in sys.modules
        assert sizes(scheduler) == {"nodes": 1, "pods": 1, "assumed_pods": 0}, sizes(scheduler)
        refused = await cluster.client.get(Pod, "first", "default")
        assert refused.status.conditions[0].reason == "Unschedulable"
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

loop.run(main())
"""


def test_first_pending_pod_loads_numpy_and_the_plugins() -> None:
    """A pod that has its node does not; the metrics are there before."""
    subprocess.run([sys.executable, "-c", FIRST_POD], check=True)


HUGE = ("1e30", "16Ei", "9223372036854775807", "9223372036854775807000", "1e400", "9E")


async def test_absurd_requests_wait_and_hold_up_nothing(running: ControlPlane) -> None:
    """Stored pods may request any amount, also on a node that they name themselves."""
    await join(running, scheduling.node("n", cpu="1"))
    await running.client.create(pod("first"))
    for position, amount in enumerate(HUGE):
        await running.client.create(pod(f"huge-{position}", cpu=amount, memory=amount))
        await running.client.create(pod(f"bound-{position}", cpu=amount, memory=amount, node_name="n"))
    await running.client.create(pod("second"))
    await running.advance(seconds=1)
    for position in range(len(HUGE)):
        assert await node_of(running, f"huge-{position}") == ""
        await kill(running, f"bound-{position}")
    await kill(running, "first")
    await running.advance(seconds=60)
    assert await node_of(running, "second") == "n"
    assert await node_of(running, "huge-0") == ""

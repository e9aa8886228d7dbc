"""The whole scheduler against the real API server, on virtual time: what users see happen."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Binding, Event, Node, ObjectReference, Pod, PodSchedulingGate
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject
from podling.api.scheduling_v1 import PriorityClass
from podling.client.base import Client, key_of
from podling.client.informer import Informer
from podling.client.informer_factory import InformerFactory
from podling.client.local import User
from podling.machinery.pods import condition
from podling.scheduler.reports import Report, Reporter
from podling.scheduler.scheduler import Scheduler
from podling.testing import ControlPlane
from tests.unit.scheduler import scheduling

SCHEDULER = User("system:kube-scheduler", ("system:authenticated",))
"""The scheduler may do what Kubernetes' policy allows it, and no more."""

FULL = (
    "0/1 nodes are available: 1 Insufficient cpu. "
    "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
)


@asynccontextmanager
async def scheduler_for(client: Client) -> AsyncIterator[None]:
    informers = InformerFactory(client)
    tasks = [asyncio.ensure_future(informers.run())]
    tasks.append(asyncio.ensure_future(Scheduler(client, informers).run()))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def running(cluster: ControlPlane) -> AsyncIterator[ControlPlane]:
    """The cluster with a scheduler in it, and classes for a few priorities."""
    for value in (1, 10, 100, 1000):
        await cluster.client.create(PriorityClass(metadata=ObjectMeta(name=f"p{value}"), value=value))
    async with scheduler_for(cluster.client_for(SCHEDULER)):
        yield cluster


async def join(cluster: ControlPlane, node: Node) -> None:
    """A node that is ready: without the taint that it is born with."""
    created = await cluster.client.create(node)
    await cluster.client.update(
        structs.replace(created, spec=structs.replace(created.spec, taints=node.spec.taints))
    )


def pod(name: str, cpu: str = "1", **spec: Any) -> Pod:
    made = scheduling.pod(name, cpu=cpu, **spec)
    return structs.replace(made, metadata=structs.replace(made.metadata, uid=None))


async def get(cluster: ControlPlane, name: str) -> Pod:
    return await cluster.client.get(Pod, name, "default")


async def node_of(cluster: ControlPlane, name: str) -> str | None:
    return (await get(cluster, name)).spec.node_name


async def told(cluster: ControlPlane, name: str) -> list[str]:
    """What events say about a pod, in order."""
    events = (await cluster.client.list(Event, "default")).items
    about = [event for event in events if event.involved_object.name == name]
    about.sort(key=lambda event: int(event.metadata.resource_version or 0))
    return [f"{event.type} {event.reason} {event.message}" for event in about]


async def kill(cluster: ControlPlane, name: str) -> None:
    """What a kubelet does in the end."""
    await cluster.client.delete(Pod, name, "default", grace_seconds=0)


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
    assert (scheduled.status, scheduled.reason, scheduled.message) == ("True", None, None)
    said = await told(running, "a")
    assert said[0] == "Warning FailedScheduling no nodes available to schedule pods"
    assert said[-1] == "Normal Scheduled Successfully assigned default/a to n"


async def test_a_full_cluster_says_so_and_the_next_to_leave_makes_room(running: ControlPlane) -> None:
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


async def test_no_decision_counts_on_room_that_an_earlier_one_gave_away(running: ControlPlane) -> None:
    """Fifty pods at once, room for twelve: what was decided counts before the API has heard of it."""
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
    assert [await node_of(running, name) for name in ("high", "middle", "low")] == ["n", "n", None]


async def test_a_gated_pod_waits_in_silence_until_its_last_gate_is_gone(running: ControlPlane) -> None:
    await join(running, scheduling.node("n"))
    gates = (PodSchedulingGate(name="a"), PodSchedulingGate(name="b"))
    gated = await running.client.create(pod("gated", scheduling_gates=gates))
    await running.advance(hours=1)
    assert await told(running, "gated") == []
    for left in (gates[1:], ()):
        gated = structs.replace(gated, spec=structs.replace(gated.spec, scheduling_gates=left))
        gated = await running.client.update(gated)
        assert gated.spec.node_name is None
    await running.advance(seconds=1)
    assert await node_of(running, "gated") == "n"


async def test_pods_of_another_scheduler_are_not_touched(running: ControlPlane) -> None:
    await join(running, scheduling.node("n"))
    await running.client.create(pod("theirs", scheduler_name="other"))
    await running.advance(minutes=10)
    theirs = await get(running, "theirs")
    assert (theirs.spec.node_name, theirs.status.conditions, await told(running, "theirs")) == (None, (), [])


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


class TestPreemption:
    @pytest.fixture
    async def full(self, running: ControlPlane) -> ControlPlane:
        await join(running, scheduling.node("n", cpu="1"))
        await running.client.create(pod("low"))
        await running.advance(seconds=1)
        return running

    async def test_the_victim_is_told_and_goes_then_its_place_is_taken(self, full: ControlPlane) -> None:
        high = await full.client.create(pod("high", priority_class_name="p100"))
        await full.advance(seconds=1)

        victim = await get(full, "low")
        assert victim.metadata.deletion_timestamp is not None
        target = condition(victim, "DisruptionTarget")
        assert target is not None
        assert (target.status, target.reason, target.message) == (
            "True",
            "PreemptionByScheduler",
            "default-scheduler: preempting to accommodate a higher priority pod",
        )
        uid = high.metadata.uid
        assert (await told(full, "low"))[-1] == f"Normal Preempted Preempted by pod {uid} on node n"
        waiting = await get(full, "high")
        assert (waiting.spec.node_name, waiting.status.nominated_node_name) == (None, "n")
        assert await told(full, "high") == [
            "Warning FailedScheduling 0/1 nodes are available: 1 Insufficient cpu."
        ]

        await kill(full, "low")
        await full.advance(seconds=1)
        placed = await get(full, "high")
        assert (placed.spec.node_name, placed.status.nominated_node_name) == ("n", None)

    async def test_nobody_less_important_takes_the_place_meanwhile(self, full: ControlPlane) -> None:
        await full.client.create(pod("high", priority_class_name="p100"))
        await full.advance(seconds=1)
        await full.client.create(pod("sneaky"))
        await kill(full, "low")
        await full.advance(seconds=1)
        assert [await node_of(full, name) for name in ("high", "sneaky")] == ["n", None]

    async def test_room_that_nobody_waits_for_any_more_is_for_others(self, full: ControlPlane) -> None:
        await full.client.create(pod("high", priority_class_name="p100"))
        await full.advance(seconds=1)
        await full.client.create(pod("next", priority_class_name="p10"))
        await full.advance(seconds=1)
        low = await get(full, "low")
        assert (await get(full, "next")).status.nominated_node_name is None
        await kill(full, "high")
        await full.advance(seconds=1)
        assert (await get(full, "low")).metadata.uid == low.metadata.uid
        assert (await get(full, "next")).status.nominated_node_name == "n"
        await kill(full, "low")
        await full.advance(seconds=1)
        assert await node_of(full, "next") == "n"

    async def test_somebody_more_important_takes_the_nomination_over(self, full: ControlPlane) -> None:
        await full.client.create(pod("high", priority_class_name="p100"))
        await full.advance(seconds=1)
        await full.client.create(pod("higher", priority_class_name="p1000"))
        await full.advance(seconds=1)
        nominations = [(await get(full, name)).status.nominated_node_name for name in ("high", "higher")]
        assert nominations == [None, "n"]
        await kill(full, "low")
        await full.advance(seconds=1)
        assert [await node_of(full, name) for name in ("higher", "high")] == ["n", None]


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
    """A scheduler that may do everything but bind, until somebody helps it."""
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


async def test_somebody_else_may_bind_a_pod(running: ControlPlane) -> None:
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
    assert await node_of(running, "held") is None
    assert (await told(running, "held"))[-1] == (
        "Warning FailedScheduling skip schedule deleting pod: default/held"
    )


class Distant:
    """A client whose writes to pods take a second on their way: what happens meanwhile, happens first."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def create_subresource(self, *arguments: Any, **options: Any) -> Any:
        await clock.sleep(1)
        return await self._client.create_subresource(*arguments, **options)

    async def delete(self, *arguments: Any, **options: Any) -> Any:
        await clock.sleep(1)
        return await self._client.delete(*arguments, **options)


class SlowToListNodes(Distant):
    """The same, for reading: the nodes are known a second after the pods."""

    async def list(self, kind: type[Any], *arguments: Any, **options: Any) -> Any:
        if kind is Node:
            await clock.sleep(1)
        return await self._client.list(kind, *arguments, **options)


async def test_nothing_is_decided_before_all_is_known(cluster: ControlPlane) -> None:
    await join(cluster, scheduling.node("n"))
    await cluster.client.create(pod("a"))
    async with scheduler_for(cast("Client", SlowToListNodes(cluster.client))):
        await cluster.advance(seconds=5)
    assert await told(cluster, "a") == ["Normal Scheduled Successfully assigned default/a to n"]


async def test_of_several_reports_in_a_row_all_that_is_news_is_written(cluster: ControlPlane) -> None:
    made = await cluster.client.create(pod("a"))
    pods = Informer(cluster.client, Pod)
    reporter = Reporter(cluster.client, pods)
    tasks = [asyncio.ensure_future(pods.run()), asyncio.ensure_future(reporter.run())]
    await pods.synced()
    uid, key = made.metadata.uid or "", key_of(made)
    reporter.report(key, Report(uid, "Unschedulable", "first", nominated="n"))
    reporter.report(key, Report(uid, "Unschedulable", "second"))
    await cluster.advance(seconds=1)
    for task in tasks:
        task.cancel()
    written = await get(cluster, "a")
    scheduled = condition(written, "PodScheduled")
    assert scheduled is not None
    assert (scheduled.message, written.status.nominated_node_name) == ("second", "n")


class TestWhileAWriteIsOnItsWay:
    @pytest.fixture
    async def distant(self, cluster: ControlPlane) -> AsyncIterator[ControlPlane]:
        """Room for one pod, and a scheduler far away."""
        await cluster.client.create(PriorityClass(metadata=ObjectMeta(name="p100"), value=100))
        await join(cluster, scheduling.node("n", cpu="1"))
        async with scheduler_for(cast("Client", Distant(cluster.client))):
            yield cluster

    async def test_a_pod_that_changes_is_not_decided_on_twice(self, distant: ControlPlane) -> None:
        await distant.client.create(pod("a"))
        await distant.advance(seconds=0.5)
        await distant.client.patch(Pod, "a", {"metadata": {"labels": {"new": "yes"}}}, "default")
        await distant.advance(seconds=5)
        assert await node_of(distant, "a") == "n"
        assert await told(distant, "a") == ["Normal Scheduled Successfully assigned default/a to n"]

    async def test_a_pod_that_goes_leaves_its_room(self, distant: ControlPlane) -> None:
        await distant.client.create(pod("a"))
        await distant.advance(seconds=0.5)
        await distant.client.delete(Pod, "a", "default", grace_seconds=0)
        await distant.client.create(pod("b"))
        await distant.advance(seconds=5)
        assert await node_of(distant, "b") == "n"

    async def test_a_pod_that_somebody_else_binds_is_left_to_them(self, distant: ControlPlane) -> None:
        await distant.client.create(pod("a"))
        await distant.advance(seconds=0.5)
        target = ObjectReference(kind="Node", name="elsewhere")
        by_hand = Binding(metadata=ObjectMeta(name="a", namespace="default"), target=target)
        await distant.client.create_subresource(Pod, "a", "binding", by_hand, "default")
        await distant.client.create(pod("b"))
        await distant.advance(seconds=5)
        assert [await node_of(distant, name) for name in ("a", "b")] == ["elsewhere", "n"]
        assert await told(distant, "a") == []

    async def test_a_pod_that_makes_room_is_not_tried_before_all_was_asked_to_go(
        self, distant: ControlPlane
    ) -> None:
        await distant.client.create(pod("low"))
        await distant.advance(seconds=2)
        await distant.client.create(pod("high", priority_class_name="p100"))
        await distant.advance(seconds=0.5)
        await distant.client.patch(Pod, "high", {"metadata": {"labels": {"new": "yes"}}}, "default")
        await distant.advance(seconds=0.4)
        assert await told(distant, "high") == [
            "Warning FailedScheduling 0/1 nodes are available: 1 Insufficient cpu."
        ]
        [event] = [
            event
            for event in (await distant.client.list(Event, "default")).items
            if event.involved_object.name == "high"
        ]
        assert event.count == 1
        await distant.advance(seconds=5)
        await kill(distant, "low")
        await distant.advance(seconds=5)
        assert await node_of(distant, "high") == "n"


def test_numpy_is_not_loaded_before_the_scheduler_runs() -> None:
    script = "import sys, podling.scheduler.scheduler; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

"""A replica set keeps its number of pods, takes in strays, and gives up the right ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from msgspec import structs

from podling import clock
from podling.api.apps_v1 import ReplicaSet, ReplicaSetCondition, ReplicaSetSpec
from podling.api.core_v1 import (
    Container,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    PodTemplateSpec,
)
from podling.api.meta_v1 import LabelSelector, ObjectMeta, OwnerReference
from podling.api.scheduling_v1 import PriorityClass
from podling.client.local import LocalClient
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.owner_references import controller_of
from podling.controllers.pod_state import deletion_cost, removal_order
from podling.controllers.workloads.replicaset import (
    ReplicaSetController,
    deletion_age_ratios,
    numbers_of,
    status_of,
)
from podling.sim.connection import Connection, RequestFault
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane
from tests.support.control_loops import make_ready, pod, running, set_phase, told
from tests.support.counts import samples


def replica_set(replicas: int = 3, **spec: int) -> ReplicaSet:
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "web", "tier": "front"}),
        spec=PodSpec(containers=(Container(name="main", image="busybox"),)),
    )
    return ReplicaSet(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=ReplicaSetSpec(
            replicas=replicas, selector=LabelSelector(match_labels={"app": "web"}), template=template, **spec
        ),
    )


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, ReplicaSetController) as manager:
        yield manager


async def pods(cluster: ControlPlane) -> list[Pod]:
    return list((await cluster.client.list(Pod, "default")).items)


async def names(cluster: ControlPlane) -> list[str]:
    return [each.metadata.name or "" for each in await pods(cluster)]


async def current(cluster: ControlPlane) -> ReplicaSet:
    return await cluster.client.get(ReplicaSet, "web", "default")


async def scale(cluster: ControlPlane, replicas: int) -> None:
    await cluster.client.patch(ReplicaSet, "web", {"spec": {"replicas": replicas}}, "default")
    await cluster.advance(seconds=1)


@pytest.mark.usefixtures("manager")
async def test_it_makes_the_pods_that_are_missing(cluster: ControlPlane) -> None:
    created = await cluster.client.create(replica_set())
    await cluster.advance(seconds=1)
    made = await pods(cluster)
    assert len(made) == 3
    for each in made:
        ref = controller_of(each)
        assert ref is not None
        assert (ref.kind, ref.name, ref.uid) == ("ReplicaSet", "web", created.metadata.uid)
        assert (each.metadata.name or "").startswith("web-")
        assert each.metadata.labels == {"app": "web", "tier": "front"}
    status = (await current(cluster)).status
    assert (status.replicas, status.fully_labeled_replicas, status.ready_replicas) == (3, 3, 0)
    assert (
        sorted(line.split(":")[0] for line in await told(cluster.client))
        == ["Normal SuccessfulCreate web"] * 3
    )


@pytest.mark.usefixtures("manager")
async def test_hundreds_at_once_are_made_exactly_once(cluster: ControlPlane) -> None:
    await cluster.client.create(replica_set(700))
    await cluster.advance(seconds=2)
    assert len(await pods(cluster)) == 700
    await cluster.advance(minutes=5)
    assert len(await pods(cluster)) == 700


@pytest.mark.usefixtures("manager")
async def test_pods_that_become_ready_together_are_reported_together(cluster: ControlPlane) -> None:
    await cluster.client.create(replica_set(100))
    await cluster.advance(seconds=1)
    reported: list[int] = []

    async def follow() -> None:
        async for event in cluster.client.watch(ReplicaSet, "default", resource_version="0"):
            reported.append(event.object.status.ready_replicas)

    watching = asyncio.create_task(follow())
    for each in await pods(cluster):
        status = structs.replace(each.status, conditions=(PodCondition(type="Ready", status="True"),))
        await cluster.client.update(structs.replace(each, status=status), subresource="status")
        await clock.sleep(0)  # the controller has its turn after each pod
    await cluster.advance(seconds=1)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    # One write at the first change, before the others are known, and one with all of them.
    assert len(reported) <= 3
    assert reported[-1] == 100


@pytest.mark.usefixtures("manager")
async def test_terminating_and_evicted_pods_are_not_counted(cluster: ControlPlane) -> None:
    await cluster.client.create(replica_set())
    await cluster.advance(seconds=1)
    going, evicted = [each.metadata.name or "" for each in (await pods(cluster))[:2]]
    await cluster.client.patch(Pod, going, {"metadata": {"finalizers": ["example.com/hold"]}}, "default")
    await cluster.client.delete(Pod, going, "default")
    await set_phase(cluster.client, evicted, "Failed", reason="Evicted")
    await cluster.advance(seconds=1)
    found = {each.metadata.name or "" for each in await pods(cluster)}
    assert len(found - {going, evicted}) == 3
    assert going in found
    assert (await current(cluster)).status.replicas == 3


@pytest.mark.usefixtures("manager")
async def test_lost_pods_are_replaced_and_surplus_pods_deleted(cluster: ControlPlane) -> None:
    await cluster.client.create(replica_set())
    await cluster.advance(seconds=1)
    lost = (await pods(cluster))[0].metadata.name or ""
    await cluster.client.delete(Pod, lost, "default")
    await cluster.advance(seconds=1)
    assert len(await pods(cluster)) == 3
    assert lost not in [each.metadata.name for each in await pods(cluster)]
    await scale(cluster, 1)
    assert len(await pods(cluster)) == 1
    await scale(cluster, 0)
    assert await pods(cluster) == []
    assert (await current(cluster)).status.replicas == 0


@pytest.mark.usefixtures("manager")
async def test_a_pod_that_ended_is_replaced_and_left_to_others(cluster: ControlPlane) -> None:
    await cluster.client.create(replica_set(1))
    await cluster.advance(seconds=1)
    (first,) = await pods(cluster)
    await set_phase(cluster.client, first.metadata.name or "", "Failed")
    await cluster.advance(seconds=1)
    assert sorted(each.status.phase or "" for each in await pods(cluster)) == ["Failed", "Pending"]
    assert (await current(cluster)).status.replicas == 1


@pytest.mark.usefixtures("manager")
async def test_orphans_that_match_are_adopted_and_strays_released(cluster: ControlPlane) -> None:
    await cluster.client.create(pod("orphan", labels={"app": "web"}))
    await cluster.client.create(pod("other", labels={"app": "db"}))
    created = await cluster.client.create(replica_set(1))
    await cluster.advance(seconds=1)
    adopted = await cluster.client.get(Pod, "orphan", "default")
    ref = controller_of(adopted)
    assert ref is not None
    assert ref.uid == created.metadata.uid
    assert len(await pods(cluster)) == 2
    await cluster.client.patch(Pod, "orphan", {"metadata": {"labels": {"app": "debug"}}}, "default")
    await cluster.advance(seconds=1)
    released = await cluster.client.get(Pod, "orphan", "default")
    assert controller_of(released) is None
    assert len(await pods(cluster)) == 3


@pytest.mark.usefixtures("manager")
async def test_ready_pods_count_as_available_after_their_probation(cluster: ControlPlane) -> None:
    await cluster.client.create(replica_set(2, min_ready_seconds=30))
    await cluster.advance(seconds=1)
    await make_ready(cluster.client)
    await cluster.advance(seconds=20)
    status = (await current(cluster)).status
    assert (status.ready_replicas, status.available_replicas) == (2, 0)
    await cluster.advance(seconds=15)
    assert (await current(cluster)).status.available_replicas == 2


@pytest.mark.usefixtures("manager")
async def test_failed_creation_is_reported_and_retried(cluster: ControlPlane) -> None:
    wanted = replica_set(500)
    template = structs.replace(
        wanted.spec.template, spec=structs.replace(wanted.spec.template.spec, priority_class_name="urgent")
    )
    await cluster.client.create(structs.replace(wanted, spec=structs.replace(wanted.spec, template=template)))
    await cluster.advance(seconds=1)
    (failure,) = (await current(cluster)).status.conditions
    assert (failure.type, failure.status, failure.reason) == ("ReplicaFailure", "True", "FailedCreate")
    assert "no PriorityClass with name urgent was found" in (failure.message or "")
    lines = await told(cluster.client)
    assert len(lines) == 1, "one attempt failed, and not five hundred: repeats are counted"
    assert lines[0].startswith("Warning FailedCreate web: Error creating: ")
    await cluster.client.create(PriorityClass(metadata=ObjectMeta(name="urgent"), value=5))
    await cluster.advance(minutes=5)
    assert len(await pods(cluster)) == 500
    assert (await current(cluster)).status.conditions == ()


@pytest.mark.usefixtures("manager")
async def test_pods_of_other_controllers_are_not_counted(cluster: ControlPlane) -> None:
    other = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="x", uid="x", controller=True)
    stray = pod("stray", labels={"app": "web"})
    metadata = structs.replace(stray.metadata, owner_references=(other,))
    await cluster.client.create(structs.replace(stray, metadata=metadata))
    await cluster.client.create(replica_set(2))
    await cluster.advance(seconds=1)
    assert len(await pods(cluster)) == 3
    assert (await cluster.client.get(Pod, "stray", "default")).metadata.owner_references == (other,)


@pytest.mark.usefixtures("manager")
async def test_replica_set_that_is_being_deleted_creates_and_adopts_nothing(cluster: ControlPlane) -> None:
    wanted = replica_set(2)
    held = structs.replace(wanted.metadata, finalizers=("example.com/hold",))
    await cluster.client.create(structs.replace(wanted, metadata=held))
    await cluster.advance(seconds=1)
    await cluster.client.delete(ReplicaSet, "web", "default", propagation="Background")
    await cluster.advance(seconds=1)
    for each in await pods(cluster):
        await cluster.client.delete(Pod, each.metadata.name or "", "default")
    await cluster.client.create(pod("orphan", labels={"app": "web"}))
    await cluster.advance(seconds=5)
    (orphan,) = await pods(cluster)
    assert orphan.metadata.owner_references == ()
    assert (await current(cluster)).status.replicas == 0


async def test_pods_left_behind_are_not_replaced_while_the_deletion_is_unseen(cluster: ControlPlane) -> None:
    """The watch of replica sets is late: the pods are orphans before their owner looks deleted."""
    connection = Connection(lambda: cluster.backend, "controllers")
    connection.faults.append(RequestFault(verb="watch", resource="replicasets", seconds=2))
    async with running(LocalClient(connection), ReplicaSetController):
        await cluster.advance(seconds=3)
        await cluster.client.create(replica_set(2))
        await cluster.advance(seconds=6)
        before = await names(cluster)
        assert len(before) == 2
        await cluster.client.delete(ReplicaSet, "web", "default", propagation="Background")
        for name in before:  # as the garbage collector does it for the propagation "Orphan"
            await cluster.client.patch(Pod, name, {"metadata": {"ownerReferences": None}}, "default")
        await cluster.advance(seconds=1)
        assert await names(cluster) == before
        await cluster.advance(seconds=5)
        assert await names(cluster) == before


def member(name: str, labels: dict[str, str], *, ready: bool = True) -> Pod:
    conditions = (PodCondition(type="Ready", status="True", last_transition_time=EPOCH),) if ready else ()
    metadata = ObjectMeta(name=name, labels=labels, creation_timestamp=EPOCH)
    return Pod(
        metadata=metadata, status=PodStatus(phase="Running" if ready else "Pending", conditions=conditions)
    )


FULL, PART = {"app": "web", "tier": "front"}, {"app": "web"}
# min_ready_seconds, the pods, and replicas, fully labelled, ready and available ones
# (cases of replica_set_utils_test.go)
STATUSES = [
    (0, [member("a", FULL)], (1, 1, 1, 1)),
    (0, [member("a", PART)], (1, 0, 1, 1)),
    (0, [member("a", FULL), member("b", FULL)], (2, 2, 2, 2)),
    (0, [member("a", PART), member("b", PART)], (2, 0, 2, 2)),
    (0, [member("a", PART), member("b", FULL)], (2, 1, 2, 2)),
    (0, [member("a", FULL, ready=False)], (1, 1, 0, 0)),
    (3600, [member("a", FULL)], (1, 1, 1, 0)),
]


@pytest.mark.parametrize(("min_ready", "members", "numbers"), STATUSES)
def test_status_counts_pods(min_ready: int, members: list[Pod], numbers: tuple[int, int, int, int]) -> None:
    held = replica_set(2, min_ready_seconds=min_ready)
    status = status_of(held, numbers_of(held, members, EPOCH), None, EPOCH)
    found = (status.replicas, status.fully_labeled_replicas, status.ready_replicas, status.available_replicas)
    assert found == numbers


FAILED = ReplicaSetCondition(type="ReplicaFailure", status="True", reason="Before")
# the wanted replicas, the conditions before, the number of pods, the failure, and the conditions after
FAILURES: list[tuple[int, tuple[ReplicaSetCondition, ...], int, bool, list[tuple[str, str | None]]]] = [
    (2, (), 1, True, [("FailedCreate", "no")]),
    (2, (), 3, True, [("FailedDelete", "no")]),
    (10, (FAILED,), 1, False, []),
    (10, (FAILED,), 1, True, [("Before", None)]),
    (2, (), 1, False, []),
]


@pytest.mark.parametrize(("wanted", "before", "count", "fails", "after"), FAILURES)
def test_failure_is_a_condition_until_an_attempt_succeeds(
    wanted: int,
    before: tuple[ReplicaSetCondition, ...],
    count: int,
    fails: bool,
    after: list[tuple[str, str | None]],
) -> None:
    held = replica_set(wanted)
    held = structs.replace(held, status=structs.replace(held.status, conditions=before))
    numbers = numbers_of(held, [member(str(number), FULL) for number in range(count)], EPOCH)
    status = status_of(held, numbers, RuntimeError("no") if fails else None, EPOCH)
    found = [(each.reason, each.message or None) for each in status.conditions if each.status == "True"]
    assert found == after


def candidate(
    name: str,
    *,
    node: str = "n1",
    phase: str = "Running",
    ready_for: int | None = 100,
    age: int = 1000,
    restarts: int = 0,
    cost: str = "",
) -> Pod:
    annotations = {"controller.kubernetes.io/pod-deletion-cost": cost} if cost else {}
    conditions: tuple[PodCondition, ...] = ()
    if ready_for is not None:
        since = EPOCH - timedelta(seconds=ready_for)
        conditions = (PodCondition(type="Ready", status="True", last_transition_time=since),)
    return Pod(
        metadata=ObjectMeta(
            name=name,
            uid=name,
            annotations=annotations,
            creation_timestamp=EPOCH - timedelta(seconds=age),
        ),
        spec=PodSpec(node_name=node),
        status=PodStatus(
            phase=phase,
            conditions=conditions,
            container_statuses=(ContainerStatus(name="main", restart_count=restarts),),
        ),
    )


GOOD = candidate("good")


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(candidate("bad", node=""), id="unbound"),
        pytest.param(candidate("bad", phase="Pending"), id="pending"),
        pytest.param(candidate("bad", ready_for=None), id="not ready"),
        pytest.param(candidate("bad", cost="-5"), id="cheap"),
        pytest.param(candidate("bad", ready_for=1), id="ready for a shorter time"),
        pytest.param(candidate("bad", restarts=3), id="restarted more often"),
        pytest.param(candidate("bad", age=10), id="younger"),
    ],
)
def test_removal_order_puts_worse_pod_first(first: Pod) -> None:
    assert removal_order([GOOD, first], [], EPOCH) == [first, GOOD]
    assert removal_order([first, GOOD], [], EPOCH) == [first, GOOD]


def test_of_equal_pods_one_on_a_crowded_node_goes_first() -> None:
    alone, crowded = candidate("a", node="n1"), candidate("b", node="n2")
    related = [alone, crowded, candidate("c", node="n2")]
    assert removal_order([alone, crowded], related, EPOCH) == [crowded, alone]


def test_ages_of_the_same_magnitude_are_equal() -> None:
    """On a logarithmic scale 1000 s and 1010 s are the same: the UID decides, not ten seconds."""
    older, younger = candidate("a", age=1010), candidate("b", age=1000)
    assert removal_order([younger, older], [], EPOCH) == [older, younger]


# ages of the pods in seconds, those to delete first (negative: not ready), how many go, and the multiples
RATIOS: list[tuple[list[int], int, list[int]]] = [
    ([10, 10, 10], 2, [1, 1]),
    ([25, 10, 10], 1, [2]),
    ([25, 10, 39], 2, [2, 1]),
    ([-5, 20, 10], 2, [2]),
    ([30, -5, 20], 1, [1]),
    ([-5, -6], 1, []),
    ([0, 5], 1, []),
    ([], 0, []),
]


@pytest.mark.parametrize(("ages", "count", "ratios"), RATIOS)
def test_age_of_a_deleted_pod_is_a_multiple_of_the_youngest_one(
    ages: list[int], count: int, ratios: list[int]
) -> None:
    ordered = [candidate(str(age), age=abs(age), ready_for=None if age < 0 else 0) for age in ages]
    assert deletion_age_ratios(ordered, count, EPOCH) == ratios


async def test_ages_of_deleted_pods_are_counted(cluster: ControlPlane, manager: ControllerManager) -> None:
    await cluster.client.create(replica_set(2))
    await cluster.advance(seconds=1)
    await make_ready(cluster.client)
    await cluster.advance(seconds=9)
    await scale(cluster, 4)
    await make_ready(cluster.client)
    await scale(cluster, 1)
    name = "replicaset_controller_sorting_deletion_age_ratio"
    assert samples([manager], f"{name}_count") == {(): 3}
    assert samples([manager], f"{name}_bucket")[("1.0",)] == 2
    await scale(cluster, 0)
    assert samples([manager], f"{name}_count") == {(): 3}  # all pods go: none was chosen


@pytest.mark.parametrize(
    ("text", "cost"), [("5", 5), ("-5", -5), ("+5", 0), ("five", 0), ("99999999999", 0), ("", 0)]
)
def test_a_cost_that_is_no_number_is_none(text: str, cost: int) -> None:
    assert deletion_cost(candidate("p", cost=text)) == cost


UNBOUND, WAITING = candidate("unbound", node="", phase="Pending"), candidate("waiting", phase="Pending")
IDLE = candidate("idle", ready_for=None)
FIRST, SECOND = candidate("first", node="n1"), candidate("second", node="n2")
# the pods, related pods, and those that go (cases of TestGetPodsToDelete)
REMOVALS: list[tuple[list[Pod], list[Pod], list[str]]] = [
    ([], [], []),
    ([FIRST, IDLE], [], ["idle"]),
    ([WAITING, UNBOUND], [], ["unbound"]),
    ([FIRST, IDLE, candidate("idle2", ready_for=None)], [], ["idle", "idle2"]),
    ([FIRST, SECOND], [FIRST, SECOND, candidate("third", node="n2")], ["second"]),
    ([WAITING, IDLE], [], ["waiting"]),
    ([FIRST, SECOND, IDLE, WAITING, UNBOUND], [], ["unbound", "waiting", "idle"]),
]


@pytest.mark.parametrize(("members", "related", "gone"), REMOVALS)
def test_surplus_pods_are_those_in_the_earliest_stage(
    members: list[Pod], related: list[Pod], gone: list[str]
) -> None:
    ordered = removal_order(members, related or members, EPOCH)
    assert [each.metadata.name for each in ordered[: len(gone)]] == gone

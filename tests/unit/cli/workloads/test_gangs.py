"""Explanations of pods that wait for others of their pod group, with a scheduler at work."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from podling.api.core_v1 import PodSchedulingGate, PodSchedulingGroup
from podling.api.meta_v1 import ObjectMeta
from podling.api.scheduling_v1 import PriorityClass
from podling.api.scheduling_v1alpha2 import (
    BasicSchedulingPolicy,
    GangSchedulingPolicy,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
)
from podling.cli.evidence import Explanation
from podling.cli.queries import why
from podling.testing.control_plane import ControlPlane, memory_cluster
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import SCHEDULER, join, pod, scheduler_for

GATES = {"GenericWorkload": True, "GangScheduling": True}
GANG = PodSchedulingGroup(pod_group_name="g")


@pytest.fixture
async def cluster() -> AsyncIterator[ControlPlane]:
    """A cluster with pod groups, and a node of four CPUs."""
    async with memory_cluster(feature_gates=GATES) as made:
        await made.client.create(PriorityClass(metadata=ObjectMeta(name="p100"), value=100))
        async with scheduler_for(made.client_for(SCHEDULER), feature_gates=GATES):
            await join(made, scheduling.node("n", cpu="4"))
            yield made


async def add_group(cluster: ControlPlane, minimum: int = 0) -> None:
    policy = (
        PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(min_count=minimum))
        if minimum
        else PodGroupSchedulingPolicy(basic=BasicSchedulingPolicy())
    )
    spec = PodGroupSpec(scheduling_policy=policy)
    await cluster.client.create(PodGroup(metadata=ObjectMeta(name="g", namespace="default"), spec=spec))


async def add_pods(cluster: ControlPlane, **cpus: str) -> None:
    for name, cpu in cpus.items():
        await cluster.client.create(pod(name, cpu, scheduling_group=GANG))
    await cluster.advance(seconds=1)


async def answer(cluster: ControlPlane, name: str) -> Explanation:
    found = await why(cluster.client, "pod", name, "default")
    assert found.area == "scheduler"
    return found


def sources(found: Explanation) -> list[str]:
    return [each.name for each in found.evidence]


async def test_missing_group_is_named(cluster: ControlPlane) -> None:
    await add_pods(cluster, a="1")
    found = await answer(cluster, "a")
    assert found.reason == "PodGroupNotFound"
    assert found.text == "The pod waits for its pod group g, which does not exist."
    assert "kubectl get podgroups -n default" in found.advice
    assert sources(found) == ["spec.schedulingGroup"]


async def test_missing_pods_of_the_group_are_counted(cluster: ControlPlane) -> None:
    await add_group(cluster, 3)
    await cluster.client.create(pod("other", scheduling_group=PodSchedulingGroup(pod_group_name="h")))
    await add_pods(cluster, a="1")
    found = await answer(cluster, "a")
    assert found.reason == "PodGroupIncomplete"
    assert found.text == (
        "The pod waits for its pod group g, which needs 3 pods before any of them is placed, and has 1."
    )
    assert found.advice.startswith("Create the missing 2 pods, with spec.schedulingGroup.podGroupName: g")
    await add_pods(cluster, b="1")
    assert (await answer(cluster, "b")).advice.startswith("Create the missing pod, with")


async def test_pod_that_has_gates_is_explained_by_them(cluster: ControlPlane) -> None:
    gates = (PodSchedulingGate(name="example.com/quota"),)
    await cluster.client.create(pod("a", scheduling_group=GANG, scheduling_gates=gates))
    await cluster.advance(seconds=1)
    assert (await answer(cluster, "a")).reason == "SchedulingGated"


async def test_pod_that_fits_names_those_that_do_not(cluster: ControlPlane) -> None:
    await add_group(cluster, 3)
    await add_pods(cluster, a="1", b="9", c="8")
    found = await answer(cluster, "a")
    assert found.reason == "Unschedulable"
    assert found.text == (
        "A node could take the pod, but its pod group g gets nodes for 3 pods or for none. No node can take "
        "pod b (and 1 more): 0/1 nodes are available: 1 Insufficient cpu."
    )
    assert found.advice.startswith("Lower the pod's requests for cpu, free some, or add a node.")
    assert found.advice.endswith("More: podling why b")
    assert sources(found) == ["PodScheduled", "PodGroupScheduled"]


async def test_pod_that_does_not_fit_has_its_own_reason(cluster: ControlPlane) -> None:
    await add_group(cluster, 2)
    await add_pods(cluster, a="1", b="9")
    found = await answer(cluster, "b")
    assert found.text == (
        "No node can take the pod: 0/1 nodes are available: 1 Insufficient cpu (it requests cpu 9)."
    )
    assert found.advice == "Lower the pod's requests for cpu, free some, or add a node."


async def test_group_that_waits_for_preemption_says_so(cluster: ControlPlane) -> None:
    """Pod a fits beside the unimportant one, pod b only after its end."""
    await cluster.client.create(pod("low", "2"))
    await cluster.advance(seconds=1)
    await add_group(cluster, 2)
    for name in ("a", "b"):
        await cluster.client.create(pod(name, "2", scheduling_group=GANG, priority_class_name="p100"))
    await cluster.advance(seconds=1)
    texts = {name: (await answer(cluster, name)).text for name in ("a", "b")}
    assert texts["a"] == (
        "There is room for the pod on node n, but its pod group g waits until pods of lower priority are "
        "ended, which makes room for its other pods."
    )
    assert texts["b"].endswith("Pods of lower priority are being ended on node n to make room for it.")


async def test_pods_of_a_group_without_gang_have_their_own_reasons(cluster: ControlPlane) -> None:
    await add_group(cluster)
    await add_pods(cluster, a="1", b="9")
    assert (await answer(cluster, "b")).text.startswith("No node can take the pod: ")

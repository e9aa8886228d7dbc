"""Pod groups against the real API server, on virtual time: all of a group gets nodes, or none of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.api.core_v1 import PodSchedulingGroup
from podling.api.meta_v1 import Condition, ObjectMeta
from podling.api.scheduling_v1 import PriorityClass
from podling.api.scheduling_v1alpha2 import (
    BasicSchedulingPolicy,
    GangSchedulingPolicy,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
)
from podling.machinery.pods import condition
from podling.scheduler.configuration.defaults import with_defaults
from podling.scheduler.configuration.types import (
    DEFAULT_SCHEDULER,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
)
from podling.scheduler.scheduler import Scheduler
from podling.testing.control_plane import ControlPlane, memory_cluster
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import SCHEDULER, get, join, kill, node_of, pod, scheduler_for, told

GATES = {"GenericWorkload": True, "GangScheduling": True}
NOT_ENOUGH = "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled"


class Stage:
    """A cluster with a scheduler and pod groups."""

    def __init__(self, cluster: ControlPlane, scheduler: Scheduler) -> None:
        self.cluster, self.scheduler = cluster, scheduler

    async def node(self, name: str, cpu: str) -> None:
        await join(self.cluster, scheduling.node(name, cpu=cpu))

    async def group(self, name: str = "g", minimum: int = 0) -> None:
        policy = (
            PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(min_count=minimum))
            if minimum
            else PodGroupSchedulingPolicy(basic=BasicSchedulingPolicy())
        )
        spec = PodGroupSpec(scheduling_policy=policy)
        await self.cluster.client.create(
            PodGroup(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)
        )

    async def pods(self, *names: str, group: str = "g", **more: Any) -> None:
        for name in names:
            member = PodSchedulingGroup(pod_group_name=group)
            await self.cluster.client.create(pod(name, scheduling_group=member, **more))

    async def nodes(self, *names: str) -> list[str]:
        return [await node_of(self.cluster, name) for name in names]

    async def after(self, seconds: float = 1) -> None:
        await self.cluster.advance(seconds=seconds)

    async def condition(self, name: str = "g") -> tuple[str, str, str]:
        found = await self.cluster.client.get(PodGroup, name, "default")
        [each] = found.status.conditions
        assert isinstance(each, Condition)
        assert each.type == "PodGroupScheduled"
        assert each.observed_generation == 1
        return each.status, each.reason, each.message

    async def message(self, name: str) -> str:
        found = condition(await get(self.cluster, name), "PodScheduled")
        return found.message if found else ""

    def attempts(self) -> dict[str, float]:
        """Return the number of attempts for groups by their result."""
        families = {each.name: each for each in self.scheduler.collect()}
        family = families.get("scheduler_podgroup_schedule_attempts")
        return {each.labels["result"]: each.value for each in family.samples} if family else {}


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with memory_cluster(feature_gates=GATES) as cluster:
        for value in (1, 100):
            await cluster.client.create(PriorityClass(metadata=ObjectMeta(name=f"p{value}"), value=value))
        async with scheduler_for(cluster.client_for(SCHEDULER), feature_gates=GATES) as scheduler:
            yield Stage(cluster, scheduler)


async def test_gang_waits_for_its_group_and_for_enough_pods(stage: Stage) -> None:
    await stage.node("n", "4")
    await stage.pods("a", "b")
    await stage.after()
    assert await stage.nodes("a", "b") == ["", ""]
    await stage.group(minimum=3)
    await stage.after()
    assert await stage.nodes("a", "b") == ["", ""]
    assert stage.attempts() == {}
    await stage.pods("c")
    await stage.after()
    assert await stage.nodes("a", "b", "c") == ["n", "n", "n"]
    assert await stage.condition() == ("True", "Scheduled", "")
    assert stage.attempts() == {"scheduled": 1}
    assert await told(stage.cluster, "a") == ["Normal Scheduled Successfully assigned default/a to n"]


async def test_group_that_comes_last_starts_its_pods(stage: Stage) -> None:
    await stage.node("n", "4")
    await stage.pods("a", "b")
    await stage.after(20)
    await stage.group(minimum=2)
    await stage.after()
    assert await stage.nodes("a", "b") == ["n", "n"]


async def test_gang_that_does_not_fit_gets_no_node(stage: Stage) -> None:
    await stage.node("n", "2")
    await stage.group(minimum=3)
    await stage.pods("a", "b", "c")
    await stage.after()
    assert await stage.nodes("a", "b", "c") == ["", "", ""]
    assert await stage.condition() == ("False", "Unschedulable", "pod group is unschedulable")
    assert [await stage.message(name) for name in ("a", "b")] == [NOT_ENOUGH] * 2
    assert (await stage.message("c")).startswith("0/1 nodes are available: 1 Insufficient cpu.")
    # Other pods may take the capacity.
    await stage.cluster.client.create(pod("single", cpu="2"))
    await stage.after()
    assert await stage.nodes("single", "a") == ["n", ""]
    await stage.node("m", "3")
    await stage.after(20)
    assert await stage.nodes("a", "b", "c") == ["m", "m", "m"]
    assert await stage.condition() == ("True", "Scheduled", "")


async def test_pods_beyond_the_minimum_may_be_left_over(stage: Stage) -> None:
    await stage.node("n", "2")
    await stage.group(minimum=2)
    await stage.pods("a", "b", "c")
    await stage.after()
    found = await stage.nodes("a", "b", "c")
    assert sorted(found) == ["", "n", "n"]
    assert await stage.condition() == ("True", "Scheduled", "")
    # The one that is left over makes no scheduled group unscheduled.
    await stage.after(60)
    assert await stage.condition() == ("True", "Scheduled", "")
    await stage.node("m", "1")
    await stage.after(20)
    assert sorted(await stage.nodes("a", "b", "c")) == ["m", "n", "n"]


async def test_pods_that_have_nodes_count_for_the_minimum(stage: Stage) -> None:
    await stage.node("n", "2")
    await stage.group(minimum=2)
    await stage.pods("a", "b")
    await stage.after()
    await kill(stage.cluster, "a")
    await stage.pods("c")
    await stage.after()
    assert await stage.nodes("b", "c") == ["n", "n"]


async def test_basic_group_is_scheduled_pod_by_pod(stage: Stage) -> None:
    await stage.node("n", "1")
    await stage.group()
    await stage.pods("a", "b")
    await stage.after()
    assert sorted(await stage.nodes("a", "b")) == ["", "n"]
    assert await stage.condition() == ("True", "Scheduled", "")


async def test_pods_of_a_group_go_by_priority(stage: Stage) -> None:
    await stage.node("n", "2")
    await stage.pods("low")
    await stage.pods("middle", priority_class_name="p1")
    await stage.pods("high", priority_class_name="p100")
    await stage.group(minimum=1)
    await stage.after()
    assert await stage.nodes("low", "middle", "high") == ["", "n", "n"]


async def test_gang_preempts_once_all_of_it_would_fit(stage: Stage) -> None:
    await stage.node("n", "2")
    await stage.cluster.client.create(pod("victim", cpu="2", priority_class_name="p1"))
    await stage.after()
    await stage.group("large", minimum=3)
    await stage.pods("a", "b", "c", group="large", priority_class_name="p100")
    await stage.after(30)
    assert (await get(stage.cluster, "victim")).metadata.deletion_timestamp is None
    assert await stage.condition("large") == ("False", "Unschedulable", "pod group is unschedulable")

    await stage.group("small", minimum=2)
    await stage.pods("d", "e", group="small", priority_class_name="p100")
    await stage.after()
    assert (await get(stage.cluster, "victim")).metadata.deletion_timestamp is not None
    text = "pod group is unschedulable, pod group is waiting for preemption to complete"
    assert await stage.condition("small") == ("False", "Unschedulable", text)
    assert stage.attempts()["waiting_on_preemption"] >= 1
    assert [(await get(stage.cluster, name)).status.nominated_node_name for name in "de"] == ["n", "n"]
    await kill(stage.cluster, "victim")
    await stage.after(30)
    assert await stage.nodes("d", "e") == ["n", "n"]
    assert await stage.condition("small") == ("True", "Scheduled", "")


async def test_pods_of_a_group_have_one_profile() -> None:
    profiles = tuple(KubeSchedulerProfile(scheduler_name=name) for name in (DEFAULT_SCHEDULER, "other"))
    configuration = with_defaults(KubeSchedulerConfiguration(profiles=profiles))
    async with memory_cluster(feature_gates=GATES) as cluster:
        client = cluster.client_for(SCHEDULER)
        async with scheduler_for(client, configuration, feature_gates=GATES) as scheduler:
            stage = Stage(cluster, scheduler)
            await stage.node("n", "4")
            await stage.pods("a")
            await stage.pods("b", scheduler_name="other")
            await stage.group(minimum=2)
            await stage.after()
            assert await stage.nodes("a", "b") == ["", ""]
            text = (
                "all pods in a single pod group should have the same .spec.schedulerName set, "
                'got: "other" and "default-scheduler"'
            )
            assert [await stage.message(name) for name in "ab"] == [text, text]


async def test_deleted_group_holds_back_its_pods(stage: Stage) -> None:
    await stage.group(minimum=1)
    await stage.pods("a")
    await stage.after()
    await stage.cluster.client.delete(PodGroup, "g", "default")
    await stage.node("n", "4")
    await stage.after(10)
    assert await stage.nodes("a") == [""]
    await stage.group(minimum=1)
    await stage.after(10)
    assert await stage.nodes("a") == ["n"]

"""The scheduler's metrics: what stories leave in them, by the names that kube-scheduler has."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.api.core_v1 import PersistentVolume, Pod, PodSchedulingGate
from podling.api.meta_v1 import ObjectMeta
from podling.api.scheduling_v1 import PriorityClass
from podling.api.storage_v1 import CSINode, StorageClass
from podling.scheduler.framework import Aspect, ObjectChange, PodEvent
from podling.scheduler.hints import Changes
from podling.scheduler.metrics import (
    ATTEMPT_SECONDS,
    ATTEMPTS,
    LIFE_SECONDS,
    POINT_SECONDS,
    VICTIMS,
    SchedulerMetrics,
)
from podling.scheduler.scheduler import Scheduler
from podling.testing import ControlPlane
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import SCHEDULER, get, join, kill, node_of, pod, scheduler_for

PROFILE = "default-scheduler"


@pytest.fixture
async def at_work(cluster: ControlPlane) -> AsyncIterator[Scheduler]:
    """A scheduler in a cluster with a class for important pods."""
    await cluster.client.create(PriorityClass(metadata=ObjectMeta(name="p100"), value=100))
    async with scheduler_for(cluster.client_for(SCHEDULER)) as scheduler:
        yield scheduler


def samples(scheduler: Scheduler, name: str) -> dict[tuple[str, ...], float]:
    """Return the values of a metric by its labels' values; labels of bounds are left out."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in scheduler.collect()
        for sample in family.samples
        if sample.name == f"scheduler_{name}"
    }


async def test_placed_pod_is_counted_once_everywhere(cluster: ControlPlane, at_work: Scheduler) -> None:
    await join(cluster, scheduling.node("n"))
    await join(cluster, scheduling.node("m"))
    await cluster.advance(seconds=1)
    await cluster.client.create(pod("placed"))
    await cluster.advance(seconds=1)
    assert samples(at_work, "schedule_attempts_total") == {("scheduled", PROFILE): 1}
    assert samples(at_work, "scheduling_attempt_duration_seconds_count") == {("scheduled", PROFILE): 1}
    assert samples(at_work, "scheduling_algorithm_duration_seconds_count") == {(): 1}
    assert samples(at_work, "pod_scheduling_attempts_sum") == {(): 1}
    assert samples(at_work, "pod_scheduling_sli_duration_seconds_count") == {("1",): 1}
    assert samples(at_work, "queue_incoming_pods_total") == {("active", "UnschedulablePodAdd"): 1}
    assert samples(at_work, "framework_extension_point_duration_seconds_count") == {
        (point, "Success", PROFILE): 1
        for point in ("PreEnqueue", "PreFilter", "Filter", "Score", "Reserve", "PreBind", "Bind")
    }
    assert samples(at_work, "cache_size") == {("nodes",): 2, ("pods",): 1, ("assumed_pods",): 0}
    assert samples(at_work, "preemption_attempts_total") == {(): 0}


async def test_single_plugins_are_measured_in_each_tenth_attempt(
    cluster: ControlPlane, at_work: Scheduler
) -> None:
    await join(cluster, scheduling.node("n"))
    await join(cluster, scheduling.node("m"))
    for number in range(19):
        await cluster.client.create(pod(f"p{number}", cpu="1m"))
    await cluster.advance(seconds=1)
    found = samples(at_work, "plugin_execution_duration_seconds_count")
    assert found["NodeResourcesFit", "Filter", "Success"] == 1
    assert found["NodeResourcesFit", "Score", "Success"] == 1
    assert found["NodeAffinity", "PreFilter", "Success"] == 1


async def test_pod_without_node_is_counted_as_unschedulable(
    cluster: ControlPlane, at_work: Scheduler
) -> None:
    await join(cluster, scheduling.node("n", cpu="1"))
    await cluster.client.create(pod("big", cpu="2"))
    await cluster.advance(seconds=1)
    assert samples(at_work, "schedule_attempts_total") == {("unschedulable", PROFILE): 1}
    assert samples(at_work, "pending_pods") == {
        ("active",): 0,
        ("backoff",): 0,
        ("unschedulable",): 1,
        ("gated",): 0,
    }
    assert samples(at_work, "unschedulable_pods") == {("NodeResourcesFit", PROFILE): 1}
    assert samples(at_work, "preemption_attempts_total") == {(): 1}
    points = samples(at_work, "framework_extension_point_duration_seconds_count")
    assert points["PostFilter", "Unschedulable", PROFILE] == 1
    assert samples(at_work, "queue_incoming_pods_total")["unschedulable", "ScheduleAttemptFailure"] == 1

    await join(cluster, scheduling.node("large"))
    await cluster.advance(seconds=30)
    assert samples(at_work, "schedule_attempts_total")["scheduled", PROFILE] == 1
    assert samples(at_work, "unschedulable_pods") == {}
    [(tries, count)] = samples(at_work, "pod_scheduling_sli_duration_seconds_count").items()
    assert int(tries[0]) == samples(at_work, "pod_scheduling_attempts_sum")[()]
    assert (int(tries[0]) > 1, count) == (True, 1)
    woken = {event for (_, event) in samples(at_work, "queue_incoming_pods_total")}
    assert "NodeAdd" in woken


async def test_pod_that_only_time_has_helped_is_counted(cluster: ControlPlane, at_work: Scheduler) -> None:
    await join(cluster, scheduling.node("n", cpu="1"))
    await cluster.client.create(pod("big", cpu="2"))
    await cluster.advance(seconds=1)
    assert at_work._loop is not None
    at_work._loop.cache.set_node(scheduling.node("n", cpu="2"))  # a change that nothing has reported
    await cluster.advance(minutes=6)
    assert await node_of(cluster, "big") == "n"
    assert samples(at_work, "pod_scheduled_after_flush_total") == {(): 1}
    await cluster.client.create(pod("small", cpu="0"))
    await cluster.advance(seconds=1)
    assert samples(at_work, "pod_scheduled_after_flush_total") == {(): 1}


async def test_waiting_for_gates_does_not_count_as_scheduling(
    cluster: ControlPlane, at_work: Scheduler
) -> None:
    await join(cluster, scheduling.node("n"))
    created = await cluster.client.create(pod("gated", scheduling_gates=(PodSchedulingGate(name="g"),)))
    await cluster.advance(hours=1)
    assert samples(at_work, "pending_pods")[("gated",)] == 1
    assert samples(at_work, "unschedulable_pods") == {("SchedulingGates", PROFILE): 1}
    assert samples(at_work, "schedule_attempts_total") == {}
    points = samples(at_work, "framework_extension_point_duration_seconds_count")
    assert points == {("PreEnqueue", "UnschedulableAndUnresolvable", PROFILE): 1}
    assert created.metadata.name
    await cluster.client.patch(type(created), "gated", {"spec": {"schedulingGates": None}}, "default")
    await cluster.advance(seconds=1)
    assert samples(at_work, "schedule_attempts_total") == {("scheduled", PROFILE): 1}
    assert samples(at_work, "pod_scheduling_sli_duration_seconds_sum")[("1",)] < 60
    assert samples(at_work, "queue_incoming_pods_total") == {
        ("unschedulable", "UnschedulablePodAdd"): 1,
        ("active", "UnschedulablePodUpdatePodSchedulingGatesEliminated"): 1,
    }


async def test_preemption_counts_attempt_and_victims(cluster: ControlPlane, at_work: Scheduler) -> None:
    await join(cluster, scheduling.node("n", cpu="2"))
    for name in ("low", "lower"):
        await cluster.client.create(pod(name))
    await cluster.advance(seconds=1)
    await cluster.client.create(pod("high", cpu="2", priority_class_name="p100"))
    await cluster.advance(seconds=1)
    assert samples(at_work, "preemption_attempts_total") == {(): 1}
    assert samples(at_work, "preemption_victims_sum") == {(): 2}
    assert samples(at_work, "preemption_goroutines_execution_total") == {("success",): 1}
    for name in ("low", "lower"):
        await kill(cluster, name)
    await cluster.advance(seconds=1)
    assert samples(at_work, "schedule_attempts_total") == {
        ("scheduled", PROFILE): 3,
        ("unschedulable", PROFILE): 1,
    }


async def test_victims_that_are_being_deleted_are_not_counted(
    cluster: ControlPlane, at_work: Scheduler
) -> None:
    await join(cluster, scheduling.node("n", cpu="1"))
    await cluster.client.create(pod("low"))
    await cluster.advance(seconds=1)
    await cluster.client.delete(Pod, "low", "default")
    await cluster.client.create(pod("high", priority_class_name="p100"))
    await cluster.advance(seconds=1)
    assert (await get(cluster, "high")).status.nominated_node_name == "n"
    assert samples(at_work, "preemption_attempts_total") == {(): 1}
    assert samples(at_work, "preemption_victims_count") == {(): 0}
    assert samples(at_work, "preemption_goroutines_execution_total") == {}
    await kill(cluster, "low")
    await cluster.advance(seconds=1)
    assert await node_of(cluster, "high") == "n"


def test_buckets_are_those_of_kubernetes() -> None:
    assert [ATTEMPT_SECONDS[each] for each in (0, 1, -1)] == [0.001, 0.002, 16.384]
    assert [POINT_SECONDS[each] for each in (0, 1, -1)] == pytest.approx([0.0001, 0.0002, 0.2048])
    assert [LIFE_SECONDS[each] for each in (0, 1, -1)] == pytest.approx([0.01, 0.02, 5242.88])
    assert list(VICTIMS) == [1, 2, 4, 8, 16, 32, 64]
    assert list(ATTEMPTS) == [1, 2, 4, 8, 16]
    assert [len(bounds) for bounds in (ATTEMPT_SECONDS, POINT_SECONDS, LIFE_SECONDS)] == [15, 12, 20]


@pytest.mark.parametrize(
    ("aspects", "event", "label"),
    [
        (Aspect.ADDED, None, "NodeAdd"),
        (Aspect.TAINTS, None, "NodeUpdateNodeTaint"),
        (Aspect.LABELS | Aspect.ALLOCATABLE, None, "NodeUpdateNodeAllocatable"),
        (Aspect.REMOVED, None, "NodeDelete"),
        (Aspect.NONE, PodEvent.DELETED, "AssignedPodDelete"),
        (Aspect.ADDED, PodEvent.LABELS, "AssignedPodUpdatePodLabel"),
    ],
)
def test_changes_have_the_labels_of_cluster_events(
    aspects: Aspect, event: PodEvent | None, label: str
) -> None:
    changes = Changes(scheduling.cache_of(), {})
    changes.node("n", aspects)
    if event is not None:
        changes.pod(event, scheduling.facts(), "n")
    assert changes.label == label


@pytest.mark.parametrize(
    ("new", "old", "label"),
    [
        (StorageClass(), None, "storage.k8s.io/StorageClassAdd"),
        (CSINode(), CSINode(), "storage.k8s.io/CSINodeUpdate"),
        (None, PersistentVolume(), "PersistentVolumeDelete"),
    ],
)
def test_changes_of_objects_have_the_labels_of_cluster_events(new: Any, old: Any, label: str) -> None:
    assert ObjectChange(type(new or old).__name__, new, old).label == label


@pytest.mark.parametrize(
    ("name", "stability"),
    [
        ("cache_size", "ALPHA"),
        ("framework_extension_point_duration_seconds", "STABLE"),
        ("pending_pods", "STABLE"),
        ("permit_wait_duration_seconds", "BETA"),
        ("plugin_execution_duration_seconds", "ALPHA"),
        ("pod_scheduled_after_flush", "ALPHA"),
        ("pod_scheduling_attempts", "STABLE"),
        ("pod_scheduling_sli_duration_seconds", "BETA"),
        ("preemption_attempts", "STABLE"),
        ("preemption_victims", "STABLE"),
        ("queue_incoming_pods", "STABLE"),
        ("schedule_attempts", "STABLE"),
        ("scheduling_attempt_duration_seconds", "STABLE"),
        ("unschedulable_pods", "BETA"),
    ],
)
def test_metric_has_the_stability_that_kubernetes_gives_it(name: str, stability: str) -> None:
    families = {each.name: each.documentation for each in SchedulerMetrics().collect()}
    assert families[f"scheduler_{name}"].startswith(f"[{stability}] ")

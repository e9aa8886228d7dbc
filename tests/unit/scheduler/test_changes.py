"""Changes of nodes and pods that matter to the scheduler."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    ContainerStatus,
    Node,
    NodeCondition,
    Pod,
    PodSchedulingGate,
    ResourceRequirements,
)
from podling.scheduler.changes import (
    counts_differently,
    node_aspects,
    own_change,
    own_change_label,
    placed_pod_event,
)
from podling.scheduler.framework import Aspect, OwnChange, PodEvent
from podling.scheduler.podfacts import facts_of
from tests.unit.scheduler.scheduling import facts, node, pod, taint, toleration

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("new", "aspects"),
    [
        (node("n"), Aspect.NONE),
        (node("n", cpu="8"), Aspect.ALLOCATABLE),
        (node("n", labels={"a": "b"}), Aspect.LABELS),
        (node("n", taints=[taint("k")]), Aspect.TAINTS),
        (node("n", unschedulable=True), Aspect.TAINTS),
        (node("n", cpu="8", unschedulable=True), Aspect.ALLOCATABLE | Aspect.TAINTS),
    ],
)
def test_aspects_of_a_node(new: Node, aspects: Aspect) -> None:
    assert node_aspects(node("n"), new) == aspects


def test_a_heartbeat_means_nothing() -> None:
    old = node("n")
    ready = NodeCondition(type="Ready", status="True", last_heartbeat_time=NOW)
    new = structs.replace(old, status=structs.replace(old.status, conditions=(ready,)))
    assert node_aspects(old, new) is Aspect.NONE


def changed(one: Pod, part: str, **fields: Any) -> Pod:
    return structs.replace(one, **{part: structs.replace(getattr(one, part), **fields)})


BOUND = pod("a", cpu="2", node_name="n")


@pytest.mark.parametrize(
    ("new", "differs"),
    [
        (changed(BOUND, "status", phase="Running", pod_ip="10.0.0.1"), False),
        (changed(BOUND, "metadata", annotations={"a": "b"}), False),
        (changed(BOUND, "metadata", labels={"a": "b"}), True),
        (changed(BOUND, "metadata", deletion_timestamp=NOW), True),
        (changed(BOUND, "spec", containers=pod(cpu="1").spec.containers), True),
        (changed(BOUND, "status", container_statuses=(ContainerStatus(name="c"),)), False),
        (
            changed(
                BOUND,
                "status",
                container_statuses=(
                    ContainerStatus(name="c", resources=ResourceRequirements(requests={"cpu": "3"})),
                ),
            ),
            True,
        ),
    ],
    ids=["status", "annotation", "label", "deletion", "spec", "a status without resources", "resources"],
)
def test_scheduling_fields_count_placed_pod_anew(new: Pod, differs: bool) -> None:
    assert counts_differently(BOUND, new) is differs


@pytest.mark.parametrize(
    ("old", "new", "event"),
    [
        (facts(cpu="1"), facts(cpu="1"), PodEvent(0)),
        (facts(cpu="2"), facts(cpu="1"), PodEvent.SHRUNK),
        (facts(cpu="1", memory="1Gi"), facts(cpu="1"), PodEvent.SHRUNK),
        (facts(cpu="1"), facts(cpu="2"), PodEvent(0)),
        (facts(labels={"a": "b"}), facts(labels={"a": "c"}), PodEvent.LABELS),
        (facts(cpu="1", labels={"a": "b"}), facts(), PodEvent.LABELS | PodEvent.SHRUNK),
    ],
)
def test_change_of_placed_pod_yields_event(old: Any, new: Any, event: PodEvent) -> None:
    assert placed_pod_event(old, new) == event


@pytest.mark.parametrize(
    ("new", "change"),
    [
        (changed(BOUND, "status", phase="Pending"), OwnChange.NONE),
        (changed(BOUND, "metadata", resource_version="7"), OwnChange.NONE),
        (changed(BOUND, "metadata", labels={"a": "b"}), OwnChange.LABELS),
        (changed(BOUND, "metadata", annotations={"a": "b"}), OwnChange.OTHER),
        (changed(BOUND, "spec", node_selector={"a": "b"}), OwnChange.OTHER),
        (changed(BOUND, "spec", tolerations=(toleration("k"),)), OwnChange.TOLERATIONS),
        (changed(BOUND, "spec", containers=pod(cpu="1").spec.containers), OwnChange.SMALLER),
        (changed(BOUND, "spec", containers=pod(cpu="3").spec.containers), OwnChange.OTHER),
    ],
)
def test_change_of_pending_pod_is_classified(new: Pod, change: OwnChange) -> None:
    assert own_change(facts_of(BOUND), facts_of(new)) == change


@pytest.mark.parametrize(
    ("new", "label"),
    [
        ({}, "UnschedulablePodUpdate"),
        ({"metadata": {"annotations": {"a": "b"}}}, "UnschedulablePodUpdate"),
        ({"labels": {"a": "b"}, "cpu": "1"}, "UnschedulablePodUpdatePodLabel"),
        ({"cpu": "1", "scheduling_gates": ()}, "UnschedulablePodUpdatePodScaleDown"),
        ({"scheduling_gates": ()}, "UnschedulablePodUpdatePodSchedulingGatesEliminated"),
        ({"tolerations": (toleration("k"),)}, "UnschedulablePodUpdatePodToleration"),
    ],
)
def test_change_of_pending_pod_has_the_label_of_its_first_kind(new: dict[str, Any], label: str) -> None:
    """The order of upstream's ``PodSchedulingPropertiesChange``."""
    before = {"name": "p", "cpu": "2", "scheduling_gates": (PodSchedulingGate(name="g"),)}
    assert own_change_label(facts(**before), facts(**{**before, **new})) == label

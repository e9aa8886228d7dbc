"""Changes that matter to the scheduler, and the status of a pod without a node."""

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
    PodCondition,
    PodStatus,
    ResourceRequirements,
)
from podling.scheduler.changes import counts_differently, may_fit_now, node_aspects, placed_pod_event
from podling.scheduler.framework import Aspect, PodEvent
from podling.scheduler.reports import Report, status_patch
from tests.unit.scheduler.scheduling import facts, node, pod, taint

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EARLIER = datetime(2026, 1, 1, 11, tzinfo=UTC)


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
    ("new", "matters"),
    [
        (changed(BOUND, "status", phase="Pending"), False),
        (changed(BOUND, "metadata", resource_version="7"), False),
        (changed(BOUND, "metadata", labels={"a": "b"}), True),
        (changed(BOUND, "spec", node_selector={"a": "b"}), True),
    ],
)
def test_changed_pending_pod_may_fit_now(new: Pod, matters: bool) -> None:
    assert may_fit_now(BOUND, new) is matters


def scheduled(message: str, *, status: str = "False", generation: int = 0) -> PodStatus:
    said = PodCondition(
        type="PodScheduled",
        status=status,
        reason="Unschedulable",
        message=message,
        last_transition_time=EARLIER,
        observed_generation=generation,
    )
    return PodStatus(conditions=(said,))


class TestPatch:
    report = Report("uid", "Unschedulable", "no room")

    def test_the_first_time(self) -> None:
        assert status_patch(pod(metadata={"generation": 2}), self.report, NOW) == {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "no room",
                    "lastTransitionTime": "2026-01-01T12:00:00Z",
                    "observedGeneration": 2,
                }
            ]
        }

    def test_unchanged_report_writes_no_patch(self) -> None:
        assert status_patch(pod(status=scheduled("no room")), self.report, NOW) == {}

    def test_another_reason_does_not_move_the_time_but_another_status_does(self) -> None:
        [again] = status_patch(pod(status=scheduled("full")), self.report, NOW)["conditions"]
        assert (again["message"], again["lastTransitionTime"]) == ("no room", "2026-01-01T11:00:00Z")
        [turned] = status_patch(pod(status=scheduled("", status="True")), self.report, NOW)["conditions"]
        assert turned["lastTransitionTime"] == "2026-01-01T12:00:00Z"

    @pytest.mark.parametrize(
        ("before", "nominated", "patch"),
        [
            ("", None, {}),
            ("", "", {}),
            ("", "n", {"nominatedNodeName": "n"}),
            ("n", None, {}),
            ("n", "n", {}),
            ("n", "", {"nominatedNodeName": None}),
        ],
    )
    def test_nomination_is_set_or_cleared(
        self, before: str, nominated: str | None, patch: dict[str, Any]
    ) -> None:
        one = pod(status=PodStatus(nominated_node_name=before))
        assert status_patch(one, Report("uid", nominated=nominated), NOW) == patch

"""The condition that reports about a pod group change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from podling.api.meta_v1 import Condition, ObjectMeta
from podling.api.scheduling_v1alpha2 import PodGroup, PodGroupStatus
from podling.scheduler.group_reports import (
    CONDITION,
    ERROR,
    SCHEDULED,
    UNSCHEDULABLE,
    GroupReport,
    condition_patch,
)

THEN = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW = THEN + timedelta(minutes=5)


def group(status: str = "", reason: str = "", message: str = "", generation: int = 1) -> PodGroup:
    condition = Condition(
        type=CONDITION,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=THEN,
        observed_generation=1,
    )
    conditions = (condition,) if status else ()
    metadata = ObjectMeta(name="g", namespace="default", generation=generation)
    return PodGroup(metadata=metadata, status=PodGroupStatus(conditions=conditions))


@pytest.mark.parametrize(
    ("before", "report", "expected"),
    [
        (group(), GroupReport(SCHEDULED), ("True", "Scheduled", "12:05")),
        (group(), GroupReport(ERROR, "broken"), ("False", "SchedulerError", "12:05")),
        (group("False", UNSCHEDULABLE, "full"), GroupReport(UNSCHEDULABLE, "full"), None),
        (
            group("False", UNSCHEDULABLE, "full"),
            GroupReport(UNSCHEDULABLE, "fuller"),
            ("False", "Unschedulable", "12:00"),
        ),
        (
            group("False", UNSCHEDULABLE, "full", generation=2),
            GroupReport(UNSCHEDULABLE, "full"),
            ("False", "Unschedulable", "12:00"),
        ),
        (group("False", UNSCHEDULABLE, "full"), GroupReport(SCHEDULED), ("True", "Scheduled", "12:05")),
        (group("True", SCHEDULED), GroupReport(UNSCHEDULABLE, "full"), None),
        (group("True", SCHEDULED), GroupReport(SCHEDULED), None),
    ],
)
def test_condition_follows_the_newest_report(
    before: PodGroup, report: GroupReport, expected: tuple[str, str, str] | None
) -> None:
    patch = condition_patch(before, report, NOW)
    if expected is None:
        assert patch is None
        return
    assert patch is not None
    assert (patch["status"], patch["reason"]) == expected[:2]
    assert patch["lastTransitionTime"] == f"2026-01-01T{expected[2]}:00Z"
    assert (patch["message"], patch["observedGeneration"]) == (report.message, before.metadata.generation)

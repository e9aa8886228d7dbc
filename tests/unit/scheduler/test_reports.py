"""The status that the scheduler writes for a pod without a node."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from podling.api.core_v1 import (
    PodCondition,
    PodStatus,
)
from podling.scheduler.reports import Report, status_patch
from tests.unit.scheduler.scheduling import pod

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


EARLIER = datetime(2026, 1, 1, 11, tzinfo=UTC)


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

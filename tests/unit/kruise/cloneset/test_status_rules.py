"""The status of CloneSets, and the condition of their progress."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from podling.api.meta_v1 import ObjectMeta
from podling.machinery.conditions import find
from podling_kruise.cloneset.status_rules import has_changed, with_condition, with_progress
from podling_kruise.cloneset.types import (
    CloneSet,
    CloneSetCondition,
    CloneSetSpec,
    CloneSetStatus,
    RollingUpdate,
    UpdateStrategy,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DONE = CloneSetStatus(
    replicas=3,
    updated_replicas=3,
    updated_available_replicas=3,
    expected_updated_replicas=3,
    current_revision="b",
    update_revision="b",
)
HALF = CloneSetStatus(
    replicas=3, updated_replicas=1, expected_updated_replicas=3, current_revision="a", update_revision="b"
)


def owner(deadline: int | None = 60, *, paused: bool = False) -> CloneSet:
    strategy = UpdateStrategy(rolling_update=RollingUpdate(paused=paused))
    spec = CloneSetSpec(replicas=3, progress_deadline_seconds=deadline, update_strategy=strategy)
    return CloneSet(metadata=ObjectMeta(name="web"), spec=spec)


@pytest.mark.parametrize(
    ("status", "paused", "reason"),
    [(DONE, False, "CloneSetAvailable"), (HALF, True, "CloneSetPaused"), (HALF, False, "CloneSetUpdated")],
)
def test_reason_of_progress(status: CloneSetStatus, paused: bool, reason: str) -> None:
    found, _ = with_progress(owner(paused=paused), status, NOW)
    condition = find(found.conditions, "Progressing")
    assert condition is not None
    assert (condition.status, condition.reason) == ("True", reason)


def test_update_without_progress_exceeds_its_deadline() -> None:
    begun, wait = with_progress(owner(), HALF, NOW)
    assert wait == 61
    later, _ = with_progress(owner(), begun, NOW + timedelta(seconds=61))
    condition = find(later.conditions, "Progressing")
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "ProgressDeadlineExceeded")


def test_condition_is_removed_with_the_deadline() -> None:
    begun, _ = with_progress(owner(), HALF, NOW)
    left, wait = with_progress(owner(None), begun, NOW)
    assert (left.conditions, wait) == ((), None)


def test_condition_with_the_same_reason_stays_as_it_is() -> None:
    first = with_condition((), CloneSetCondition(type="T", status="True", reason="R"), NOW)
    again = CloneSetCondition(type="T", status="True", reason="R", message="other")
    assert with_condition(first, again, NOW + timedelta(seconds=5)) is first


def test_status_is_written_when_a_number_or_a_reason_changes() -> None:
    assert not has_changed(DONE, DONE)
    assert has_changed(DONE, HALF)
    assert has_changed(DONE, with_progress(owner(), DONE, NOW)[0])

"""The condition of a CloneSet's progress, and when it is looked at again.

Cases: ``TestCalculateProgressingStatus``, ``TestHasProgressingConditionChanged`` and
``TestGetRequeueSecondsFromCondition`` of ``cloneset_status_test.go``. Upstream looks again at once where the
deadline is less than a second away; here a second passes in any case, so that no run repeats itself.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.machinery.conditions import find
from podling.machinery.numbers import INT32_MAX
from podling_kruise.cloneset.status_rules import has_changed, with_progress
from podling_kruise.cloneset.types import (
    CloneSet,
    CloneSetCondition,
    CloneSetSpec,
    CloneSetStatus,
    RollingUpdate,
    UpdateStrategy,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DEADLINE = 10
UPDATED, AVAILABLE, PAUSED = "CloneSetUpdated", "CloneSetAvailable", "CloneSetPaused"
PARTITIONED, EXCEEDED = "ProgressPartitionAvailable", "ProgressDeadlineExceeded"


def condition(reason: str, age_seconds: float = 0) -> CloneSetCondition:
    moment = NOW - timedelta(seconds=age_seconds)
    return CloneSetCondition(
        type="Progressing",
        status="False" if reason == EXCEEDED else "True",
        reason=reason,
        last_update_time=moment,
        last_transition_time=moment,
    )


def owner(replicas: int, deadline: int | None = DEADLINE, *, paused: bool = False) -> CloneSet:
    strategy = UpdateStrategy(rolling_update=RollingUpdate(paused=paused))
    return CloneSet(
        spec=CloneSetSpec(replicas=replicas, progress_deadline_seconds=deadline, update_strategy=strategy)
    )


def status(numbers: str, revisions: str, *conditions: CloneSetCondition) -> CloneSetStatus:
    """Return a status.

    ``numbers``: all, ready, available, updated, of these ready and available, and those wanted updated.
    ``revisions``: the current and the update revision.
    """
    names = (
        "replicas",
        "ready_replicas",
        "available_replicas",
        "updated_replicas",
        "updated_ready_replicas",
        "updated_available_replicas",
        "expected_updated_replicas",
    )
    counts: dict[str, Any] = dict(zip(names, map(int, numbers.split()), strict=True))
    return CloneSetStatus(
        current_revision=revisions[0], update_revision=revisions[1], conditions=conditions, **counts
    )


CASES: dict[str, tuple[int, bool, str, str, CloneSetCondition | None, str]] = {
    "first look, an update has begun": (10, False, "5 4 3 2 1 1 2", "12", None, UPDATED),
    "first look, paused": (10, True, "5 4 3 2 1 1 2", "11", None, PAUSED),
    "first look, all available": (10, False, "10 10 10 10 10 10 10", "11", None, AVAILABLE),
    "first look, pods become available": (10, False, "10 9 8 10 9 8 10", "22", None, UPDATED),
    "first look, paused in the middle": (10, True, "10 8 7 6 5 5 6", "12", None, PAUSED),
    "first look, all of the partition": (10, False, "10 10 10 1 1 1 1", "12", None, PARTITIONED),
    "available, then scaled up": (10, False, "5 5 5 5 5 5 10", "11", condition(AVAILABLE), UPDATED),
    "scaled up, too late": (10, False, "10 8 8 10 8 8 10", "11", condition(UPDATED, 20), EXCEEDED),
    "available, then a new revision": (1, False, "1 0 0 0 0 0 1", "12", condition(AVAILABLE, 5), UPDATED),
    "updated as far as wanted": (10, False, "10 10 10 5 5 5 5", "12", condition(UPDATED, 5), PARTITIONED),
    "scaled down to what is updated": (6, False, "10 9 9 8 8 8 5", "12", condition(UPDATED, 5), PARTITIONED),
    "scaled down, too late": (6, False, "6 6 6 4 4 4 6", "12", condition(UPDATED, 20), EXCEEDED),
    "scaled up in the middle": (20, False, "15 14 14 10 10 9 10", "12", condition(UPDATED, 5), UPDATED),
    "no progress, too late": (20, False, "10 5 5 5 3 1 10", "12", condition(UPDATED, 20), EXCEEDED),
    "updated": (20, False, "20 20 20 20 20 20 20", "22", condition(UPDATED, 9), AVAILABLE),
    "paused in an update": (20, True, "15 14 14 10 10 9 10", "12", condition(UPDATED, 3), PAUSED),
    "paused still": (20, True, "15 14 14 10 10 9 10", "12", condition(PAUSED, 40), PAUSED),
    "resumed": (20, False, "15 14 14 10 10 9 10", "12", condition(PAUSED, 5), UPDATED),
    "paused after the deadline": (20, True, "15 14 14 10 10 9 10", "12", condition(EXCEEDED, 40), PAUSED),
    "paused with its partition": (10, True, "10 10 10 5 5 5 5", "12", condition(PARTITIONED, 8), PAUSED),
    "partition, then scaled up": (20, False, "15 15 15 6 6 6 10", "12", condition(PARTITIONED, 8), UPDATED),
    "partition again": (20, False, "20 20 20 10 10 10 10", "12", condition(PARTITIONED, 8), PARTITIONED),
    "progress in time": (10, False, "10 5 5 5 3 1 10", "12", condition(UPDATED, 7), UPDATED),
    "exceeded still": (20, False, "15 14 14 10 10 9 20", "12", condition(EXCEEDED, 40), EXCEEDED),
}


@pytest.mark.parametrize(
    ("replicas", "paused", "numbers", "revisions", "held", "reason"), CASES.values(), ids=CASES
)
def test_reason_of_progress(
    replicas: int, paused: bool, numbers: str, revisions: str, held: CloneSetCondition | None, reason: str
) -> None:
    before = status(numbers, revisions, *([held] if held is not None else []))
    found, wait = with_progress(owner(replicas, paused=paused), before, NOW)
    progress = find(found.conditions, "Progressing")
    assert progress is not None
    assert (progress.reason, progress.status) == (reason, "False" if reason == EXCEEDED else "True")
    assert (wait is not None) == (reason == UPDATED)
    if held is not None and held.reason == reason:
        assert progress is held
    elif held is not None and held.status == progress.status:
        assert (progress.last_update_time, progress.last_transition_time) == (NOW, held.last_transition_time)


@pytest.mark.parametrize("deadline", [None, INT32_MAX])
@pytest.mark.parametrize("reason", [AVAILABLE, UPDATED, PAUSED, EXCEEDED, PARTITIONED, ""])
def test_condition_goes_without_a_deadline(deadline: int | None, reason: str) -> None:
    before = status("10 10 10 5 5 5 5", "12", *([condition(reason, 8)] if reason else []))
    for paused in (False, True):
        found, wait = with_progress(owner(10, deadline, paused=paused), before, NOW)
        assert (found.conditions, wait) == ((), None)


@pytest.mark.parametrize(
    ("age_seconds", "wait", "then"),
    [(0, 11, EXCEEDED), (5, 6, EXCEEDED), (9.5, 1.5, EXCEEDED), (10, 1, EXCEEDED)],
)
def test_run_at_the_deadline_is_followed_by_one_that_finds_it_exceeded(
    age_seconds: float, wait: float, then: str
) -> None:
    before = status("10 5 5 5 3 1 10", "12", condition(UPDATED, age_seconds))
    found, seconds = with_progress(owner(10), before, NOW)
    assert seconds == wait
    later, seconds = with_progress(owner(10), found, NOW + timedelta(seconds=wait))
    progress = find(later.conditions, "Progressing")
    assert (progress is not None and progress.reason, seconds) == (then, None)


HELD = condition(UPDATED, 60)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        (None, None, False),
        (None, HELD, True),
        (HELD, None, True),
        (HELD, HELD, False),
        (HELD, structs.replace(HELD, status="False"), True),
        (HELD, structs.replace(HELD, reason=PAUSED), True),
        (HELD, structs.replace(HELD, message="other"), False),
        (HELD, structs.replace(HELD, last_update_time=NOW), False),
        (HELD, structs.replace(HELD, last_transition_time=NOW), False),
    ],
)
def test_condition_is_written_with_another_status_or_reason(
    old: CloneSetCondition | None, new: CloneSetCondition | None, changed: bool
) -> None:
    before, after = (CloneSetStatus(conditions=() if each is None else (each,)) for each in (old, new))
    assert has_changed(before, after) is changed

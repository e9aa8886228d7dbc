"""The status of CloneSets, and the condition of their progress."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from podling.api.core_v1 import Pod, PodCondition, PodStatus
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.conditions import find
from podling_kruise.cloneset.status_rules import counted, has_changed, with_condition, with_progress
from podling_kruise.cloneset.types import (
    CloneSet,
    CloneSetCondition,
    CloneSetSpec,
    CloneSetStatus,
    RollingUpdate,
    UpdateStrategy,
)
from podling_kruise.names import IN_PLACE_UPDATE_READY, LIFECYCLE_STATE, REVISION_HASH

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


def pod(words: str) -> Pod:
    """Return a pod of the update revision ``b``, or with ``old`` of another one.

    ``words``: ``ready`` for a minute, or ``young``: ready just now; ``gated``: its update in place goes on;
    ``held``: a hook holds it.
    """
    age = 0 if "young" in words else 60
    found = [PodCondition(type="Ready", status="True", last_transition_time=NOW - timedelta(seconds=age))]
    if "gated" in words:
        found.append(PodCondition(type=IN_PLACE_UPDATE_READY, status="False"))
    labels = {REVISION_HASH: "web-a" if "old" in words else "web-b"}
    if "held" in words:
        labels[LIFECYCLE_STATE] = "PreparingDelete"
    is_ready = "ready" in words or "young" in words
    status = PodStatus(phase="Running", conditions=tuple(found) if is_ready else ())
    return Pod(metadata=ObjectMeta(labels=labels), status=status)


@pytest.mark.parametrize(
    ("pods", "min_ready_seconds", "numbers", "revision"),
    [
        ("", 0, (0, 0, 0, 0, 0, 0), "web-a"),
        ("ready,ready,ready", 0, (3, 3, 3, 3, 3, 3), "web-b"),
        ("ready,ready,none", 0, (3, 2, 2, 3, 2, 2), "web-b"),
        ("ready,ready,old ready", 0, (3, 3, 3, 2, 2, 2), "web-a"),
        ("ready,ready,ready,old ready", 0, (4, 4, 4, 3, 3, 3), "web-a"),
        ("ready,ready,ready,ready", 0, (4, 4, 4, 4, 4, 4), "web-a"),
        ("ready,young,old young", 10, (3, 3, 1, 2, 2, 1), "web-a"),
        ("ready,ready held,old ready held", 0, (3, 3, 1, 2, 2, 1), "web-a"),
        ("ready gated,old ready gated,old", 0, (3, 0, 0, 1, 0, 0), "web-a"),
    ],
)
def test_numbers_of_pods(pods: str, min_ready_seconds: int, numbers: tuple[int, ...], revision: str) -> None:
    """Three pods are wanted. Numbers: all, ready, available; updated, and of these ready and available."""
    spec = structs.replace(owner().spec, min_ready_seconds=min_ready_seconds)
    before = CloneSetStatus(current_revision="web-a", update_revision="web-b")
    made = [pod(words) for words in pods.split(",") if words]
    found = counted(structs.replace(owner(), spec=spec), before, made, NOW)
    assert (
        found.replicas,
        found.ready_replicas,
        found.available_replicas,
        found.updated_replicas,
        found.updated_ready_replicas,
        found.updated_available_replicas,
    ) == numbers
    assert (found.current_revision, found.expected_updated_replicas) == (revision, 3)


def test_update_without_progress_exceeds_its_deadline() -> None:
    begun, wait = with_progress(owner(), HALF, NOW)
    assert wait == 61
    later, _ = with_progress(owner(), begun, NOW + timedelta(seconds=61))
    condition = find(later.conditions, "Progressing")
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "ProgressDeadlineExceeded")
    again, _ = with_progress(owner(), later, NOW + timedelta(seconds=62))
    assert again.conditions == later.conditions


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

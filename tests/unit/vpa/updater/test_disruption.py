"""The pods that may be missing at a time, and resizes that fail: upstream's cases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from podling.api.core_v1 import Pod, PodCondition
from podling.client.base import key_of
from podling.sim.loop import EPOCH
from podling_vpa.updater.disruption import (
    Creator,
    Decision,
    Group,
    NoReplicas,
    can_evict,
    groups_of,
    resize_decision,
)
from podling_vpa.updater.settings import DEFAULT_SETTINGS
from tests.support.vertical_autoscalers import autoscaler, pod, recommendation

PENDING, IN_PROGRESS = "PodResizePending", "PodResizeInProgress"


def pods(count: int) -> list[Pod]:
    return [pod(name=f"web-1-{place}") for place in range(count)]


def pending(made: Pod) -> Pod:
    return structs.replace(made, status=structs.replace(made.status, phase="Pending"))


def evictions(group: Group, found: list[Pod]) -> int:
    """Evict as many pods as may be evicted."""
    count = 0
    for each in found:
        if can_evict(each, group, EPOCH, EPOCH):
            group.note_eviction()
            count += 1
    return count


@pytest.mark.parametrize(
    ("configured", "running", "tolerance", "expected"),
    [(5, 5, 0.8, 4), (5, 5, 0.1, 1), (4, 4, 0.5, 2), (4, 1, 0.5, 0), (4, 3, 0.5, 1), (3, 3, 0.5, 1)],
)
def test_tolerance_bounds_the_evictions(
    configured: int, running: int, tolerance: float, expected: int
) -> None:
    found = pods(running)
    assert evictions(Group(configured, tolerance, found), found) == expected


def test_pending_pods_are_evicted_first_of_all() -> None:
    found = [pending(each) for each in pods(2)]
    assert can_evict(found[0], Group(4, 0.5, found), EPOCH, EPOCH)


def test_resizes_of_this_round_count_as_missing() -> None:
    group = Group(4, 0.5, pods(4))
    group.note_resize()
    group.note_resize()
    assert not group.can_disrupt()


@pytest.mark.parametrize(("least", "count"), [(None, 2), (3, 0), (1, 2)])
def test_groups_with_too_few_pods_have_no_entry(least: int | None, count: int) -> None:
    policy: dict[str, Any] = {"updateMode": "Recreate"} | ({"minReplicas": least} if least else {})
    owner = autoscaler(updatePolicy=policy)
    assert len(groups_of(pods(2), owner, DEFAULT_SETTINGS, lambda _: 2)) == count


def test_groups_follow_the_controllers_of_pods() -> None:
    other = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u-2", "controller": True}
    jobs = [pod(name=f"j-{place}", owner=other) for place in range(2)]
    alone = pod(name="alone", owner=None)
    asked: list[Creator] = []

    def replicas(creator: Creator) -> int:
        asked.append(creator)
        return 2

    found = groups_of([*pods(2), *jobs, alone], autoscaler(), DEFAULT_SETTINGS, replicas)
    assert key_of(alone) not in found
    assert len({id(group) for group in found.values()}) == 2
    assert asked == [Creator("default", "ReplicaSet", "web-1")], "a Job has as many as live"


def test_controller_without_replicas_has_no_group() -> None:
    def none(_: Creator) -> int:
        raise NoReplicas("replica set default/web-1 does not exist")

    assert groups_of(pods(2), autoscaler(), DEFAULT_SETTINGS, none) == {}


def resizing(kind: str, reason: str = "", message: str = "") -> Pod:
    made = pod()
    condition = PodCondition(type=kind, status="True", reason=reason, message=message)
    return structs.replace(made, status=structs.replace(made.status, conditions=(condition,)))


MINUTES = timedelta(minutes=1)
RESIZES = [
    (PENDING, "Deferred", "", 4, Decision.DEFERRED),
    (PENDING, "Deferred", "", 6, Decision.EVICT),
    (PENDING, "Infeasible", "", 0, Decision.EVICT),
    (PENDING, "Strange", "", 0, Decision.EVICT),
    (IN_PROGRESS, "", "", 59, Decision.DEFERRED),
    (IN_PROGRESS, "", "", 61, Decision.EVICT),
    (IN_PROGRESS, "Error", "no", 0, Decision.EVICT),
]


@pytest.mark.parametrize(("kind", "reason", "message", "minutes", "expected"), RESIZES)
def test_failed_resize_becomes_an_eviction(
    kind: str, reason: str, message: str, minutes: int, expected: Decision
) -> None:
    owner = autoscaler(recommendation(), mode="InPlaceOrRecreate")
    made = resizing(kind, reason, message)
    group = Group(4, 0.5, pods(4))
    assert resize_decision(made, owner, group, EPOCH, EPOCH + minutes * MINUTES) is expected
    assert can_evict(made, group, EPOCH, EPOCH + minutes * MINUTES) is (expected is Decision.EVICT)


@pytest.mark.parametrize(("kind", "reason", "message", "minutes", "_"), RESIZES)
def test_mode_in_place_waits_for_any_resize(
    kind: str, reason: str, message: str, minutes: int, _: Decision
) -> None:
    owner = autoscaler(recommendation(), mode="InPlace")
    group = Group(4, 0.5, pods(4))
    found = resize_decision(resizing(kind, reason, message), owner, group, EPOCH, EPOCH + minutes * MINUTES)
    assert found is (Decision.INFEASIBLE if reason == "Infeasible" else Decision.DEFERRED)


def test_failed_resize_waits_while_other_pods_are_missing() -> None:
    owner = autoscaler(recommendation(), mode="InPlaceOrRecreate")
    made = resizing(PENDING, "Infeasible")
    assert resize_decision(made, owner, Group(4, 0.5, pods(1)), EPOCH, EPOCH) is Decision.DEFERRED


@pytest.mark.parametrize(
    ("made", "has_group", "is_recommended", "expected"),
    [
        (pod(), True, True, Decision.APPROVED),
        (pod(), False, True, Decision.DEFERRED),
        (pending(pod()), True, True, Decision.DEFERRED),
        (pod(), True, False, Decision.DEFERRED),
    ],
    ids=["ready for it", "of no group", "pending", "without recommendation"],
)
def test_resize_is_approved_for_running_pods_of_whole_groups(
    made: Pod, has_group: bool, is_recommended: bool, expected: Decision
) -> None:
    owner = autoscaler(recommendation() if is_recommended else None, mode="InPlaceOrRecreate")
    group = Group(4, 0.5, pods(4)) if has_group else None
    assert resize_decision(made, owner, group, EPOCH, EPOCH) is expected


@given(st.integers(1, 50), st.integers(0, 50), st.floats(0, 1))
def test_evictions_never_exceed_the_tolerance_but_for_one(
    configured: int, running: int, tolerance: float
) -> None:
    found = pods(running)
    count = evictions(Group(configured, tolerance, found), found)
    allowed = int(configured * tolerance)
    assert running - count >= min(running, configured - max(allowed, 1))

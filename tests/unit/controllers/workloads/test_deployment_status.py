"""The numbers and conditions that a deployment's status gets from its replica sets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from podling.api.apps_v1 import (
    Deployment,
    DeploymentCondition,
    DeploymentStatus,
    ReplicaSet,
    ReplicaSetCondition,
    ReplicaSetSpec,
    ReplicaSetStatus,
)
from podling.api.core_v1 import ResourceQuota, ResourceQuotaSpec
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.controllers.workloads import deployment_rules as rules
from podling.controllers.workloads.deployment import DeploymentController
from podling.controllers.workloads.deployment_status import (
    counted,
    is_complete,
    made_progress,
    rollout_status,
    seconds_to_deadline,
    timed_out,
)
from podling.controllers.workloads.replicaset import ReplicaSetController
from podling.machinery.conditions import find
from podling.testing import ControlPlane
from tests.support.control_loops import make_ready, running
from tests.support.workloads import deployment, template

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EARLIER = NOW - timedelta(minutes=5)


def replica_set(
    wanted: int, *, there: int = 0, available: int = 0, terminating: int | None = 0
) -> ReplicaSet:
    return ReplicaSet(
        metadata=ObjectMeta(name="web-1", creation_timestamp=EARLIER, annotations={}),
        spec=ReplicaSetSpec(
            replicas=wanted,
            selector=LabelSelector(match_labels={"app": "web"}),
            template=template("web:1", app="web"),
        ),
        status=ReplicaSetStatus(
            replicas=there, available_replicas=available, terminating_replicas=terminating
        ),
    )


UNAVAILABLE = [
    ([replica_set(4, there=4, available=4)], 0),
    ([replica_set(4, there=0)], 4),
    ([replica_set(4, there=4, available=1)], 3),
    ([replica_set(3, there=3, available=3), replica_set(2, there=0)], 2),
    ([replica_set(1, there=3, available=3)], 0),
    ([], 0),
]


@pytest.mark.parametrize(("sets", "unavailable"), UNAVAILABLE)
def test_pods_that_cannot_be_created_are_unavailable(sets: list[ReplicaSet], unavailable: int) -> None:
    assert counted(deployment(), None, sets, NOW).unavailable_replicas == unavailable


# (spec.replicas, status.replicas, terminating, observed generation) of replica sets, and the Deployment's
# desired, present and terminating replicas (cases of deployment_util_test.go)
FIRST, SECOND, UNSEEN, UNKNOWN = (1, 2, 3, 1), (2, 3, 1, 0), (3, 0, None, 0), (1, 1, None, 1)
COUNTS: list[tuple[list[tuple[int, int, int | None, int]], int, int, int | None]] = [
    ([FIRST], 1, 2, 3),
    ([FIRST, SECOND], 3, 5, 4),
    ([UNSEEN], 3, 0, 0),
    ([FIRST, SECOND, UNSEEN], 6, 5, 4),
    ([UNKNOWN], 1, 1, None),
    ([FIRST, SECOND, UNSEEN, UNKNOWN], 7, 6, None),
    ([], 0, 0, 0),
]


@pytest.mark.parametrize(("sets", "wanted", "present", "terminating"), COUNTS)
def test_replicas_of_all_replica_sets_are_added_up(
    sets: list[tuple[int, int, int | None, int]], wanted: int, present: int, terminating: int | None
) -> None:
    found = []
    for size, there, ending, generation in sets:
        each = replica_set(size, there=there, terminating=ending)
        seen = structs.replace(each.status, observed_generation=generation or None)
        found.append(structs.replace(each, status=seen))
    status = counted(deployment(), None, found, NOW)
    assert (rules.total(found), status.replicas) == (wanted, present)
    assert status.terminating_replicas == terminating


# replicas wanted, then in the status: present, updated, available
COMPLETE = [
    ((5, 5, 5, 4), False),
    ((5, 5, 5, 3), False),
    ((5, 5, 5, 5), True),
    ((5, 5, 4, 5), False),
    ((1, 2, 1, 1), False),
    ((1, 1, 1, 0), False),
]


def status_of(present: int, updated: int, ready: int, available: int) -> DeploymentStatus:
    return DeploymentStatus(
        replicas=present, updated_replicas=updated, ready_replicas=ready, available_replicas=available
    )


@pytest.mark.parametrize(("numbers", "complete"), COMPLETE)
def test_deployment_is_complete_with_all_pods_new_and_available(
    numbers: tuple[int, int, int, int], complete: bool
) -> None:
    wanted, present, updated, available = numbers
    status = status_of(present, updated, available, available)
    assert is_complete(deployment(wanted), status) is complete


# present, updated, ready and available replicas before and after
PROGRESS = [
    ((10, 4, 4, 4), (10, 6, 4, 4), True),
    ((10, 4, 4, 4), (10, 4, 4, 4), False),
    ((10, 4, 6, 6), (8, 4, 6, 6), True),
    ((10, 7, 3, 3), (10, 6, 3, 3), False),
    ((10, 4, 7, 7), (8, 8, 5, 5), True),
    ((10, 10, 9, 8), (10, 10, 10, 8), True),
    ((10, 10, 10, 9), (10, 10, 10, 10), True),
]


@pytest.mark.parametrize(("before", "after", "progress"), PROGRESS)
def test_more_new_ready_or_available_pods_and_fewer_old_ones_are_progress(
    before: tuple[int, int, int, int], after: tuple[int, int, int, int], progress: bool
) -> None:
    assert made_progress(status_of(*before), status_of(*after)) is progress


# the deadline, the reason of the condition, the seconds since its last update
TIMEOUTS: list[tuple[int | None, str, int, bool]] = [
    (None, "", 11, False),
    (2**31 - 1, "", 11, False),
    (10, "", 11, True),
    (10, "", 10, False),
    (10, "", 9, False),
    (10, "NewReplicaSetAvailable", 3600, False),
    (10, "ProgressDeadlineExceeded", 1, True),
]


@pytest.mark.parametrize(("deadline", "reason", "seconds", "late"), TIMEOUTS)
def test_roll_out_times_out_after_its_deadline_without_progress(
    deadline: int | None, reason: str, seconds: int, late: bool
) -> None:
    since = NOW - timedelta(seconds=seconds)
    condition = DeploymentCondition(type="Progressing", status="True", reason=reason, last_update_time=since)
    wanted = deployment()
    wanted = structs.replace(wanted, spec=structs.replace(wanted.spec, progress_deadline_seconds=deadline))
    assert timed_out(wanted, DeploymentStatus(conditions=(condition,)), NOW) is late


def stuck(since: datetime | None, status: str = "True", reason: str = "") -> tuple[DeploymentCondition, ...]:
    return (
        DeploymentCondition(
            type="Progressing",
            status=status,
            reason=reason,
            last_update_time=since,
            last_transition_time=since,
        ),
    )


def with_status(
    replicas: int, deadline: int | None, conditions: tuple[DeploymentCondition, ...], *numbers: int
) -> Deployment:
    """Return a deployment whose status has ``numbers``: present, updated and available replicas."""
    held = deployment(replicas)
    present, updated, available = numbers
    status = structs.replace(status_of(present, updated, available, available), conditions=conditions)
    spec = structs.replace(held.spec, progress_deadline_seconds=deadline)
    return structs.replace(held, spec=spec, status=status)


# the deadline, the conditions, present, updated and available replicas of 3, and the seconds to wait
WAITS: list[tuple[int | None, tuple[DeploymentCondition, ...], tuple[int, int, int], float | None]] = [
    (None, (), (3, 3, 2), None),
    (2**31 - 1, (), (3, 3, 2), None),
    (60, (), (3, 3, 2), None),
    (60, (), (3, 3, 3), None),
    (60, stuck(None, "False", "ProgressDeadlineExceeded"), (3, 3, 0), None),
    (60, stuck(NOW - timedelta(seconds=30)), (3, 3, 1), 31),
    (60, stuck(NOW - timedelta(seconds=59)), (3, 3, 1), 2),
    (60, stuck(NOW - timedelta(seconds=60)), (3, 3, 1), 1),
    (60, stuck(NOW - timedelta(seconds=120)), (3, 3, 1), 1),
]


@pytest.mark.parametrize(("deadline", "conditions", "numbers", "seconds"), WAITS)
def test_stuck_roll_out_is_looked_at_again_a_second_after_its_deadline(
    deadline: int | None,
    conditions: tuple[DeploymentCondition, ...],
    numbers: tuple[int, int, int],
    seconds: float | None,
) -> None:
    held = with_status(3, deadline, conditions, *numbers)
    assert seconds_to_deadline(held, held.status, NOW) == seconds


SINCE = NOW - timedelta(days=1)
UPDATED, DONE = stuck(SINCE, reason="ReplicaSetUpdated"), stuck(SINCE, reason="NewReplicaSetAvailable")
LATE = stuck(None, "False", "ProgressDeadlineExceeded")
# the deadline, the wanted replicas, the conditions before, the numbers of the status before (present,
# updated, available), other replica sets and the new one (spec, present, available), and the condition
# after: status, reason, and True if its transition time stays
ROLL_OUTS: list[
    tuple[
        int | None,
        int,
        tuple[DeploymentCondition, ...],
        tuple[int, int, int],
        list[tuple[int, int, int]],
        tuple[int, int, int] | None,
        tuple[str, str, bool] | None,
    ]
] = [
    (None, 3, UPDATED, (2, 2, 2), [(0, 1, 1)], (3, 2, 2), None),
    (60, 3, DONE, (3, 3, 3), [(3, 3, 3)], None, ("True", "NewReplicaSetAvailable", True)),
    (60, 3, UPDATED, (2, 2, 2), [(0, 1, 1)], (3, 2, 2), ("True", "ReplicaSetUpdated", True)),
    (60, 3, LATE, (2, 2, 2), [(0, 1, 1)], (3, 2, 2), ("True", "ReplicaSetUpdated", False)),
    (60, 3, (), (2, 2, 2), [(0, 1, 1)], (3, 2, 2), ("True", "ReplicaSetUpdated", False)),
    (60, 3, UPDATED, (3, 3, 3), [], (3, 3, 3), ("True", "NewReplicaSetAvailable", True)),
    (60, 3, LATE, (3, 3, 3), [], (3, 3, 3), ("True", "NewReplicaSetAvailable", False)),
    (60, 3, (), (3, 3, 3), [], (3, 3, 3), ("True", "NewReplicaSetAvailable", False)),
    (60, 0, UPDATED, (3, 3, 3), [(0, 0, 0)], None, ("True", "NewReplicaSetAvailable", True)),
    (60, 3, UPDATED, (2, 2, 2), [], (3, 2, 2), ("False", "ProgressDeadlineExceeded", False)),
    (60, 3, LATE, (2, 2, 2), [], (3, 2, 2), ("False", "ProgressDeadlineExceeded", True)),
]


@pytest.mark.parametrize(
    ("deadline", "wanted", "conditions", "numbers", "others", "current", "expected"), ROLL_OUTS
)
def test_condition_of_progress_follows_the_roll_out(
    deadline: int | None,
    wanted: int,
    conditions: tuple[DeploymentCondition, ...],
    numbers: tuple[int, int, int],
    others: list[tuple[int, int, int]],
    current: tuple[int, int, int] | None,
    expected: tuple[str, str, bool] | None,
) -> None:
    """Cases of progress_test.go."""
    held = with_status(wanted, deadline, conditions, *numbers)
    old = [replica_set(size, there=there, available=available) for size, there, available in others]
    new = None if current is None else replica_set(current[0], there=current[1], available=current[2])
    everyone = [*old, new] if new is not None else old
    found = find(rollout_status(held, new, everyone, NOW).conditions, "Progressing")
    if expected is None:
        assert found is None
        return
    assert found is not None
    before = conditions[0].last_transition_time if conditions else None
    assert (found.status, found.reason, found.last_transition_time == before) == expected


def test_replica_failure_keeps_the_time_of_the_replica_set() -> None:
    failed = ReplicaSetCondition(
        type="ReplicaFailure",
        status="True",
        reason="FailedCreate",
        message="no",
        last_transition_time=EARLIER,
    )
    broken = replica_set(4)
    broken = structs.replace(broken, status=structs.replace(broken.status, conditions=(failed,)))
    found = find(rollout_status(deployment(), broken, [broken], NOW).conditions, "ReplicaFailure")
    assert found is not None
    assert (found.last_update_time, found.last_transition_time) == (EARLIER, EARLIER)


@pytest.mark.parametrize(
    ("text", "number"),
    [("9" * 5000, "9" * 5000), ("²", "²"), ("-1", "3"), ("2147483648", "2147483648"), ("", "3")],
)
def test_annotations_that_are_no_numbers_are_ignored(text: str, number: str) -> None:
    names = (rules.REVISION, rules.DESIRED_REPLICAS, rules.MAX_REPLICAS)
    odd = replica_set(4)
    odd = structs.replace(odd, metadata=structs.replace(odd.metadata, annotations=dict.fromkeys(names, text)))
    wanted = deployment()
    assert rules.annotated(odd, rules.DESIRED_REPLICAS) is None
    assert not rules.is_scaling(wanted, [odd])
    assert rules.revision(odd) in (0, 2147483648)
    assert rules.revised_annotations(wanted, odd.metadata.annotations, 3)[rules.REVISION] == number


async def test_pods_that_a_quota_refuses_are_unavailable(cluster: ControlPlane) -> None:
    quota = ResourceQuota(
        metadata=ObjectMeta(name="none", namespace="default"), spec=ResourceQuotaSpec(hard={"pods": "1"})
    )
    await cluster.client.create(quota)
    async with running(cluster.client, DeploymentController, ReplicaSetController):
        await cluster.client.create(deployment(4))
        await cluster.advance(seconds=5)
        await make_ready(cluster.client)
        await cluster.advance(seconds=5)
        status = (await cluster.client.get(Deployment, "web", "default")).status
        assert (status.replicas, status.available_replicas, status.unavailable_replicas) == (1, 1, 3)
        failure = find(status.conditions, "ReplicaFailure")
        assert failure is not None
        assert failure.reason == "FailedCreate"

"""The status of a CloneSet. Pure.

Upstream: ``cloneset_status.go`` and the conditions of ``cloneset_utils.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import structs

from podling.api.core_v1 import Pod
from podling.clock import seconds_precision
from podling.machinery.conditions import find
from podling.machinery.numbers import INT32_MAX
from podling_kruise.cloneset.scale_plan import is_update_ready, partition_of
from podling_kruise.cloneset.types import CloneSet, CloneSetCondition, CloneSetStatus
from podling_kruise.lifecycle import NORMAL, is_of_revision, state_of

PROGRESSING, FAILED_SCALE, FAILED_UPDATE = "Progressing", "FailedScale", "FailedUpdate"
EXCEEDED = "ProgressDeadlineExceeded"


def with_condition(
    conditions: tuple[CloneSetCondition, ...], new: CloneSetCondition, now: datetime
) -> tuple[CloneSetCondition, ...]:
    """Return the conditions with ``new``; one with the same status and reason stays as it is."""
    old = find(conditions, new.type)
    if old is not None and (old.status, old.reason) == (new.status, new.reason):
        return conditions
    moment = seconds_precision(now)
    since = old.last_transition_time if old is not None and old.status == new.status else moment
    changed = structs.replace(new, last_update_time=moment, last_transition_time=since)
    return (*(each for each in conditions if each.type != new.type), changed)


def counted(owner: CloneSet, status: CloneSetStatus, pods: Sequence[Pod], now: datetime) -> CloneSetStatus:
    """Return the status with the numbers of these active pods.

    ``status`` has the revisions already. Once all pods are of the update revision it is the current one, too.
    """
    spec = owner.spec
    found = Counter(_kind(pod, status.update_revision, spec.min_ready_seconds, now) for pod in pods)
    replicas, updated = len(pods), sum(number for kind, number in found.items() if kind.updated)
    done = updated == replicas == spec.wanted
    return structs.replace(
        status,
        replicas=replicas,
        ready_replicas=sum(number for kind, number in found.items() if kind.ready),
        available_replicas=sum(number for kind, number in found.items() if kind.available),
        updated_replicas=updated,
        updated_ready_replicas=sum(number for kind, number in found.items() if kind.updated and kind.ready),
        updated_available_replicas=sum(
            number for kind, number in found.items() if kind.updated and kind.available
        ),
        expected_updated_replicas=_expected(owner),
        current_revision=status.update_revision if done else status.current_revision,
    )


class _Kind(NamedTuple):
    updated: bool
    ready: bool
    available: bool


def _kind(pod: Pod, revision: str, min_ready_seconds: int, now: datetime) -> _Kind:
    """Return how the status counts a pod. Each pod is looked at once: large sets are counted often."""
    ready = is_update_ready(pod, 0, now)
    available = ready and state_of(pod) in ("", NORMAL)
    if available and min_ready_seconds:
        available = is_update_ready(pod, min_ready_seconds, now)
    return _Kind(is_of_revision(pod, revision), ready, available)


def _expected(owner: CloneSet) -> int:
    replicas, rolling = owner.spec.wanted, owner.spec.update_strategy.rolling_update
    try:
        return replicas - (partition_of(rolling.partition, replicas) if rolling is not None else 0)
    except ValueError:
        return 0


def with_progress(
    owner: CloneSet, status: CloneSetStatus, now: datetime
) -> tuple[CloneSetStatus, float | None]:
    """Return the status with the Progressing condition, and the time until its deadline may be exceeded."""
    deadline = owner.spec.progress_deadline_seconds
    if deadline is None or deadline == INT32_MAX:
        left = tuple(each for each in status.conditions if each.type != PROGRESSING)
        return structs.replace(status, conditions=left), None
    held = find(status.conditions, PROGRESSING)
    wanted = _progress(owner, status, held, deadline, now)
    conditions = with_condition(status.conditions, wanted, now)
    changed = structs.replace(status, conditions=conditions)
    if wanted.reason != "CloneSetUpdated":
        return changed, None
    kept = find(conditions, PROGRESSING)
    since = kept.last_update_time if kept is not None else None
    return changed, _wait(since or now, deadline, now)


def _progress(
    owner: CloneSet, status: CloneSetStatus, held: CloneSetCondition | None, deadline: int, now: datetime
) -> CloneSetCondition:
    wanted, revision = owner.spec.wanted, status.update_revision
    whole = {status.replicas, status.updated_replicas, status.updated_available_replicas} == {wanted}
    if status.current_revision == revision and whole:
        return _condition("CloneSetAvailable", "CloneSet is available")
    if owner.spec.rolling.paused:
        return _condition("CloneSetPaused", "CloneSet is paused")
    if status.expected_updated_replicas < wanted and (
        status.expected_updated_replicas <= status.updated_available_replicas
    ):
        text = "CloneSet has been paused due to partition ready"
        return _condition("ProgressPartitionAvailable", text)
    if held is not None and _exceeded(held, deadline, now):
        return _condition(EXCEEDED, f"CloneSet revision {revision} has timed out progressing", "False")
    return _condition("CloneSetUpdated", "CloneSet is progressing")


def _exceeded(held: CloneSetCondition, deadline: int, now: datetime) -> bool:
    since = held.last_update_time
    return held.reason == EXCEEDED or (since is not None and since + timedelta(seconds=deadline) < now)


def _condition(reason: str, message: str, status: str = "True") -> CloneSetCondition:
    return CloneSetCondition(type=PROGRESSING, status=status, reason=reason, message=message)


def _wait(since: datetime, deadline: int, now: datetime) -> float:
    left = (since + timedelta(seconds=deadline) - now) / timedelta(seconds=1)
    return max(left, 0.0) + 1.0


def has_changed(old: CloneSetStatus, new: CloneSetStatus) -> bool:
    """Return whether a status is worth writing."""
    return structs.replace(old, conditions=()) != structs.replace(new, conditions=()) or _reasons(
        old
    ) != _reasons(new)


def _reasons(status: CloneSetStatus) -> list[tuple[str, str, str]]:
    return [(each.type, each.status, each.reason) for each in status.conditions]

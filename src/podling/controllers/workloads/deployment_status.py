"""The status of a Deployment's roll-out. Pure.

Upstream: ``progress.go`` and ``sync.go`` in ``pkg/controller/deployment``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import structs

from podling.api.apps_v1 import (
    Deployment,
    DeploymentCondition,
    DeploymentStatus,
    ReplicaSet,
    ReplicaSetStatus,
)
from podling.clock import seconds_precision
from podling.controllers.workloads.deployment_rules import available, max_unavailable, total, wanted
from podling.machinery.conditions import find, without
from podling.machinery.numbers import INT32_MAX

AVAILABLE = "Available"
PROGRESSING = "Progressing"
FAILURE = "ReplicaFailure"

FOUND = "FoundNewReplicaSet"
CREATED = "NewReplicaSetCreated"
CREATE_FAILED = "ReplicaSetCreateError"
UPDATED = "ReplicaSetUpdated"
COMPLETE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
RESUMED = "DeploymentResumed"

Conditions = tuple[DeploymentCondition, ...]


def has_deadline(deployment: Deployment) -> bool:
    return deployment.spec.progress_deadline_seconds not in (None, INT32_MAX)


def deadline_after(moment: datetime, deployment: Deployment) -> datetime:
    return moment + timedelta(seconds=deployment.spec.progress_deadline_seconds or 0)


def with_deployment_condition(conditions: Conditions, new: DeploymentCondition, now: datetime) -> Conditions:
    """Return the conditions with ``new``: the same status and reason change nothing, anything else goes to
    the end. A condition that brings its own times keeps them as far as its status is new."""
    old = find(conditions, new.type)
    if old is not None and (old.status, old.reason) == (new.status, new.reason):
        return conditions
    moment = seconds_precision(now)
    since = new.last_transition_time or moment
    if old is not None and old.status == new.status:
        since = old.last_transition_time or since
    updated = new.last_update_time or moment
    changed = structs.replace(new, last_update_time=updated, last_transition_time=since)
    return (*without(conditions, new.type), changed)


def progressing(status: str, reason: str, message: str) -> DeploymentCondition:
    return DeploymentCondition(type=PROGRESSING, status=status, reason=reason, message=message)


def pause_condition(deployment: Deployment) -> DeploymentCondition | None:
    """Return the condition to write when a deployment was paused or resumed since the last look."""
    if not has_deadline(deployment):
        return None
    condition = find(deployment.status.conditions, PROGRESSING)
    if condition is not None and condition.reason == TIMED_OUT:
        return None
    said = condition is not None and condition.reason == PAUSED
    if deployment.spec.paused and not said:
        return progressing("Unknown", PAUSED, "Deployment is paused")
    if not deployment.spec.paused and said:
        return progressing("Unknown", RESUMED, "Deployment is resumed")
    return None


def counted(
    deployment: Deployment, new: ReplicaSet | None, everyone: Sequence[ReplicaSet], now: datetime
) -> DeploymentStatus:
    """Return the status with its numbers, and whether enough pods are available.

    Pods that replica sets are to have and could not create are unavailable, too.
    """
    replicas, ready_to_serve = sum(each.status.replicas for each in everyone), available(everyone)
    enough = ready_to_serve >= wanted(deployment) - max_unavailable(deployment)
    condition = DeploymentCondition(
        type=AVAILABLE,
        status="True" if enough else "False",
        reason="MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        message="Deployment has minimum availability."
        if enough
        else "Deployment does not have minimum availability.",
    )
    status = deployment.status
    return structs.replace(
        status,
        observed_generation=deployment.metadata.generation,
        replicas=replicas,
        updated_replicas=new.status.replicas if new is not None else 0,
        ready_replicas=sum(each.status.ready_replicas or 0 for each in everyone),
        available_replicas=ready_to_serve,
        unavailable_replicas=min(INT32_MAX, max(0, total(everyone) - ready_to_serve)),
        terminating_replicas=_terminating(everyone),
        conditions=with_deployment_condition(status.conditions, condition, now),
    )


def _terminating(everyone: Sequence[ReplicaSet]) -> int | None:
    """Return the number of terminating pods; None if a replica set has been counted without its own.

    A replica set that its controller has not seen yet has no pods.
    """
    seen = [each.status for each in everyone if _is_counted(each.status)]
    counts = [status.terminating_replicas for status in seen]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _is_counted(status: ReplicaSetStatus) -> bool:
    return bool(status.observed_generation) or status.terminating_replicas is not None


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Return whether every wanted pod is new and available, and no other is left."""
    numbers = (status.updated_replicas or 0, status.replicas or 0, status.available_replicas or 0)
    seen = (status.observed_generation or 0) >= (deployment.metadata.generation or 0)
    return seen and all(number == wanted(deployment) for number in numbers)


def made_progress(old: DeploymentStatus, new: DeploymentStatus) -> bool:
    """Return whether pods were added, replaced, or became ready since the last status."""
    before, after = _progress(old), _progress(new)
    return any(later > earlier for earlier, later in zip(before, after, strict=True))


def _progress(status: DeploymentStatus) -> tuple[int, int, int, int]:
    updated = status.updated_replicas or 0
    outdated = (status.replicas or 0) - updated
    return updated, -outdated, status.ready_replicas or 0, status.available_replicas or 0


def timed_out(deployment: Deployment, status: DeploymentStatus, now: datetime) -> bool:
    """Return whether the last progress is longer ago than the deadline allows."""
    condition = find(status.conditions, PROGRESSING)
    if not has_deadline(deployment) or condition is None or condition.reason == COMPLETE:
        return False
    if condition.reason == TIMED_OUT:
        return True
    since = condition.last_update_time
    return since is not None and deadline_after(since, deployment) < now


def rollout_status(
    deployment: Deployment, new: ReplicaSet | None, everyone: Sequence[ReplicaSet], now: datetime
) -> DeploymentStatus:
    """Return the whole status during a roll-out."""
    status = counted(deployment, new, everyone, now)
    conditions = _progress_conditions(deployment, status, new, now)
    failure = _replica_failure(new, everyone)
    if failure is None:
        conditions = without(conditions, FAILURE)
    else:
        conditions = with_deployment_condition(conditions, failure, now)
    return structs.replace(status, conditions=conditions)


def _progress_conditions(
    deployment: Deployment, status: DeploymentStatus, new: ReplicaSet | None, now: datetime
) -> Conditions:
    conditions = status.conditions
    if not has_deadline(deployment):
        return without(conditions, PROGRESSING)
    current = find(conditions, PROGRESSING)
    all_new = status.replicas == status.updated_replicas
    if all_new and current is not None and current.reason == COMPLETE:
        return conditions
    who = f'ReplicaSet "{new.metadata.name}"' if new else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, status):
        condition = progressing("True", COMPLETE, f"{who} has successfully progressed.")
        return with_deployment_condition(conditions, condition, now)
    if made_progress(deployment.status, status):
        condition = progressing("True", UPDATED, f"{who} is progressing.")
        moment = seconds_precision(now)
        since = current.last_transition_time if current and current.status == "True" else moment
        condition = structs.replace(condition, last_update_time=moment, last_transition_time=since)
        return (*without(conditions, PROGRESSING), condition)
    if timed_out(deployment, status, now):
        condition = progressing("False", TIMED_OUT, f"{who} has timed out progressing.")
        return with_deployment_condition(conditions, condition, now)
    return conditions


def _replica_failure(new: ReplicaSet | None, everyone: Sequence[ReplicaSet]) -> DeploymentCondition | None:
    """Return the conditions of replica sets that failed to create pods, the new one's first."""
    for each in [*([new] if new is not None else []), *everyone]:
        failure = find(each.status.conditions, FAILURE)
        if failure is not None:
            return DeploymentCondition(
                type=FAILURE,
                status=failure.status,
                last_update_time=failure.last_transition_time,
                last_transition_time=failure.last_transition_time,
                reason=failure.reason,
                message=failure.message,
            )
    return None


def seconds_to_deadline(deployment: Deployment, status: DeploymentStatus, now: datetime) -> float | None:
    """When to look again at a roll-out that makes no progress; None if nothing will time out."""
    condition = find(status.conditions, PROGRESSING)
    if not has_deadline(deployment) or condition is None or condition.last_update_time is None:
        return None
    if condition.reason in (TIMED_OUT, COMPLETE) or is_complete(deployment, status):
        return None
    left = (deadline_after(condition.last_update_time, deployment) - now) / timedelta(seconds=1)
    return max(left, 0.0) + 1.0

"""Decisions about the life of ContainerRecreateRequests: deadlines, failures, copies of statuses. Pure.

Upstream: ``pkg/controller/containerrecreaterequest``.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from podling.api.core_v1 import Pod
from podling.api.meta_v1 import Condition
from podling.machinery.conditions import is_true, with_condition
from podling_kruise.recreate.conversion import GRACE_MESSAGE
from podling_kruise.recreate.types import (
    POD_UID,
    PRE_RECREATE_GRACE,
    UNREADY_ACQUIRED,
    ContainerRecreateRequest,
    Snapshot,
)

RESPONSE_SECONDS = 60
"""The time that the node has to begin."""
POD_GONE = "pod has gone"
NO_RESPONSE = "daemon has not responded for a long time"
DEADLINE = "recreating has exceeded the activeDeadlineSeconds"


def is_ended(request: ContainerRecreateRequest) -> bool:
    """Return whether the request is being deleted, or has come to its end."""
    return request.metadata.deletion_timestamp is not None or request.status.completion_time is not None


def holds_pod(request: ContainerRecreateRequest) -> bool:
    """Return whether the request may hold its pod not ready."""
    return UNREADY_ACQUIRED in request.metadata.finalizers


def failure_of(request: ContainerRecreateRequest, pod: Pod | None, now: datetime) -> str:
    """Return why the request ends now, without success; empty if it goes on."""
    if pod is None or pod.metadata.deletion_timestamp is not None:
        return POD_GONE
    if pod.metadata.uid != request.metadata.labels.get(POD_UID):
        return POD_GONE
    if not request.status.phase and _seconds_left(request, RESPONSE_SECONDS, now) <= 0:
        return NO_RESPONSE
    deadline = request.spec.active_deadline_seconds
    if deadline is not None and _seconds_left(request, deadline, now) <= 0:
        return DEADLINE
    return ""


def seconds_to_check(request: ContainerRecreateRequest, now: datetime) -> float | None:
    """Return the time until the request may have to end; None if it has all the time."""
    limits = [] if request.status.phase else [RESPONSE_SECONDS]
    if request.spec.active_deadline_seconds is not None:
        limits.append(request.spec.active_deadline_seconds)
    return min((_seconds_left(request, each, now) for each in limits), default=None)


def seconds_to_deletion(request: ContainerRecreateRequest, now: datetime) -> float | None:
    """Return the time until an ended request is deleted; None if it stays."""
    seconds, end = request.spec.ttl_seconds_after_finished, request.status.completion_time
    if seconds is None or end is None:
        return None
    return (end + timedelta(seconds=seconds) - now) / timedelta(seconds=1)


def snapshot_of(request: ContainerRecreateRequest, pod: Pod) -> tuple[Snapshot, ...]:
    """Return the statuses of the containers that were started after the creation of the request.

    While none of them runs, the last statuses stay.
    """
    statuses = {each.name: each for each in pod.status.container_statuses}
    created = request.metadata.creation_timestamp
    found = []
    for wanted in request.spec.containers:
        status = statuses.get(wanted.name)
        started = status.state.running.started_at if status and status.state.running else None
        if status is None or started is None or (created is not None and started < created):
            continue
        found.append(
            Snapshot(
                name=status.name,
                ready=status.ready,
                restart_count=status.restart_count,
                container_id=status.container_id or "",
            )
        )
    return tuple(found) or request.status.container_status_snapshot


def grace_begun(request: ContainerRecreateRequest, now: datetime) -> tuple[Condition, ...]:
    """Return the conditions of a request whose pod is not ready from now on; the same ones if it was."""
    conditions = request.status.conditions
    if is_true(conditions, PRE_RECREATE_GRACE):
        return conditions
    new = Condition(type=PRE_RECREATE_GRACE, status="True", reason=PRE_RECREATE_GRACE, message=GRACE_MESSAGE)
    return with_condition(conditions, new, now)


def _seconds_left(request: ContainerRecreateRequest, seconds: int, now: datetime) -> float:
    created = request.metadata.creation_timestamp or now
    return (created + timedelta(seconds=seconds) - now) / timedelta(seconds=1)

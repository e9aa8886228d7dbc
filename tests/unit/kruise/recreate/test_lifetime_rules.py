"""Ends of requests, and the statuses that they copy from their pods."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.machinery.encoding import codec
from podling_kruise.recreate.lifetime_rules import (
    failure_of,
    seconds_to_check,
    seconds_to_deletion,
    snapshot_of,
)
from podling_kruise.recreate.types import ContainerRecreateRequest

CREATED = datetime(2026, 1, 1, tzinfo=UTC)


def request(phase: str = "", **spec: Any) -> ContainerRecreateRequest:
    labels = {"crr.apps.kruise.io/pod-uid": "u"}
    plain = {
        "metadata": {"name": "again", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": labels},
        "spec": {"podName": "web", "containers": [{"name": "app"}, {"name": "beside"}], **spec},
        "status": {"phase": phase},
    }
    return codec.from_plain(plain, ContainerRecreateRequest)


def pod(uid: str = "u", *statuses: dict[str, Any]) -> Pod:
    return codec.from_plain({"metadata": {"uid": uid}, "status": {"containerStatuses": list(statuses)}}, Pod)


@pytest.mark.parametrize(
    ("made", "found", "seconds", "failure"),
    [
        (request(), pod(), 59, ""),
        (request(), pod(), 60, "daemon has not responded for a long time"),
        (request("Recreating"), pod(), 600, ""),
        (request("Recreating", activeDeadlineSeconds=90), pod(), 89, ""),
        (
            request("Recreating", activeDeadlineSeconds=90),
            pod(),
            90,
            "recreating has exceeded the activeDeadlineSeconds",
        ),
        (request("Recreating"), None, 1, "pod has gone"),
        (request("Recreating"), pod("another"), 1, "pod has gone"),
    ],
)
def test_request_ends_without_success(
    made: ContainerRecreateRequest, found: Pod | None, seconds: int, failure: str
) -> None:
    assert failure_of(made, found, CREATED + timedelta(seconds=seconds)) == failure


def test_request_is_looked_at_again_at_its_nearest_limit() -> None:
    now = CREATED + timedelta(seconds=10)
    assert seconds_to_check(request(activeDeadlineSeconds=30), now) == 20
    assert seconds_to_check(request(activeDeadlineSeconds=300), now) == 50
    assert seconds_to_check(request("Recreating"), now) is None


@pytest.mark.parametrize(
    ("spec", "status", "left"),
    [
        ({"ttlSecondsAfterFinished": 60}, {"completionTime": "2026-01-01T00:00:00Z"}, 50),
        ({"ttlSecondsAfterFinished": 0}, {"completionTime": "2026-01-01T00:00:00Z"}, -10),
        ({"ttlSecondsAfterFinished": 60}, {}, None),
        ({}, {"completionTime": "2026-01-01T00:00:00Z"}, None),
    ],
)
def test_ended_request_is_deleted_after_its_time(
    spec: dict[str, Any], status: dict[str, Any], left: float | None
) -> None:
    plain = {"metadata": {"name": "again"}, "spec": {"podName": "web", "containers": [], **spec}}
    made = codec.from_plain({**plain, "status": {"phase": "Completed", **status}}, ContainerRecreateRequest)
    assert seconds_to_deletion(made, CREATED + timedelta(seconds=10)) == left


def status(name: str, started: str) -> dict[str, Any]:
    state = {"running": {"startedAt": started}}
    return {"name": name, "ready": True, "restartCount": 1, "containerID": "sim://new", "state": state}


def test_containers_from_before_the_request_are_not_copied() -> None:
    found = pod("u", status("app", "2026-01-01T00:00:01Z"), status("beside", "2025-12-31T23:59:59Z"))
    assert [each.name for each in snapshot_of(request("Recreating"), found)] == ["app"]

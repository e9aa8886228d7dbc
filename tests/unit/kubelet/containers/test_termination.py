"""Grace periods and the order of termination, as tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod, PodSpec
from podling.kubelet.containers.init_actions import KillReason
from podling.kubelet.containers.termination import grace_seconds, stop_grace, waits_for

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def pod(deletion: int | None = None, spec: int | None = 30, **more: Any) -> Pod:
    metadata: dict[str, Any] = {"name": "web", "namespace": "default", "uid": "u"}
    if deletion is not None:
        metadata |= {"deletionTimestamp": at(deletion).isoformat(), "deletionGracePeriodSeconds": deletion}
    liveness = {"terminationGracePeriodSeconds": 60}
    containers = [{"name": "app", "livenessProbe": liveness, "startupProbe": {}}]
    plain = {"metadata": metadata, "spec": {"containers": containers, **more}}
    if spec is not None:
        plain["spec"]["terminationGracePeriodSeconds"] = spec
    return msgspec.convert(plain, Pod)


@pytest.mark.parametrize(
    ("subject", "reason", "override", "grace"),
    [
        (pod(), KillReason.POD, None, 30),
        (pod(), KillReason.POD, 5, 5),
        (pod(), KillReason.LIVENESS, None, 60),
        (pod(), KillReason.STARTUP, None, 30),
        (pod(deletion=10), KillReason.LIVENESS, None, 10),
        (pod(deletion=10), KillReason.POD, 3, 3),
        (pod(spec=None), KillReason.POD, None, 2),
        (pod(spec=0), KillReason.POD, None, 0),
    ],
)
def test_grace_period_depends_on_the_kill_reason(
    subject: Pod, reason: KillReason, override: int | None, grace: int
) -> None:
    assert grace_seconds(subject, subject.spec.containers[0], reason, override) == grace


def test_stop_grace_is_two_seconds_at_least() -> None:
    assert [stop_grace(left) for left in (30, 2, 1, 0, -5)] == [30, 2, 2, 2, 2]


def test_sidecars_wait_for_later_containers() -> None:
    sidecars = [{"name": name, "restartPolicy": "Always"} for name in ("s1", "s2", "s3")]
    init = [{"name": "setup"}, *sidecars]
    spec = msgspec.convert({"initContainers": init, "containers": [{"name": "a"}, {"name": "b"}]}, PodSpec)
    assert waits_for(spec, "a") == ()
    assert waits_for(spec, "setup") == ()
    assert waits_for(spec, "s3") == ("a", "b")
    assert waits_for(spec, "s1") == ("a", "b", "s2", "s3")

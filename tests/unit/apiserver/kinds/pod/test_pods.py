"""Tests of the rules of pods."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.machinery.encoding import codec
from tests.support.manifests import PLAIN_POD, obj, pod, rules


@pytest.mark.parametrize(
    ("manifest", "requested", "grace"),
    [
        ("spec: {nodeName: n1}", None, 30),
        ("spec: {nodeName: n1}", 5, 5),
        ("spec: {nodeName: n1}", 0, 0),
        ("spec: {nodeName: n1, terminationGracePeriodSeconds: -1}", None, 1),
        ("", None, 0),
        ("spec: {nodeName: n1}\nstatus: {phase: Failed}", 30, 0),
    ],
)
def test_deletion_of_pod_uses_requested_or_own_grace(
    manifest: str, requested: int | None, grace: int
) -> None:
    pod = rules(Pod).default(obj(Pod, manifest, PLAIN_POD))
    assert rules(Pod).grace_for(pod, requested) == grace


def plain(made: Any) -> Any:
    return codec.to_plain(made)


def test_new_pod_is_pending_with_quality_of_service() -> None:
    status = pod("status: {phase: Running, message: mine}").status
    assert plain(status) == {"phase": "Pending", "qosClass": "BestEffort"}


def test_gated_pod_has_scheduling_gated_condition() -> None:
    (condition,) = pod("spec: {schedulingGates: [{name: wait}]}").status.conditions
    assert plain(condition) == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    }

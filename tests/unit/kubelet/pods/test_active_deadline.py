"""Active deadlines of pods, as a table."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podling.api.core_v1 import PodStatus
from podling.kubelet.pods.active_deadline import deadline_verdict
from tests.support.kubelet_node import pod
from tests.unit.kubelet.instances import NOON


@pytest.mark.parametrize(
    ("seconds", "started", "age", "over"),
    [(60, True, 59, False), (60, True, 60, True), (None, True, 10**6, False), (60, False, 10**6, False)],
)
def test_pod_is_over_at_its_deadline(seconds: int | None, started: bool, age: int, over: bool) -> None:
    subject = pod() if seconds is None else pod(activeDeadlineSeconds=seconds)
    status = PodStatus(start_time=NOON if started else None)
    verdict = deadline_verdict(subject, status, NOON + timedelta(seconds=age))
    assert (verdict is not None and verdict.reason == "DeadlineExceeded") == over

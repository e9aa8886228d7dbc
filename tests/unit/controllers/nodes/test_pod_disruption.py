"""Pods that the control plane ends: their condition and phase."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podling.api.core_v1 import Pod, PodStatus
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.nodes.pod_disruption import disrupted, failed
from podling.sim.loop import EPOCH


def pod(phase: str) -> Pod:
    return Pod(metadata=ObjectMeta(name="p", generation=3), status=PodStatus(phase=phase))


def test_disrupted_pod_has_condition_with_reason_and_time() -> None:
    (condition,) = disrupted(pod("Running"), "DeletionByTaintManager", "tainted", EPOCH).status.conditions
    assert (condition.type, condition.status) == ("DisruptionTarget", "True")
    assert (condition.reason, condition.message) == ("DeletionByTaintManager", "tainted")
    assert (condition.last_transition_time, condition.observed_generation) == (EPOCH, 3)


def test_second_disruption_for_the_same_reason_returns_the_same_pod() -> None:
    once = disrupted(pod("Running"), "Reason", "text", EPOCH)
    assert disrupted(once, "Reason", "text", EPOCH + timedelta(hours=1)) is once


def test_other_reason_replaces_the_condition() -> None:
    once = disrupted(pod("Running"), "Reason", "text", EPOCH)
    (condition,) = disrupted(once, "Other", "text", EPOCH).status.conditions
    assert condition.reason == "Other"


@pytest.mark.parametrize(
    ("before", "after"),
    [("Pending", "Failed"), ("Running", "Failed"), ("Succeeded", "Succeeded"), ("Failed", "Failed")],
)
def test_final_phase_is_kept_when_a_pod_fails(before: str, after: str) -> None:
    assert failed(pod(before)).status.phase == after

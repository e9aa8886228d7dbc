"""Explanations for PodDisruptionBudgets that allow no eviction."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Event, Pod
from podling.api.policy_v1 import PodDisruptionBudget
from podling.cli.evidence import Explanation
from podling.cli.workloads.budgets import explain_budget

ILL = Explanation(area="probe", reason="Unhealthy", text="Its probe fails.", advice="Look at its log.")


def budget(allowed: int, healthy: int, needed: int, expected: int, **more: Any) -> PodDisruptionBudget:
    status = {
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": needed,
        "expectedPods": expected,
        "observedGeneration": 2,
    }
    plain = {
        "metadata": {"name": "keep", "namespace": "shop", "generation": more.pop("generation", 2)},
        "spec": {"selector": {}, "unhealthyPodEvictionPolicy": more.pop("policy", "IfHealthyBudget")},
        "status": status | more,
    }
    return msgspec.convert(plain, PodDisruptionBudget)


def pod(name: str) -> Pod:
    return msgspec.convert({"metadata": {"name": name}}, Pod)


@pytest.mark.parametrize(
    ("found", "reason", "says"),
    [
        (budget(1, 3, 2, 3), "SufficientPods", "allows 1 eviction now: 3 healthy pods, of which 2 must stay"),
        (
            budget(2, 2, 0, 2),
            "SufficientPods",
            "allows 2 evictions now: 2 healthy pods, of which 0 must stay",
        ),
        (
            budget(0, 3, 3, 3),
            "InsufficientPods",
            "allows no eviction, even with all pods healthy: 3 of 3 must stay",
        ),
        (
            budget(0, 4, 5, 4),
            "InsufficientPods",
            "allows no eviction, even with all pods healthy: 5 of 4 must stay",
        ),
        (budget(0, 0, 0, 0), "NoPods", "selects no pods"),
        (budget(0, 2, 2, 3), "InsufficientPods", "2 pods are healthy, 2 of 3 must stay"),
        (budget(1, 3, 2, 3, generation=3), "NotObserved", "not been looked at since its last change"),
        (
            budget(0, 2, 2, 3, disruptedPods={"web-1": "2026-01-01T12:00:00Z"}),
            "InsufficientPods",
            "because of those that it has allowed: web-1",
        ),
    ],
)
def test_budget_is_explained_by_its_numbers(found: PodDisruptionBudget, reason: str, says: str) -> None:
    answer = explain_budget(found, [], [])
    assert (answer.reason, answer.healthy) == (reason, reason == "SufficientPods")
    assert says in answer.text


def test_budget_that_could_not_be_computed() -> None:
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "SyncFailed",
        "message": "found no controllers for pod",
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    }
    plain = {"reason": "CalculateExpectedPodCountFailed", "message": "no scale", "involvedObject": {}}
    recorded = msgspec.convert(plain, Event)
    answer = explain_budget(budget(0, 2, 2, 3, conditions=[condition]), [], [recorded])
    assert answer.reason == "SyncFailed"
    assert "could not be computed: found no controllers for pod." in answer.text
    assert [each.name for each in answer.evidence] == ["DisruptionAllowed", "CalculateExpectedPodCountFailed"]


@pytest.mark.parametrize(("policy", "offered"), [("IfHealthyBudget", True), ("AlwaysAllow", False)])
def test_pod_that_is_not_ready_explains_the_budget(policy: str, offered: bool) -> None:
    answer = explain_budget(budget(0, 2, 2, 3, policy=policy), [(pod("web-1"), ILL)], [])
    assert answer.text.endswith("One that is not is web-1: Its probe fails.")
    assert answer.advice.startswith("Look at its log.")
    assert ("unhealthyPodEvictionPolicy" in answer.advice) == offered

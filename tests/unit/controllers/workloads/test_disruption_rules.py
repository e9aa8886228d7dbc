"""The numbers of a PodDisruptionBudget: expected and healthy pods, and evictions that are under way."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import Pod, PodCondition, PodStatus
from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement, ObjectMeta
from podling.api.policy_v1 import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from podling.controllers.workloads.disruption_rules import (
    DELETION_TIMEOUT,
    Expectation,
    expectation,
    failed_status,
    go_text,
    promised,
    status_of,
)
from podling.sim.loop import EPOCH as NOW


def budget(**spec: Any) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": "web"}), **spec),
    )


@pytest.mark.parametrize(
    ("spec", "pods", "scale", "expected"),
    [
        ({"min_available": 2}, 5, 0, Expectation(5, 2)),
        ({"min_available": "30%"}, 5, 10, Expectation(10, 3)),
        ({"min_available": "31%"}, 5, 10, Expectation(10, 4)),
        ({"max_unavailable": 1}, 5, 10, Expectation(10, 9)),
        ({"max_unavailable": "25%"}, 5, 10, Expectation(10, 7)),
        ({"max_unavailable": 20}, 5, 10, Expectation(10, 0)),
        ({"min_available": 0}, 5, 0, Expectation(5, 0)),
        ({"min_available": "28%"}, 5, 102, Expectation(102, 29)),
        ({"max_unavailable": "30%"}, 5, 7, Expectation(7, 4)),
        ({}, 5, 10, Expectation(0, 0)),
    ],
)
def test_budget_and_scale_decide_expectation(
    spec: dict[str, Any], pods: int, scale: int, expected: Expectation
) -> None:
    assert expectation(budget(**spec), pods, scale) == expected


def test_failure_allows_nothing_and_observes_no_generation() -> None:
    held = budget(min_available=1)
    held = structs.replace(
        held,
        metadata=structs.replace(held.metadata, generation=3),
        status=PodDisruptionBudgetStatus(
            observed_generation=2,
            disruptions_allowed=1,
            current_healthy=4,
            desired_healthy=1,
            expected_pods=4,
        ),
    )
    status = failed_status(held, "why", NOW)
    assert (status.disruptions_allowed, status.observed_generation, status.current_healthy) == (0, 2, 4)
    (condition,) = status.conditions
    assert (condition.status, condition.reason, condition.message) == ("False", "SyncFailed", "why")
    assert condition.observed_generation == 2


@pytest.mark.parametrize(
    ("expected", "healthy", "allowed", "reason"),
    [
        (Expectation(3, 2), 3, 1, "SufficientPods"),
        (Expectation(3, 3), 3, 0, "InsufficientPods"),
        (Expectation(3, 3), 1, 0, "InsufficientPods"),
        (Expectation(0, 0), 3, 0, "InsufficientPods"),
    ],
)
def test_healthy_pods_beyond_the_desired_ones_may_go(
    expected: Expectation, healthy: int, allowed: int, reason: str
) -> None:
    status = status_of(budget(), expected, healthy, {}, NOW)
    assert (status.disruptions_allowed, status.conditions[0].reason) == (allowed, reason)


def pod(name: str, *, deleted: bool = False) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=name, deletion_timestamp=NOW if deleted else None),
        status=PodStatus(conditions=(PodCondition(type="Ready", status="True"),)),
    )


def test_promised_evictions_count_as_gone_for_two_minutes() -> None:
    promises = {
        "fresh": NOW - timedelta(seconds=30),
        "edge": NOW - DELETION_TIMEOUT,
        "broken": NOW - timedelta(seconds=121),
        "deleted": NOW,
        "gone": NOW,
    }
    held = budget(min_available=1)
    held = structs.replace(held, status=structs.replace(held.status, disrupted_pods=promises))
    pods = [pod("fresh"), pod("edge"), pod("broken"), pod("deleted", deleted=True), pod("other")]
    found = promised(held, pods, NOW)
    assert set(found.pods) == {"fresh", "edge"}
    assert [each.metadata.name for each in found.broken] == ["broken"]
    assert found.seconds == 0


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (None, "nil"),
        (
            LabelSelector(match_labels={"b": "2", "a": "1"}),
            "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},"
            "MatchExpressions:[]LabelSelectorRequirement{},}",
        ),
        (
            LabelSelector(
                match_expressions=(LabelSelectorRequirement(key="a", operator="In", values=("x", "y")),)
            ),
            "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{"
            "LabelSelectorRequirement{Key:a,Operator:In,Values:[x y],},},}",
        ),
    ],
)
def test_selector_is_written_as_go_does(selector: LabelSelector | None, text: str) -> None:
    assert go_text(selector) == text

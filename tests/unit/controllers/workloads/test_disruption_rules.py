"""The number of healthy pods that a PodDisruptionBudget expects."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.api.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from podling.controllers.workloads.disruption_rules import Expectation, expectation


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
    ],
)
def test_budget_and_scale_decide_expectation(
    spec: dict[str, Any], pods: int, scale: int, expected: Expectation
) -> None:
    assert expectation(budget(**spec), pods, scale) == expected

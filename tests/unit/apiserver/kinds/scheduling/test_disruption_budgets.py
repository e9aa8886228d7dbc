"""Tests of the rules of PodDisruptionBudgets."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.policy_v1 import PodDisruptionBudget
from tests.support.causes import Cause, KindRow, invalid, required, unsupported
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

METADATA: dict[str, Any] = {"name": "x", "namespace": "default"}
VALID: dict[type[Any], dict[str, Any]] = {
    PodDisruptionBudget: {"metadata": METADATA, "spec": {"minAvailable": 1}},
}


@pytest.mark.parametrize(
    ("kind", "text", "subresource", "expected"),
    [
        (
            PodDisruptionBudget,
            "status: {expectedPods: -1, conditions: [{type: Ok, status: Maybe, reason: ''}]}",
            "status",
            [
                unsupported("status.conditions[0].status", "Maybe", "False", "True", "Unknown"),
                required("status.conditions[0].lastTransitionTime", "must be set"),
                required("status.conditions[0].reason", "must be set"),
                invalid("status.expectedPods", "-1", "must be greater than or equal to 0"),
            ],
        ),
    ],
)
def test_change_of_disruption_budget_is_validated(
    kind: type[Any], text: str, subresource: str, expected: list[Cause]
) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old, subresource) == expected


NEW_OBJECTS: list[KindRow] = [
    (PodDisruptionBudget, "spec: {minAvailable: 50%}", []),
    (
        PodDisruptionBudget,
        "spec: {minAvailable: 1, maxUnavailable: 1}",
        [
            invalid(
                "spec",
                '{"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}',
                "minAvailable and maxUnavailable cannot be both set",
            )
        ],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_disruption_budget_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        PodDisruptionBudget,
        "spec: {minAvailable: 50%}\nstatus: {disruptionsAllowed: 1}",
        ["x", "50%", "N/A", 1, "5m"],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_disruption_budget_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW)) == expected


INVALID: list[KindRow] = [
    (PodDisruptionBudget, "", []),
    (
        PodDisruptionBudget,
        "spec: {minAvailable: 101%}",
        [invalid("spec.minAvailable", '"101%"', "must not be greater than 100%")],
    ),
    (
        PodDisruptionBudget,
        "spec: {unhealthyPodEvictionPolicy: Never}",
        [unsupported("spec.unhealthyPodEvictionPolicy", "Never", "AlwaysAllow", "IfHealthyBudget")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_disruption_budget_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected

"""Tests of the rules of PriorityClasses."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.scheduling_v1 import PriorityClass
from tests.support.causes import Cause, KindRow, forbidden, required, unsupported
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

VALID: dict[type[Any], dict[str, Any]] = {
    PriorityClass: {"metadata": {"name": "x"}, "value": 10},
}


@pytest.mark.parametrize(
    ("kind", "text", "subresource", "expected"),
    [
        (PriorityClass, "value: 11", "", [forbidden("value", "may not be changed in an update.")]),
    ],
)
def test_change_of_priority_class_is_validated(
    kind: type[Any], text: str, subresource: str, expected: list[Cause]
) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old, subresource) == expected


NEW_OBJECTS: list[KindRow] = [
    (
        PriorityClass,
        "value: 1000000001",
        [forbidden("value", "maximum allowed value of a user defined priority is 1000000000")],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_priority_class_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


@pytest.mark.parametrize(
    ("kind", "before", "after", "field"),
    [
        (PriorityClass, "value: 1", "value: 2", "value"),
    ],
)
def test_immutable_field_of_priority_class_cannot_change(
    kind: type[Any], before: str, after: str, field: str
) -> None:
    old = created(obj(kind, f"{AGED}\n{before}"))
    found = change_causes(obj(kind, f"{AGED}\n{after}"), old)
    assert [(cause[0], cause[1]) for cause in found] == [(field, "FieldValueForbidden")]


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (PriorityClass, "value: 7\npreemptionPolicy: Never", ["x", 7, False, "5m", "Never"]),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_priority_class_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW)) == expected


INVALID: list[KindRow] = [
    (PriorityClass, "", []),
    (
        PriorityClass,
        "value: 2000000000",
        [forbidden("value", "maximum allowed value of a user defined priority is 1000000000")],
    ),
    (
        PriorityClass,
        "metadata: {name: system-mine}\npreemptionPolicy: Always",
        [
            forbidden(
                "metadata.name",
                "priority class names with 'system-' prefix are reserved for system use only. "
                "error: system-mine is not a known system priority class",
            ),
            unsupported("preemptionPolicy", "Always", "PreemptLowerPriority", "Never"),
        ],
    ),
    *[
        (
            PriorityClass,
            f"{{metadata: {{name: system-node-critical}}, preemptionPolicy: '', {text}}}",
            [
                forbidden(
                    "metadata.name",
                    "priority class names with 'system-' prefix are reserved for system use only. "
                    f"error: {why}",
                ),
                required("preemptionPolicy"),
            ],
        )
        for text, why in (
            ("value: 1", "value of system-node-critical PriorityClass must be 2000001000"),
            (
                "value: 2000001000, globalDefault: true",
                "globalDefault of system-node-critical PriorityClass must be false",
            ),
        )
    ],
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_priority_class_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected

"""Tests of the rules of RuntimeClasses."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.node_v1 import RuntimeClass
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import LABEL_TEXT, Cause, KindRow, duplicate, invalid, unsupported
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

VALID: dict[type[Any], dict[str, Any]] = {
    RuntimeClass: {"metadata": {"name": "x"}, "handler": "runc"},
}


@pytest.mark.parametrize(("kind", "plain"), VALID.items())
def test_valid_runtime_class_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


INVALID: list[KindRow] = [
    (RuntimeClass, "handler: Runc", [invalid("handler", '"Runc"', LABEL_TEXT)]),
    (
        RuntimeClass,
        "overhead: {podFixed: {cpu: -1}}",
        [invalid("overhead.limits[cpu]", '"-1"', "must be greater than or equal to 0")],
    ),
    (
        RuntimeClass,
        "scheduling: {tolerations: [{key: a, operator: Near}]}",
        [unsupported("scheduling.tolerations[0].operator", "Near", "Equal", "Exists")],
    ),
    (
        RuntimeClass,
        "scheduling: {tolerations: [{key: a, effect: NoExecute}, "
        "{key: a, effect: NoExecute, tolerationSeconds: 5}]}",
        [duplicate("scheduling.tolerations[1]", '{"effect":"NoExecute","key":"a","tolerationSeconds":5}')],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_runtime_class_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (RuntimeClass, "handler: kata", [invalid("handler", '"kata"', "field is immutable")]),
    ],
)
def test_change_of_runtime_class_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


ROW = tuple[type[Any], str, list[str]]
WARNINGS: list[ROW] = [
    (
        RuntimeClass,
        "{handler: x, scheduling: {nodeSelector: {beta.kubernetes.io/os: linux}}}",
        ['scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead'],
    ),
    (RuntimeClass, "handler: x", []),
]


def warnings_of(thing: Any, old: Any = None) -> list[str]:
    return rules(type(thing)).warnings(thing, old, Context(NOW))


@pytest.mark.parametrize(("kind", "text", "expected"), WARNINGS)
def test_warnings_about_runtime_class_are_returned(kind: type[Any], text: str, expected: list[str]) -> None:
    assert warnings_of(created(obj(kind, text))) == expected

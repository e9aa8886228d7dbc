"""Tests of the rules of ControllerRevisions."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apps_v1 import ControllerRevision
from tests.support.causes import Cause, KindRow, invalid, required
from tests.support.manifests import change_causes, created, creation_causes, obj

VALID: dict[type[Any], dict[str, Any]] = {
    ControllerRevision: {
        "metadata": {"name": "x", "namespace": "default"},
        "data": {"a": 1},
        "revision": 1,
    },
}


@pytest.mark.parametrize(("kind", "plain"), VALID.items())
def test_valid_controller_revision_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


INVALID: list[KindRow] = [
    (ControllerRevision, "data: null", [required("data", "data is mandatory")]),
    (
        ControllerRevision,
        "revision: -1",
        [invalid("revision", "-1", "must be greater than or equal to 0")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_controller_revision_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (ControllerRevision, "data: {a: 2}", [invalid("data", '{"a":2}', "field is immutable")]),
        (ControllerRevision, "revision: 2", []),
    ],
)
def test_change_of_controller_revision_is_validated(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("{}", []),
        ("null", [required("data", "data is mandatory")]),
        ("[1]", [required("data", "data must be a valid JSON object")]),
    ],
)
def test_controller_revision_holds_an_object(data: str, expected: list[Cause]) -> None:
    text = f"{{metadata: {{name: a}}, revision: 1, data: {data}}}"
    assert creation_causes(obj(ControllerRevision, text)) == expected

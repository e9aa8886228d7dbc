"""Tests of the rules of Namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Namespace
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import Cause, KindRow, causes, invalid
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

INVALID: list[KindRow] = [
    (
        Namespace,
        "spec: {finalizers: [mine]}",
        [
            invalid(
                "spec.finalizers",
                '"mine"',
                "name is neither a standard finalizer name nor is it fully qualified",
            )
        ],
    ),
]
VALID: dict[type[Any], dict[str, Any]] = {
    Namespace: {"metadata": {"name": "x"}},
}


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_namespace_is_refused_with_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


@pytest.mark.parametrize(
    ("kind", "text", "subresource", "expected"),
    [
        (Namespace, "spec: {finalizers: [mine]}", "", []),
        (
            Namespace,
            "spec: {finalizers: [mine]}",
            "finalize",
            [
                invalid(
                    "spec.finalizers[0]",
                    '"mine"',
                    "name is neither a standard finalizer name nor is it fully qualified",
                )
            ],
        ),
        (
            Namespace,
            "status: {phase: Terminating}",
            "status",
            [
                invalid(
                    "status.Phase", '"Terminating"', "may only be 'Active' if `deletionTimestamp` is empty"
                )
            ],
        ),
    ],
)
def test_change_of_namespace_is_validated(
    kind: type[Any], text: str, subresource: str, expected: list[Cause]
) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old, subresource) == expected


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (Namespace, "status: {phase: Active}", ["x", "Active", "5m"]),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_namespace_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW))[: len(expected)] == expected


def test_new_namespace_is_active_with_finalizer_and_label() -> None:
    namespace = created(obj(Namespace, "metadata: {name: team}\nspec: {finalizers: [example.com/x]}"))
    assert namespace.status.phase == "Active"
    assert namespace.spec.finalizers == ("example.com/x", "kubernetes")
    assert namespace.metadata.labels == {"kubernetes.io/metadata.name": "team"}


def test_only_finalize_changes_finalizers_of_namespace() -> None:
    own, old = rules(Namespace), created(obj(Namespace, "metadata: {name: team}"))
    emptied = obj(Namespace, "metadata: {name: team}")
    assert own.prepare_update(emptied, old, Context(NOW)).spec.finalizers == ("kubernetes",)
    finalized = own.prepare_update(emptied, old, Context(NOW, subresource="finalize"))
    assert finalized.spec.finalizers == ()
    assert finalized.status.phase == "Active"
    assert own.has_other_finalizers(old)
    assert not own.has_other_finalizers(finalized)
    assert own.mark_deleted(old).status.phase == "Terminating"


def test_namespace_terminates_only_when_deleted() -> None:
    old = created(obj(Namespace, "metadata: {name: team}"))
    new = obj(Namespace, "metadata: {name: team}\nstatus: {phase: Terminating}")
    assert causes(rules(Namespace).validate_update(new, old, Context(NOW, subresource="status"))) == [
        invalid("status.Phase", '"Terminating"', "may only be 'Active' if `deletionTimestamp` is empty")
    ]

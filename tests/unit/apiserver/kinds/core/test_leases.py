"""Tests of the rules of Leases."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.coordination_v1 import Lease
from tests.support.causes import Cause, KindRow, forbidden, invalid, unsupported
from tests.support.manifests import NOW, created, creation_causes, obj, rules

NEW_OBJECTS: list[KindRow] = [
    (
        Lease,
        "spec: {leaseDurationSeconds: 0}",
        [invalid("spec.leaseDurationSeconds", "0", "must be greater than 0")],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_lease_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (Lease, "spec: {holderIdentity: me}", ["x", "me", "5m"]),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_lease_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW)) == expected


INVALID: list[KindRow] = [
    (Lease, "", []),
    (
        Lease,
        "spec: {leaseDurationSeconds: 0, leaseTransitions: -1, preferredHolder: me}",
        [
            invalid("spec.leaseDurationSeconds", "0", "must be greater than 0"),
            invalid("spec.leaseTransitions", "-1", "must be greater than or equal to 0"),
            forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"),
        ],
    ),
    (
        Lease,
        "spec: {strategy: Newest}",
        [unsupported("spec.strategy.strategy", "Newest", "OldestEmulationVersion")],
    ),
    (Lease, "spec: {strategy: example.com/newest}", []),
]
METADATA: dict[str, Any] = {"name": "x", "namespace": "default"}
VALID: dict[type[Any], dict[str, Any]] = {
    Lease: {"metadata": METADATA, "spec": {"leaseDurationSeconds": 15}},
}


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_lease_is_refused_with_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected

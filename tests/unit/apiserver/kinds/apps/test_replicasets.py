"""Tests of the rules of ReplicaSets and ReplicationControllers."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apps_v1 import ReplicaSet
from podling.api.core_v1 import ReplicationController
from tests.support.causes import Cause, KindRow, invalid, required
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules
from tests.support.workload_manifests import WORKLOAD, base, make, spec_of

WHOLE = "cannot be greater than status.replicas"
STATUSES: list[KindRow] = [
    (
        ReplicaSet,
        "replicas: 1, fullyLabeledReplicas: 2",
        [invalid("status.fullyLabeledReplicas", "2", WHOLE)],
    ),
    (
        ReplicationController,
        "replicas: 1, readyReplicas: 2",
        [invalid("status.readyReplicas", "2", WHOLE)],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), STATUSES)
def test_status_counts_of_replica_set_are_validated(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    before = "status: {replicas: 0, collisionCount: 2}" if "collision" in text else "status: {replicas: 0}"
    old = obj(kind, before, base(kind))
    assert change_causes(obj(kind, f"status: {{{text}}}", base(kind)), old, "status") == expected


OTHER = "{matchLabels: {app: api}}"
RELABELLED = f"spec: {{selector: {OTHER}, template: {{metadata: {{labels: {{app: api}}}}}}}}"
CHANGES: list[KindRow] = [
    *(
        (kind, RELABELLED, [invalid("spec.selector", '{"matchLabels":{"app":"api"}}', "field is immutable")])
        for kind in (ReplicaSet,)
    ),
    (ReplicationController, "spec: {selector: {app: api}, template: {metadata: {labels: {app: api}}}}", []),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_change_of_replica_set_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", base(kind)))
    assert change_causes(obj(kind, text, base(kind)), old) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (ReplicaSet, {"replicas": 1}),
        (ReplicationController, {"replicas": 1}),
    ],
)
def test_defaults_of_replica_set_are_filled_in(kind: type[Any], expected: dict[str, Any]) -> None:
    assert spec_of(make(kind)) == expected


NEW_OBJECTS: list[KindRow] = [
    *(
        (kind, "", [])
        for kind in (
            ReplicaSet,
            ReplicationController,
        )
    ),
    (
        ReplicationController,
        "spec: {template: {metadata: {labels: null}}}",
        [required("spec.selector")],
    ),
    (ReplicationController, "spec: {template: null}", [required("spec.selector"), required("spec.template")]),
    (
        ReplicaSet,
        "spec: {template: {spec: {containers: [{name: main}]}}}",
        [required("spec.template.spec.containers[0].image")],
    ),
]


@pytest.mark.parametrize(("kind", "fragment", "expected"), NEW_OBJECTS)
def test_new_replica_set_is_validated(kind: type[Any], fragment: str, expected: list[Cause]) -> None:
    assert creation_causes(make(kind, fragment)) == expected


TAIL = ["5m", "main", "nginx:1.27", "app=web"]
ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (ReplicaSet, "spec: {replicas: 3}\nstatus: {replicas: 2, readyReplicas: 1}", ["web", 3, 2, 1, *TAIL]),
]
AGES = "metadata: {creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "fragment", "expected"), ROWS)
def test_row_of_replica_set_shows_its_state(kind: type[Any], fragment: str, expected: list[Any]) -> None:
    thing = rules(kind).default(obj(kind, f"{AGES}\n{fragment}", WORKLOAD))
    assert list(rules(kind).row(thing, NOW)) == expected

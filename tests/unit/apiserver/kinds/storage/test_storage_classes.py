"""Tests of the rules of StorageClasses and VolumeAttributesClasses."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.storage_v1 import StorageClass, VolumeAttributesClass
from tests.support.causes import (
    Cause,
    KindRow,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules
from tests.support.storage_objects import VALID

INVALID: list[KindRow] = [
    (
        StorageClass,
        "reclaimPolicy: Recycle",
        [unsupported("reclaimPolicy", "Recycle", "Delete", "Retain")],
    ),
    (
        StorageClass,
        "volumeBindingMode: Later",
        [unsupported("volumeBindingMode", "Later", "Immediate", "WaitForFirstConsumer")],
    ),
    (StorageClass, "parameters: {'': a}", [invalid("parameters", '""', "field can not be empty.")]),
    (
        StorageClass,
        f"parameters: {{a: {'b' * 2**18}}}",
        [too_long("parameters", 262144)],
    ),
    (
        StorageClass,
        "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: []}, "
        "{key: zone, values: [a, a]}]}]",
        [
            required("allowedTopologies[0].matchLabelExpressions[0].values"),
            duplicate("allowedTopologies[0].matchLabelExpressions[1].values[1]", '"a"'),
            duplicate("allowedTopologies[0].matchLabelExpressions[1].key", '"zone"'),
        ],
    ),
    (VolumeAttributesClass, "driverName: ''", [required("driverName")]),
    (
        VolumeAttributesClass,
        "parameters: null",
        [required("parameters", "must contain at least one key/value pair")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_storage_class_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


IMMUTABLE = "field is immutable"
CHANGES: list[KindRow] = [
    (StorageClass, "parameters: {a: b}", [forbidden("parameters", "updates to parameters are forbidden.")]),
    (
        StorageClass,
        "reclaimPolicy: Retain",
        [forbidden("reclaimPolicy", "updates to reclaimPolicy are forbidden.")],
    ),
    (
        StorageClass,
        "volumeBindingMode: WaitForFirstConsumer",
        [invalid("volumeBindingMode", '"WaitForFirstConsumer"', IMMUTABLE)],
    ),
    (
        StorageClass,
        "allowedTopologies: [{matchLabelExpressions: [{key: a, values: []}]}]",
        [required("allowedTopologies[0].matchLabelExpressions[0].values")],
    ),
    (
        VolumeAttributesClass,
        "parameters: {iops: '2'}",
        [forbidden("parameters", "updates to parameters are forbidden.")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_change_of_storage_class_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


NEW_OBJECTS: list[KindRow] = [
    (StorageClass, "provisioner: example.com/disk", []),
    (StorageClass, "", [required("provisioner")]),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_storage_class_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


@pytest.mark.parametrize(
    ("kind", "before", "after", "field"),
    [
        (StorageClass, "provisioner: example.com/a", "provisioner: example.com/b", "provisioner"),
    ],
)
def test_immutable_field_of_storage_class_cannot_change(
    kind: type[Any], before: str, after: str, field: str
) -> None:
    old = created(obj(kind, f"{AGED}\n{before}"))
    found = change_causes(obj(kind, f"{AGED}\n{after}"), old)
    assert [(cause[0], cause[1]) for cause in found] == [(field, "FieldValueForbidden")]


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        StorageClass,
        "provisioner: example.com/a\nreclaimPolicy: Delete\nvolumeBindingMode: Immediate",
        ["x", "example.com/a", "Delete", "Immediate", False, "5m"],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_storage_class_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW)) == expected


@pytest.mark.parametrize(
    ("kind", "plain"), [(kind, VALID[kind]) for kind in (StorageClass, VolumeAttributesClass)]
)
def test_valid_storage_class_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


CELLS: list[tuple[type[Any], str, list[Any]]] = [
    (StorageClass, "allowVolumeExpansion: true", ["x", "", "Delete", "Immediate", True, "5m"]),
]
AGED_IN_CLUSTER = "metadata: {name: x, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "given", "expected"), CELLS)
def test_cells_of_storage_class_follow_kubernetes(kind: type[Any], given: str, expected: list[Any]) -> None:
    thing = obj(
        kind,
        given if "metadata" in given else f"{AGED_IN_CLUSTER}\n{given}" if given != "{}" else AGED_IN_CLUSTER,
    )
    assert list(rules(kind).row(thing, NOW))[: len(expected)] == expected

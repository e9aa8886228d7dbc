"""Tests of the rules of PersistentVolumeClaims."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import PersistentVolumeClaim
from podling.machinery.encoding import codec
from tests.support.causes import Cause, KindRow, forbidden, invalid, required, unsupported
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules
from tests.support.storage_objects import VALID

INVALID: list[KindRow] = [
    (
        PersistentVolumeClaim,
        "spec: {accessModes: []}",
        [required("spec.accessModes", "at least 1 access mode is required")],
    ),
    (
        PersistentVolumeClaim,
        "spec: {accessModes: [ReadWriteOncePod, ReadWriteOnce]}",
        [forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes")],
    ),
    (
        PersistentVolumeClaim,
        "spec: {resources: {requests: {storage: 0}}}",
        [invalid("spec.resources[storage]", '"0"', "must be greater than zero")],
    ),
    (
        PersistentVolumeClaim,
        "spec: {dataSourceRef: {kind: Secret, name: s}}",
        [
            invalid(f"spec.{field}", '"Secret"', text)
            for field in ("dataSource", "dataSourceRef")
            for text in ["must be 'PersistentVolumeClaim' when referencing the default apiGroup"]
        ],
    ),
    (
        PersistentVolumeClaim,
        "spec: {dataSource: {kind: PersistentVolumeClaim, name: a}, "
        "dataSourceRef: {kind: PersistentVolumeClaim, name: b}}",
        [invalid("spec", "{}", "must match dataSourceRef")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_claim_is_refused_with_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


IMMUTABLE = "field is immutable"
CHANGES: list[KindRow] = [
    (
        PersistentVolumeClaim,
        "{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: fast}}}",
        [invalid("metadata.annotations.volume.beta.kubernetes.io/storage-class", '"fast"', IMMUTABLE)],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_change_of_claim_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


CLAIM = "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}"
NEW_OBJECTS: list[KindRow] = [
    (PersistentVolumeClaim, f"{CLAIM}}}", []),
    (
        PersistentVolumeClaim,
        "spec: {}",
        [
            required("spec.accessModes", "at least 1 access mode is required"),
            required("spec.resources[storage]"),
        ],
    ),
    (
        PersistentVolumeClaim,
        f"{CLAIM}, volumeMode: Tape}}",
        [unsupported("spec.volumeMode", "Tape", "Block", "Filesystem")],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_claim_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


@pytest.mark.parametrize(
    ("kind", "before", "after", "field"),
    [
        (
            PersistentVolumeClaim,
            f"{CLAIM}}}",
            CLAIM.replace("ReadWriteOnce", "ReadWriteMany") + "}",
            "spec",
        ),
    ],
)
def test_immutable_field_of_claim_cannot_change(kind: type[Any], before: str, after: str, field: str) -> None:
    old = created(obj(kind, f"{AGED}\n{before}"))
    found = change_causes(obj(kind, f"{AGED}\n{after}"), old)
    assert [(cause[0], cause[1]) for cause in found] == [(field, "FieldValueForbidden")]


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        PersistentVolumeClaim,
        "spec: {volumeName: v1, storageClassName: fast, volumeMode: Filesystem}\n"
        "status: {phase: Bound, accessModes: [ReadWriteOnce, ReadOnlyMany], capacity: {storage: 1Gi}}",
        ["x", "Bound", "v1", "1Gi", "RWO,ROX", "fast", "<unset>", "5m", "Filesystem"],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_claim_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW)) == expected


@pytest.mark.parametrize(("kind", "plain"), [(PersistentVolumeClaim, VALID[PersistentVolumeClaim])])
def test_valid_claim_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


def test_data_source_ref_defaults_to_data_source() -> None:
    text = "spec: {dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s}}"
    spec = codec.to_plain(created(obj(PersistentVolumeClaim, text, VALID[PersistentVolumeClaim])).spec)
    assert spec["dataSourceRef"] == spec["dataSource"]


def test_unusable_data_source_of_claim_is_dropped() -> None:
    for text in (
        "dataSource: {kind: Secret, name: s}",
        "dataSource: {apiGroup: snapshot.storage.k8s.io, kind: Other, name: s}",
        "dataSourceRef: {kind: PersistentVolumeClaim, name: a, namespace: other}",
    ):
        claim = created(obj(PersistentVolumeClaim, f"spec: {{{text}}}", VALID[PersistentVolumeClaim]))
        assert (claim.spec.data_source, claim.spec.data_source_ref) == (None, None)


def test_bound_claim_grows_and_keeps_an_attributes_class() -> None:
    kind, base = PersistentVolumeClaim, VALID[PersistentVolumeClaim]
    bound = {
        **base,
        "spec": {**base["spec"], "volumeAttributesClassName": "gold", "volumeMode": "Filesystem"},
    }
    bound["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    old = obj(kind, "", bound)
    assert change_causes(obj(kind, "spec: {resources: {requests: {storage: 2Gi}}}", bound), old) == []
    assert change_causes(obj(kind, "spec: {volumeAttributesClassName: silver}", bound), old) == []
    assert forbidden(
        "spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"
    ) in change_causes(obj(kind, "spec: {volumeAttributesClassName: null}", bound), old)
    assert change_causes(obj(kind, "spec: {resources: {requests: {storage: 512Mi}}}", bound), old) == [
        forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    ]


CELLS: list[tuple[type[Any], str, list[Any]]] = [
    (
        PersistentVolumeClaim,
        "spec: {volumeName: v}\nstatus: {phase: Pending}",
        ["x", "Pending", "v", "0", "", "", "<unset>", "5m", "<unset>"],
    ),
]
AGED_IN_CLUSTER = "metadata: {name: x, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "given", "expected"), CELLS)
def test_cells_of_claim_follow_kubernetes(kind: type[Any], given: str, expected: list[Any]) -> None:
    thing = obj(
        kind,
        given if "metadata" in given else f"{AGED_IN_CLUSTER}\n{given}" if given != "{}" else AGED_IN_CLUSTER,
    )
    assert list(rules(kind).row(thing, NOW))[: len(expected)] == expected

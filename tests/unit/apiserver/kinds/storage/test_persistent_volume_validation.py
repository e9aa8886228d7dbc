"""Tests of the validation of PersistentVolumes and their changes."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import PersistentVolume
from tests.support.causes import SUBDOMAIN_TEXT, Cause, KindRow, forbidden, invalid, required, unsupported
from tests.support.manifests import change_causes, created, creation_causes, obj
from tests.support.storage_objects import VALID

HOST = "spec: {csi: null, hostPath: {path: /data}}"
LOCAL = "spec: {csi: null, local: {path: /data}"
AFFINITY = (
    "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: "
    "[{key: kubernetes.io/hostname, operator: In, values: [n]}]}]}}"
)
INVALID: list[KindRow] = [
    (PersistentVolume, HOST, []),
    (PersistentVolume, f"{LOCAL}, {AFFINITY}}}", []),
    (PersistentVolume, "spec: {accessModes: []}", [required("spec.accessModes")]),
    (
        PersistentVolume,
        "spec: {capacity: null}",
        [
            required("spec.capacity"),
            ("spec.capacity", "FieldValueNotSupported", 'Unsupported value: {}: supported values: "storage"'),
        ],
    ),
    (
        PersistentVolume,
        "spec: {persistentVolumeReclaimPolicy: Keep}",
        [unsupported("spec.persistentVolumeReclaimPolicy", "Keep", "Delete", "Recycle", "Retain")],
    ),
    (
        PersistentVolume,
        f"{LOCAL}}}",
        [required("spec.nodeAffinity", "Local volume requires node affinity")],
    ),
    (
        PersistentVolume,
        "spec: {nodeAffinity: {}}",
        [required("spec.nodeAffinity.required", "must specify required node constraints")],
    ),
    (
        PersistentVolume,
        "spec: {csi: null, hostPath: {path: /.}, persistentVolumeReclaimPolicy: Recycle}",
        [forbidden("spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'")],
    ),
    (
        PersistentVolume,
        "spec: {csi: {driver: '', volumeHandle: ''}}",
        [
            required("spec.csi.driver"),
            invalid("spec.csi.driver", '""', SUBDOMAIN_TEXT),
            required("spec.csi.volumeHandle"),
        ],
    ),
    (
        PersistentVolume,
        "spec: {csi: {nodePublishSecretRef: {name: s}}}",
        [required("spec.csi.nodePublishSecretRef.namespace")],
    ),
    (
        PersistentVolume,
        f"{HOST[:-1]}, volumeAttributesClassName: ''}}",
        [
            required("spec.volumeAttributesClassName", "an empty string is disallowed"),
            required("spec.csi", "has to be specified when using volumeAttributesClassName"),
        ],
    ),
    (
        PersistentVolume,
        "spec: {csi: null, iscsi: {targetPortal: p, iqn: target, lun: 300}}",
        [
            invalid("spec.iscsi.iqn", '"target"', "must be valid format"),
            invalid("spec.iscsi.lun", "300", "must be between 0 and 255, inclusive"),
        ],
    ),
    (
        PersistentVolume,
        "spec: {csi: null, gcePersistentDisk: {pdName: ''}}",
        [required("spec.persistentDisk.pdName")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_volume_is_refused_with_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


IMMUTABLE = "field is immutable"


def zone(label: str, value: str = "a") -> str:
    return f"{{matchExpressions: [{{key: {label}, operator: In, values: [{value}]}}]}}"


OLD, NEW = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
CHANGES: list[KindRow] = [
    (
        PersistentVolume,
        "spec: {csi: {volumeHandle: w}}",
        [
            forbidden(
                "spec.persistentvolumesource",
                'spec.persistentvolumesource is immutable after creation\n- csi.volumeHandle: "v"\n'
                '+ csi.volumeHandle: "w"',
            )
        ],
    ),
    (PersistentVolume, "spec: {csi: {controllerExpandSecretRef: {name: s, namespace: n}}}", []),
    (PersistentVolume, f"spec: {{nodeAffinity: {{required: {{nodeSelectorTerms: [{zone(OLD)}]}}}}}}", []),
    (PersistentVolume, "spec: {volumeMode: Block}", [invalid("volumeMode", '"Block"', IMMUTABLE)]),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_change_of_volume_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


VOLUME = "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}"
NEW_OBJECTS: list[KindRow] = [
    (PersistentVolume, f"{VOLUME}, hostPath: {{path: /data}}}}", []),
    (PersistentVolume, f"{VOLUME}}}", [required("spec", "must specify a volume type")]),
    (
        PersistentVolume,
        f"{VOLUME}, hostPath: {{path: /data}}, nfs: {{server: s, path: /p}}}}",
        [forbidden("spec.nfs", "may not specify more than 1 volume type")],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_volume_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


@pytest.mark.parametrize(("kind", "plain"), [(PersistentVolume, VALID[PersistentVolume])])
def test_valid_volume_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


def volume_with_affinity(term: str) -> PersistentVolume:
    text = f"spec: {{nodeAffinity: {{required: {{nodeSelectorTerms: [{term}]}}}}}}"
    volume: PersistentVolume = obj(PersistentVolume, text, VALID[PersistentVolume])
    return volume


def test_node_affinity_of_volume_changes_only_deprecated_labels() -> None:
    old = created(volume_with_affinity(zone(OLD)))
    assert change_causes(volume_with_affinity(zone(NEW)), old) == []
    for other in (zone(NEW, "b"), zone("region"), f"{zone(OLD)}, {zone(OLD)}"):
        (field, _, message), *more = change_causes(volume_with_affinity(other), old)
        assert (field, more) == ("nodeAffinity", [])
        assert message.endswith("field is immutable, except for updating from beta label to GA")
    assert change_causes(obj(PersistentVolume, "", VALID[PersistentVolume]), old) == [
        invalid("nodeAffinity", "null", "field is immutable, except for updating from beta label to GA")
    ]

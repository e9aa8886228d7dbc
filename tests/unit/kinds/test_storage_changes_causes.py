"""What may not change of claims, volumes, classes and drivers."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.api.storage_v1 import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)
from tests.support.causes import Cause, KindRow, forbidden, invalid
from tests.support.manifests import change_causes, created, obj
from tests.support.storage_objects import VALID

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
        VolumeAttributesClass,
        "parameters: {iops: '2'}",
        [forbidden("parameters", "updates to parameters are forbidden.")],
    ),
    (CSIDriver, "spec: {storageCapacity: true}", []),
    (CSIDriver, "spec: {attachRequired: false}", [invalid("spec.attachedRequired", "false", IMMUTABLE)]),
    (
        CSINode,
        "spec: {drivers: [{name: csi.example.com, nodeID: n, allocatable: {count: 3}}]}",
        [],
    ),
    (
        CSINode,
        "spec: {drivers: [{name: csi.example.com, nodeID: m}]}",
        [invalid("spec.drivers", '{"name":"csi.example.com","nodeID":"m"}', IMMUTABLE)],
    ),
    (
        CSIStorageCapacity,
        "{storageClassName: slow, capacity: 1Gi}",
        [invalid("storageClassName", '"slow"', IMMUTABLE)],
    ),
    (
        VolumeAttachment,
        "spec: {nodeName: m}",
        [
            invalid(
                "spec",
                '{"attacher":"csi.example.com","nodeName":"m","source":{"persistentVolumeName":"v"}}',
                IMMUTABLE,
            )
        ],
    ),
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
    (PersistentVolume, "spec: {volumeMode: Block}", [invalid("volumeMode", '"Block"', IMMUTABLE)]),
    (
        PersistentVolumeClaim,
        "{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: fast}}}",
        [invalid("metadata.annotations[volume.beta.kubernetes.io/storage-class]", '"fast"', IMMUTABLE)],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_changes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


def test_a_bound_claim_grows_and_never_loses_its_attributes_class() -> None:
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

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
from tests.support.causes import Cause, KindRow, forbidden, invalid, required, too_long
from tests.support.manifests import change_causes, created, obj
from tests.support.storage_objects import VALID

IMMUTABLE = "field is immutable"
OLD, NEW = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"


def zone(label: str, value: str = "a") -> str:
    return f"{{matchExpressions: [{{key: {label}, operator: In, values: [{value}]}}]}}"


def placed(term: str) -> PersistentVolume:
    text = f"spec: {{nodeAffinity: {{required: {{nodeSelectorTerms: [{term}]}}}}}}"
    volume: PersistentVolume = obj(PersistentVolume, text, VALID[PersistentVolume])
    return volume


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
        [invalid("spec.drivers", '{"name":"csi.example.com","nodeID":"m","topologyKeys":null}', IMMUTABLE)],
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
    (PersistentVolume, f"spec: {{nodeAffinity: {{required: {{nodeSelectorTerms: [{zone(OLD)}]}}}}}}", []),
    (PersistentVolume, "spec: {volumeMode: Block}", [invalid("volumeMode", '"Block"', IMMUTABLE)]),
    (
        PersistentVolumeClaim,
        "{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: fast}}}",
        [invalid("metadata.annotations.volume.beta.kubernetes.io/storage-class", '"fast"', IMMUTABLE)],
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


def test_where_a_volume_is_does_not_change_but_for_the_names_of_labels() -> None:
    old = created(placed(zone(OLD)))
    assert change_causes(placed(zone(NEW)), old) == []
    for other in (zone(NEW, "b"), zone("region"), f"{zone(OLD)}, {zone(OLD)}"):
        (field, _, message), *more = change_causes(placed(other), old)
        assert (field, more) == ("nodeAffinity", [])
        assert message.endswith("field is immutable, except for updating from beta label to GA")
    assert change_causes(obj(PersistentVolume, "", VALID[PersistentVolume]), old) == [
        invalid("nodeAffinity", "null", "field is immutable, except for updating from beta label to GA")
    ]


def test_how_an_attachment_failed() -> None:
    old = created(obj(VolumeAttachment, "", VALID[VolumeAttachment]))
    text = f"status: {{attachError: {{errorCode: -1, message: {'m' * 1025}}}}}"
    assert change_causes(obj(VolumeAttachment, text, VALID[VolumeAttachment]), old, "status") == [
        too_long("status.attachError.message", 256 * 1024),
        invalid("status.attachError.errorCode", "-1", "must be between 0 and 2147483647, inclusive"),
    ]

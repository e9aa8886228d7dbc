"""What is wrong with volumes, claims, their classes, and what CSI drivers announce."""

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
from podling.machinery.encoding import codec
from tests.support.causes import (
    SUBDOMAIN_TEXT,
    Cause,
    KindRow,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from tests.support.manifests import created, creation_causes, obj
from tests.support.storage_objects import VALID

HOST = "spec: {csi: null, hostPath: {path: /data}}"
LOCAL = "spec: {csi: null, local: {path: /data}"
AFFINITY = (
    "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: "
    "[{key: kubernetes.io/hostname, operator: In, values: [n]}]}]}}"
)
CLAIMS: list[KindRow] = [
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

VOLUMES: list[KindRow] = [
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

CLASSES: list[KindRow] = [
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

DRIVERS: list[KindRow] = [
    (
        CSIDriver,
        "spec: {fsGroupPolicy: All}",
        [unsupported("spec.fsGroupPolicy", "All", "File", "None", "ReadWriteOnceWithFSType")],
    ),
    (
        CSIDriver,
        "spec: {volumeLifecycleModes: [Brief]}",
        [unsupported("spec.volumeLifecycleModes", "Brief", "Persistent", "Ephemeral")],
    ),
    (
        CSIDriver,
        "spec: {tokenRequests: [{audience: a, expirationSeconds: 599}, {audience: a}]}",
        [
            invalid(
                "spec.tokenRequests[0].expirationSeconds",
                "599",
                "may not specify a duration less than 10 minutes",
            ),
            duplicate("spec.tokenRequests[1].audience", '"a"'),
        ],
    ),
    (
        CSIDriver,
        "spec: {nodeAllocatableUpdatePeriodSeconds: 9, serviceAccountTokenInSecrets: true}",
        [
            invalid(
                "spec.nodeAllocatableUpdatePeriodSeconds",
                "9",
                "must be greater than or equal to 10 seconds",
            ),
            invalid(
                "spec.serviceAccountTokenInSecrets",
                "true",
                "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
            ),
        ],
    ),
    (
        CSINode,
        "spec: {drivers: [{name: a, nodeID: ''}, {name: a, nodeID: n, topologyKeys: [z, z]}]}",
        [
            required("spec.drivers[0].nodeID"),
            duplicate("spec.drivers[1].name", '"a"'),
            duplicate("spec.drivers[1]", '"z"'),
        ],
    ),
    (
        CSINode,
        "spec: {drivers: [{name: a, nodeID: n, allocatable: {count: -1}}]}",
        [invalid("spec.drivers[0].allocatable.count", "-1", "must be greater than or equal to 0")],
    ),
    (
        CSIStorageCapacity,
        "capacity: -1",
        [invalid("capacity", '"-1"', "must be greater than or equal to 0")],
    ),
    (CSIStorageCapacity, "maximumVolumeSize: -1", []),
    (
        VolumeAttachment,
        "spec: {source: {persistentVolumeName: null}}",
        [required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName")],
    ),
    (
        VolumeAttachment,
        "spec: {source: {persistentVolumeName: null, inlineVolumeSpec: "
        "{accessModes: [ReadWriteOnce], capacity: {storage: 1}, hostPath: {path: /a}}}}",
        [
            forbidden(
                "spec.source.inlineVolumeSpec.capacity",
                "may not be specified in the context of inline volumes",
            ),
            required(
                "spec.source.inlineVolumeSpec.csi", "has to be specified in the context of inline volumes"
            ),
        ],
    ),
    (
        VolumeAttachment,
        "spec: {attacher: ''}",
        [
            required("spec.attacher"),
            required("spec.attacher"),
            invalid("spec.attacher", '""', SUBDOMAIN_TEXT),
        ],
    ),
]


@pytest.mark.parametrize(("kind", "plain"), VALID.items())
def test_the_valid_ones_are(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


@pytest.mark.parametrize(("kind", "text", "expected"), [*CLAIMS, *VOLUMES, *CLASSES, *DRIVERS])
def test_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


def test_both_names_of_the_data_source_are_filled_in() -> None:
    text = "spec: {dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s}}"
    spec = codec.to_plain(created(obj(PersistentVolumeClaim, text, VALID[PersistentVolumeClaim])).spec)
    assert spec["dataSourceRef"] == spec["dataSource"]


def test_what_a_claim_never_could_be_filled_from_is_not_kept() -> None:
    for text in (
        "dataSource: {kind: Secret, name: s}",
        "dataSource: {apiGroup: snapshot.storage.k8s.io, kind: Other, name: s}",
        "dataSourceRef: {kind: PersistentVolumeClaim, name: a, namespace: other}",
    ):
        claim = created(obj(PersistentVolumeClaim, f"spec: {{{text}}}", VALID[PersistentVolumeClaim]))
        assert (claim.spec.data_source, claim.spec.data_source_ref) == (None, None)


def test_defaults_of_a_driver() -> None:
    assert codec.to_plain(created(obj(CSIDriver, "", VALID[CSIDriver])).spec) == {
        "attachRequired": True,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "podInfoOnMount": False,
        "requiresRepublish": False,
        "seLinuxMount": False,
        "storageCapacity": False,
        "volumeLifecycleModes": ["Persistent"],
    }

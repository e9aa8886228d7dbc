"""Tests of the warnings about volumes, claims and classes."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.api.storage_v1 import CSIStorageCapacity, StorageClass
from podling.apiserver.kinds.common.base import Context
from tests.support.manifests import NOW, created, obj, rules

ROW = tuple[type[Any], str, list[str]]
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
ZONE = "failure-domain.beta.kubernetes.io/zone"
TERM = f"{{matchExpressions: [{{key: {ZONE}, operator: Exists}}]}}"
USE_ZONE = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
WARNINGS: list[ROW] = [
    (PersistentVolume, "spec: {persistentVolumeReclaimPolicy: Retain, hostPath: {path: /x}}", []),
    (
        PersistentVolume,
        f"{{metadata: {{annotations: {{{OLD_CLASS}: x}}}}, spec: {{persistentVolumeReclaimPolicy: Recycle, "
        f"nodeAffinity: {{required: {{nodeSelectorTerms: [{TERM}]}}}}, storageos: {{}}}}}}",
        [
            f'metadata.annotations[{OLD_CLASS}]: deprecated since v1.8; use "storageClassName" attribute '
            "instead",
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the "
            "recommended approach is to use dynamic provisioning.",
            f"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: {ZONE} is {USE_ZONE}",
            "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
        ],
    ),
    (PersistentVolumeClaim, "spec: {resources: {requests: {storage: 1Gi}}}", []),
    (
        PersistentVolumeClaim,
        f"{{metadata: {{annotations: {{{OLD_CLASS}: x}}}}, "
        "spec: {resources: {requests: {storage: 100m}, limits: {storage: 1500m}}}}",
        [
            f'metadata.annotations[{OLD_CLASS}]: deprecated since v1.8; use "storageClassName" attribute '
            "instead",
            'spec.resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer',
            'spec.resources.limits[storage]: fractional byte value "1500m" is invalid, must be an integer',
        ],
    ),
    (
        StorageClass,
        f"allowedTopologies: [{{matchLabelExpressions: [{{key: a}}, {{key: {ZONE}}}]}}]",
        [f"allowedTopologies[0].matchLabelExpressions[1].key: {USE_ZONE}"],
    ),
    (
        CSIStorageCapacity,
        f"nodeTopology: {{matchLabels: {{{ZONE}: a}}, "
        f"matchExpressions: [{{key: {ZONE}, operator: Exists}}]}}",
        [
            f"nodeTopology.matchExpressions[0].key: {ZONE} is {USE_ZONE}",
            f"nodeTopology.matchLabels.{ZONE}: {USE_ZONE}",
        ],
    ),
]


def warnings_of(thing: Any, old: Any = None) -> list[str]:
    return rules(type(thing)).warnings(thing, old, Context(NOW))


@pytest.mark.parametrize(("kind", "text", "expected"), WARNINGS)
def test_warnings_about_storage_are_returned(kind: type[Any], text: str, expected: list[str]) -> None:
    assert warnings_of(created(obj(kind, text))) == expected

"""Conversion of Advanced StatefulSets between ``v1alpha1`` and ``v1beta1``. Pure.

The older version has fewer fields: objects that are written in it lose the others.
Upstream: ``apis/apps/v1alpha1/statefulset_conversion.go``.
"""

from __future__ import annotations

from msgspec import structs

from podling.machinery.encoding.custom import CustomObject
from podling_kruise.names import GROUP

BETA = f"{GROUP}/v1beta1"
SPEC = (
    "replicas",
    "selector",
    "template",
    "volumeClaimTemplates",
    "serviceName",
    "podManagementPolicy",
    "updateStrategy",
    "revisionHistoryLimit",
)
STATUS = (
    "observedGeneration",
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "currentReplicas",
    "updatedReplicas",
    "currentRevision",
    "updateRevision",
    "collisionCount",
    "conditions",
    "labelSelector",
)
"""The fields of both versions."""


def convert(obj: CustomObject, version: str) -> CustomObject:
    """Return a StatefulSet as an object of ``version``."""
    content = dict(obj.content)
    for part, names in (("spec", SPEC), ("status", STATUS)):
        fields = content.get(part)
        if isinstance(fields, dict):
            content[part] = {name: fields[name] for name in names if name in fields}
    return structs.replace(obj, content=content)

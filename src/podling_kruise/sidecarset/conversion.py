"""Conversion of SidecarSets between ``v1alpha1`` and ``v1beta1``. Pure.

The older version has the namespace in a field, and the custom version in a label.
Upstream: ``apis/apps/v1alpha1/sidecarset_conversion.go``.
"""

from __future__ import annotations

from msgspec import structs

from podling.machinery.encoding.custom import CustomObject
from podling_kruise.names import GROUP
from podling_kruise.sidecarset.annotations import CUSTOM_VERSION

BETA = f"{GROUP}/v1beta1"
NAMESPACE_NAME = "kubernetes.io/metadata.name"


def convert(obj: CustomObject, version: str) -> CustomObject:
    """Return a SidecarSet as an object of ``version``."""
    return _newer(obj) if version == BETA else _older(obj)


def _newer(obj: CustomObject) -> CustomObject:
    spec, labels = dict(obj.content.get("spec") or {}), dict(obj.metadata.labels)
    namespace = spec.pop("namespace", "")
    if namespace:
        spec["namespaceSelector"] = {"matchLabels": {NAMESPACE_NAME: namespace}}
    if version := labels.pop(CUSTOM_VERSION, ""):
        spec["customVersion"] = version
    return _with(obj, labels, spec)


def _older(obj: CustomObject) -> CustomObject:
    spec, labels = dict(obj.content.get("spec") or {}), dict(obj.metadata.labels)
    if version := spec.pop("customVersion", ""):
        labels[CUSTOM_VERSION] = version
    return _with(obj, labels, spec)


def _with(obj: CustomObject, labels: dict[str, str], spec: dict[str, object]) -> CustomObject:
    metadata = structs.replace(obj.metadata, labels=labels)
    return structs.replace(obj, metadata=metadata, content={**obj.content, "spec": spec})

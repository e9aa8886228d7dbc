"""Conversion of Advanced DaemonSets between ``v1alpha1`` and ``v1beta1``. Pure.

The older version has an annotation for the way pods are created, and another name for the revision.
Upstream: ``apis/apps/v1alpha1/daemonset_conversion.go``.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling.machinery.encoding.custom import CustomObject
from podling_kruise.daemonset.types import STANDARD
from podling_kruise.names import GROUP

BETA = f"{GROUP}/v1beta1"
PROGRESSIVE = "daemonset.kruise.io/progressive-create-pod"
SURGING = "Surging"
"""A type of ``v1alpha1`` that stands for a surge, which needs no type any more."""


def convert(obj: CustomObject, version: str) -> CustomObject:
    """Return a DaemonSet as an object of ``version``."""
    return _newer(obj) if version == BETA else _older(obj)


def _newer(obj: CustomObject) -> CustomObject:
    content = dict(obj.content)
    spec, status = content.get("spec"), content.get("status")
    if isinstance(spec, dict):
        spec = {**spec, "updateStrategy": _without_surging(spec.get("updateStrategy"))}
        content["spec"] = {key: value for key, value in spec.items() if value is not None}
        if obj.metadata.annotations.get(PROGRESSIVE) == "true":
            content["spec"]["scaleStrategy"] = {"partitionedScaling": True}
    if isinstance(status, dict):
        content["status"] = _renamed(status, "daemonSetHash", "updateRevision")
    return structs.replace(obj, content=content)


def _without_surging(strategy: Any) -> Any:
    rolling = strategy.get("rollingUpdate") if isinstance(strategy, dict) else None
    if not isinstance(rolling, dict) or rolling.get("rollingUpdateType") != SURGING:
        return strategy
    return {**strategy, "rollingUpdate": {**rolling, "rollingUpdateType": STANDARD}}


def _older(obj: CustomObject) -> CustomObject:
    content, metadata = dict(obj.content), obj.metadata
    spec, status = content.get("spec"), content.get("status")
    if isinstance(spec, dict):
        content["spec"] = {key: value for key, value in spec.items() if key != "scaleStrategy"}
        if (spec.get("scaleStrategy") or {}).get("partitionedScaling"):
            metadata = structs.replace(metadata, annotations={**metadata.annotations, PROGRESSIVE: "true"})
    if isinstance(status, dict):
        content["status"] = _renamed(status, "updateRevision", "daemonSetHash")
    return structs.replace(obj, content=content, metadata=metadata)


def _renamed(status: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if key == old else key: value for key, value in status.items()}

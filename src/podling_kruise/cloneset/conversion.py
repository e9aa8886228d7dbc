"""Conversion of CloneSets between ``v1alpha1`` and ``v1beta1``. Pure.

The older version has settings of image downloads in annotations and one of scaling in a label.
Upstream: ``apis/apps/v1alpha1/cloneset_conversion.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from podling.machinery.encoding.custom import CustomObject
from podling.machinery.numbers import INT32_MAX, natural
from podling_kruise.cloneset.types import IF_POSSIBLE, ON_DELETE, ONLY, RECREATE, ROLLING_UPDATE
from podling_kruise.names import (
    EXCLUDE_PREPARING_DELETE,
    GROUP,
    PREDOWNLOAD_MIN_UPDATED,
    PREDOWNLOAD_PARALLELISM,
    PREDOWNLOAD_TIMEOUT,
)

BETA = f"{GROUP}/v1beta1"
SHARED = ("partition", "maxUnavailable", "maxSurge", "paused", "priorityStrategy", "scatterStrategy")
"""Fields of both versions' strategies."""
POLICIES = (RECREATE, IF_POSSIBLE, ONLY)
_IN_PLACE = "inPlaceUpdateStrategy"
_DOWNLOADS = {
    PREDOWNLOAD_PARALLELISM: "imagePreDownloadParallelism",
    PREDOWNLOAD_TIMEOUT: "imagePreDownloadTimeoutSeconds",
    PREDOWNLOAD_MIN_UPDATED: "imagePreDownloadMinUpdatedReadyPods",
}


def convert(obj: CustomObject, version: str) -> CustomObject:
    """Return a CloneSet as an object of ``version``."""
    return _newer(obj) if version == BETA else _older(obj)


def _newer(obj: CustomObject) -> CustomObject:
    spec, metadata = obj.content.get("spec") or {}, obj.metadata
    scale = dict(spec.get("scaleStrategy") or {})
    scale["enablePVCReuse"] = not scale.pop("disablePVCReuse", False)
    if metadata.labels.get(EXCLUDE_PREPARING_DELETE) == "true":
        scale["excludePreparingDelete"] = True
    strategy = spec.get("updateStrategy") or {}
    kind = strategy.get("type") or ""
    made: dict[str, Any] = {"type": ON_DELETE if kind == ON_DELETE else ROLLING_UPDATE}
    if kind != ON_DELETE:
        rolling = {name: strategy[name] for name in SHARED if name in strategy}
        rolling["podUpdatePolicy"] = kind if kind in POLICIES else RECREATE
        downloads = _downloads(metadata.annotations)
        if downloads or strategy.get(_IN_PLACE) is not None:
            rolling[_IN_PLACE] = {**(strategy.get(_IN_PLACE) or {}), **downloads}
        made["rollingUpdate"] = rolling
    return _with_spec(obj, {**spec, "scaleStrategy": scale, "updateStrategy": made})


def _downloads(annotations: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for annotation, field in _DOWNLOADS.items():
        text = annotations.get(annotation, "")
        value = natural(text, INT32_MAX)
        if value is not None:
            found[field] = value
        elif text and annotation == PREDOWNLOAD_PARALLELISM:
            found[field] = text
    return found


def _older(obj: CustomObject) -> CustomObject:
    spec = obj.content.get("spec") or {}
    scale = {
        key: value
        for key, value in (spec.get("scaleStrategy") or {}).items()
        if key != "excludePreparingDelete"
    }
    if not scale.pop("enablePVCReuse", False):
        scale["disablePVCReuse"] = True
    strategy = spec.get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    policy = rolling.get("podUpdatePolicy")
    made: dict[str, Any] = {name: rolling[name] for name in SHARED if name in rolling}
    made["type"] = (
        ON_DELETE if strategy.get("type") == ON_DELETE else policy if policy in POLICIES else RECREATE
    )
    in_place = rolling.get(_IN_PLACE) or {}
    if in_place.get("gracePeriodSeconds") or any(name in in_place for name in _DOWNLOADS.values()):
        made[_IN_PLACE] = {key: in_place[key] for key in ("gracePeriodSeconds",) if key in in_place}
    texts = {key: str(in_place[name]) for key, name in _DOWNLOADS.items() if in_place.get(name) is not None}
    annotations = {**obj.metadata.annotations, **texts}
    shown = structs.replace(obj, metadata=structs.replace(obj.metadata, annotations=annotations))
    return _with_spec(shown, {**spec, "scaleStrategy": scale, "updateStrategy": made})


def _with_spec(obj: CustomObject, spec: dict[str, Any]) -> CustomObject:
    return structs.replace(obj, content={**obj.content, "spec": spec})

"""Conversion of ContainerRecreateRequests between ``v1alpha1`` and ``v1beta1``. Pure.

The older version has in annotations what is part of the status in the newer one.
Upstream: ``apis/apps/v1alpha1/containerrecreaterequest_conversion.go``.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import structs

from podling.machinery.encoding.custom import CustomObject
from podling_kruise.names import GROUP
from podling_kruise.recreate.types import PRE_RECREATE_GRACE, UNREADY_ACQUIRED

BETA = f"{GROUP}/v1beta1"
SNAPSHOT_ANNOTATION = "crr.apps.kruise.io/sync-container-statuses"
GRACE_MESSAGE = "Pod has been forced to not-ready for unreadyGracePeriodSeconds drain"


def convert(obj: CustomObject, version: str) -> CustomObject:
    """Return a request as an object of ``version``."""
    return _newer(obj) if version == BETA else _older(obj)


def grace_condition(at: Any) -> dict[str, Any]:
    """Return the condition that the pod is not ready since a time."""
    return {
        "type": PRE_RECREATE_GRACE,
        "status": "True",
        "lastTransitionTime": at,
        "reason": PRE_RECREATE_GRACE,
        "message": GRACE_MESSAGE,
    }


def _newer(obj: CustomObject) -> CustomObject:
    status, annotations = dict(obj.content.get("status") or {}), dict(obj.metadata.annotations)
    statuses = _snapshot(annotations.pop(SNAPSHOT_ANNOTATION, ""))
    if statuses:
        status["containerStatusSnapshot"] = statuses
    since = annotations.pop(UNREADY_ACQUIRED, "")
    if since:
        status["conditions"] = [grace_condition(since)]
    return _with(obj, annotations, status)


def _snapshot(text: str) -> list[Any]:
    """Return the statuses in an annotation; none if it cannot be read."""
    try:
        found = msgspec.json.decode(text or "[]")
    except msgspec.DecodeError:
        return []
    return found if isinstance(found, list) else []


def _older(obj: CustomObject) -> CustomObject:
    status, annotations = dict(obj.content.get("status") or {}), dict(obj.metadata.annotations)
    statuses = status.pop("containerStatusSnapshot", None)
    if statuses:
        annotations[SNAPSHOT_ANNOTATION] = msgspec.json.encode(statuses).decode()
    for condition in status.pop("conditions", None) or ():
        if (condition.get("type"), condition.get("status")) == (PRE_RECREATE_GRACE, "True"):
            annotations[UNREADY_ACQUIRED] = str(condition.get("lastTransitionTime", ""))
    return _with(obj, annotations, status)


def _with(obj: CustomObject, annotations: dict[str, str], status: dict[str, Any]) -> CustomObject:
    metadata = structs.replace(obj.metadata, annotations=annotations)
    content = dict(obj.content)
    if status or "status" in content:
        content["status"] = status
    return structs.replace(obj, metadata=metadata, content=content)

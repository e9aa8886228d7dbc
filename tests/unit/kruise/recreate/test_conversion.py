"""Conversion of requests: annotations of the older version are parts of the status in the newer one."""

from __future__ import annotations

from typing import Any

from podling.api.meta_v1 import ObjectMeta
from podling.machinery.encoding.custom import CustomObject
from podling_kruise.recreate.conversion import BETA, convert
from podling_kruise.recreate.types import ContainerRecreateRequest

AT = "2026-01-01T00:00:00Z"
SNAPSHOT = [{"name": "app", "ready": True, "restartCount": 1, "containerID": "sim://new"}]
CONDITION = {
    "type": "PreRecreateGrace",
    "status": "True",
    "lastTransitionTime": AT,
    "reason": "PreRecreateGrace",
    "message": "Pod has been forced to not-ready for unreadyGracePeriodSeconds drain",
}


def request(annotations: dict[str, str], **status: Any) -> CustomObject:
    kind = ContainerRecreateRequest.custom_resource.type
    made: CustomObject = kind(metadata=ObjectMeta(annotations=annotations), content={"status": status})
    return made


def test_status_goes_to_annotations_and_comes_back() -> None:
    newer = request(
        {"own": "1"}, phase="Recreating", containerStatusSnapshot=SNAPSHOT, conditions=[CONDITION]
    )
    older = convert(newer, "apps.kruise.io/v1alpha1")
    assert older.content["status"] == {"phase": "Recreating"}
    assert older.metadata.annotations["crr.apps.kruise.io/unready-acquired"] == AT
    back = convert(older, BETA)
    assert (back.metadata.annotations, back.content) == ({"own": "1"}, newer.content)


def test_unreadable_annotation_is_dropped() -> None:
    older = request({"crr.apps.kruise.io/sync-container-statuses": "{"}, phase="Recreating")
    assert convert(older, BETA).content["status"] == {"phase": "Recreating"}

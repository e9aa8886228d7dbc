"""Advanced StatefulSets in their older version, which has fewer fields."""

from __future__ import annotations

from typing import Any

from podling.machinery.encoding.custom import CustomObject
from podling_kruise.statefulset.conversion import BETA, convert

ALPHA = "apps.kruise.io/v1alpha1"
SHARED: dict[str, Any] = {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 1}}}


def custom(version: str, spec: dict[str, Any], **status: Any) -> CustomObject:
    return CustomObject(api_version=version, kind="StatefulSet", content={"spec": spec, "status": status})


def test_fields_of_the_newer_version_are_left_out_of_the_older() -> None:
    newer = custom(BETA, {**SHARED, "reserveOrdinals": [1], "lifecycle": {}}, replicas=3, volumeClaims=[])
    assert convert(newer, ALPHA).content == {"spec": SHARED, "status": {"replicas": 3}}


def test_older_objects_keep_all_their_fields() -> None:
    older = custom(ALPHA, SHARED, replicas=3, labelSelector="a=b")
    assert convert(older, BETA).content == older.content

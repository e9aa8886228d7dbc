"""Advanced DaemonSets in their older version."""

from __future__ import annotations

from typing import Any

from podling.api.meta_v1 import ObjectMeta
from podling.machinery.encoding.custom import CustomObject
from podling_kruise.daemonset.conversion import BETA, PROGRESSIVE, convert

ALPHA = "apps.kruise.io/v1alpha1"


def custom(version: str, spec: dict[str, Any], annotations: dict[str, str] | None = None) -> CustomObject:
    return CustomObject(
        api_version=version,
        kind="DaemonSet",
        metadata=ObjectMeta(name="web", annotations=annotations or {}),
        content={"spec": spec},
    )


def test_annotation_becomes_the_field_and_an_annotation_again() -> None:
    newer = convert(custom(ALPHA, {}, {PROGRESSIVE: "true"}), BETA)
    assert newer.content["spec"] == {"scaleStrategy": {"partitionedScaling": True}}
    bare = CustomObject(api_version=BETA, kind="DaemonSet", content=newer.content)
    older = convert(bare, ALPHA)
    assert (older.content["spec"], older.metadata.annotations) == ({}, {PROGRESSIVE: "true"})


def test_surging_becomes_standard() -> None:
    strategy = {"rollingUpdate": {"rollingUpdateType": "Surging", "maxSurge": 1}}
    newer = convert(custom(ALPHA, {"updateStrategy": strategy}), BETA)
    rolling = newer.content["spec"]["updateStrategy"]["rollingUpdate"]
    assert rolling == {"rollingUpdateType": "Standard", "maxSurge": 1}


def test_hash_of_the_status_has_another_name() -> None:
    obj = CustomObject(api_version=BETA, kind="DaemonSet", content={"status": {"updateRevision": "a"}})
    older = convert(obj, ALPHA)
    assert older.content["status"] == {"daemonSetHash": "a"}
    assert convert(older, BETA).content["status"] == {"updateRevision": "a"}

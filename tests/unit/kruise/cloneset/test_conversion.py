"""Conversion of CloneSets between their versions. Rules: ``cloneset_conversion.go`` upstream."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api.meta_v1 import ObjectMeta
from podling.machinery.encoding.custom import CustomObject
from podling_kruise.cloneset.conversion import BETA, POLICIES, convert

ALPHA = "apps.kruise.io/v1alpha1"
BASE = {"replicas": 2, "selector": {}, "template": {"spec": {}}}


def custom(spec: dict[str, Any], version: str = ALPHA, **metadata: Any) -> CustomObject:
    return CustomObject(
        api_version=version, kind="CloneSet", metadata=ObjectMeta(**metadata), content={"spec": spec}
    )


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({}, {"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": "ReCreate"}}),
        ({"type": "OnDelete", "paused": True}, {"type": "OnDelete"}),
        (
            {"type": "InPlaceOnly", "partition": "50%", "inPlaceUpdateStrategy": {"gracePeriodSeconds": 5}},
            {
                "type": "RollingUpdate",
                "rollingUpdate": {
                    "podUpdatePolicy": "InPlaceOnly",
                    "partition": "50%",
                    "inPlaceUpdateStrategy": {"gracePeriodSeconds": 5},
                },
            },
        ),
    ],
)
def test_strategy_in_the_newer_version(older: dict[str, Any], newer: dict[str, Any]) -> None:
    made = convert(custom({**BASE, "updateStrategy": older}), BETA)
    assert made.content["spec"]["updateStrategy"] == newer


def test_annotations_of_image_downloads_become_fields_and_annotations_again() -> None:
    annotations = {
        "apps.kruise.io/image-predownload-parallelism": "50%",
        "apps.kruise.io/image-predownload-timeout-seconds": "30",
    }
    newer = convert(custom(BASE, annotations=annotations), BETA)
    in_place = newer.content["spec"]["updateStrategy"]["rollingUpdate"]["inPlaceUpdateStrategy"]
    assert in_place == {"imagePreDownloadParallelism": "50%", "imagePreDownloadTimeoutSeconds": 30}
    bare = CustomObject(api_version=BETA, kind="CloneSet", content=newer.content)
    assert convert(bare, ALPHA).metadata.annotations == annotations


def test_label_becomes_the_field_that_excludes_pods() -> None:
    labels = {"apps.kruise.io/cloneset-scaling-exclude-preparing-delete": "true"}
    made = convert(custom(BASE, labels=labels), BETA)
    assert made.content["spec"]["scaleStrategy"] == {"enablePVCReuse": True, "excludePreparingDelete": True}


STRATEGIES = st.fixed_dictionaries(
    {"type": st.sampled_from(POLICIES)},
    optional={
        "partition": st.integers(0, 9) | st.just("50%"),
        "paused": st.booleans(),
        "maxSurge": st.integers(0, 3),
        "scatterStrategy": st.just([{"key": "a", "value": "b"}]),
        "inPlaceUpdateStrategy": st.just({"gracePeriodSeconds": 3}),
    },
)


@given(STRATEGIES, st.booleans())
def test_older_objects_survive_the_way_there_and_back(strategy: dict[str, Any], disable: bool) -> None:
    scale: dict[str, Any] = {"podsToDelete": ["a"]} | ({"disablePVCReuse": True} if disable else {})
    spec = {**BASE, "scaleStrategy": scale, "updateStrategy": strategy}
    assert convert(convert(custom(spec), BETA), ALPHA).content["spec"] == spec

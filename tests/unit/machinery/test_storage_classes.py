"""The storage class and the VolumeAttributesClasses of claims."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from podling.api.core_v1 import PersistentVolumeClaim
from podling.api.meta_v1 import ObjectMeta
from podling.api.storage_v1 import StorageClass
from podling.machinery.encoding.codec import from_plain
from podling.machinery.storage_classes import (
    BETA_CLASS,
    attributes_classes_of,
    class_of,
    default_class,
    has_class,
)


@pytest.mark.parametrize(
    ("annotations", "spec", "found"),
    [
        ({}, {}, ""),
        ({}, {"storageClassName": "fast"}, "fast"),
        ({BETA_CLASS: "old"}, {"storageClassName": "fast"}, "old"),
        ({BETA_CLASS: ""}, {"storageClassName": "fast"}, ""),
    ],
)
def test_annotation_wins_over_field(annotations: dict[str, str], spec: dict[str, Any], found: str) -> None:
    plain = {"metadata": {"annotations": annotations}, "spec": spec}
    assert class_of(from_plain(plain, PersistentVolumeClaim)) == found


@pytest.mark.parametrize(
    ("annotations", "spec", "says"),
    [
        ({}, {}, False),
        ({}, {"storageClassName": ""}, True),
        ({}, {"storageClassName": "fast"}, True),
        ({BETA_CLASS: ""}, {}, True),
    ],
)
def test_claim_that_wants_no_class_says_so(
    annotations: dict[str, str], spec: dict[str, Any], says: bool
) -> None:
    plain = {"metadata": {"annotations": annotations}, "spec": spec}
    assert has_class(from_plain(plain, PersistentVolumeClaim)) is says


@pytest.mark.parametrize(
    ("classes", "chosen"),
    [
        ([], None),
        ([("plain", 1, {})], None),
        ([("not", 1, {"storageclass.kubernetes.io/is-default-class": "false"})], None),
        ([("beta", 1, {"storageclass.beta.kubernetes.io/is-default-class": "true"})], "beta"),
        ([("old", 1, None), ("new", 2, None), ("plain", 3, {})], "new"),
        ([("b", 1, None), ("a", 1, None)], "a"),
    ],
)
def test_newest_marked_class_is_default(classes: list[Any], chosen: str | None) -> None:
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    found = default_class(
        StorageClass(
            metadata=ObjectMeta(
                name=name,
                creation_timestamp=datetime(2024, 1, day, tzinfo=UTC),
                annotations=mark if annotations is None else annotations,
            ),
            provisioner="p",
        )
        for name, day, annotations in classes
    )
    assert (found.metadata.name if found else None) == chosen


def test_claim_has_wanted_current_and_target_attributes_classes() -> None:
    plain: dict[str, Any] = {"spec": {"volumeAttributesClassName": "wanted"}}
    assert attributes_classes_of(from_plain(plain, PersistentVolumeClaim)) == {"wanted"}
    plain["status"] = {
        "currentVolumeAttributesClassName": "current",
        "modifyVolumeStatus": {"targetVolumeAttributesClassName": "target", "status": "Pending"},
    }
    found = attributes_classes_of(from_plain(plain, PersistentVolumeClaim))
    assert found == {"wanted", "current", "target"}
    assert attributes_classes_of(PersistentVolumeClaim()) == set()

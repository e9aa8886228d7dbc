"""The storage class and the VolumeAttributesClasses of claims."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import PersistentVolumeClaim
from podling.machinery.encoding.codec import from_plain
from podling.machinery.storage_classes import BETA_CLASS, attributes_classes_of, class_of


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

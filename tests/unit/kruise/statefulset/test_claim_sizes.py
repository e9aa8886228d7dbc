"""Sizes of claims beside their templates. Cases: ``pkg/util/pvc``."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import PersistentVolumeClaim
from podling_kruise.statefulset.claim_sizes import is_alike, is_compatible, is_grown, is_ready, is_too_small


def claim(storage: str = "2Gi", **more: Any) -> PersistentVolumeClaim:
    status = {name: more.pop(name) for name in ("capacity", "conditions") if name in more}
    spec = {"resources": {"requests": {"storage": storage}}, "accessModes": ["ReadWriteOnce"], **more}
    return msgspec.convert({"spec": spec, "status": status}, PersistentVolumeClaim)


@pytest.mark.parametrize(
    ("held", "wanted", "alike", "small"),
    [
        (claim(), claim(), True, False),
        (claim("1Gi"), claim("2048Mi"), True, True),
        (claim("4Gi"), claim(), True, False),
        (claim(storageClassName="a"), claim(), True, False),
        (claim(storageClassName="a"), claim(storageClassName="b"), False, False),
        (claim(accessModes=["ReadOnlyMany"]), claim(), False, False),
    ],
)
def test_claim_beside_its_template(
    held: PersistentVolumeClaim, wanted: PersistentVolumeClaim, alike: bool, small: bool
) -> None:
    assert (is_alike(held, wanted), is_too_small(held, wanted)) == (alike, small)
    assert is_compatible(held, wanted) is (alike and not small)


@pytest.mark.parametrize(("capacity", "ready"), [("", False), ("1Gi", False), ("2Gi", True), ("3Gi", True)])
def test_volume_beside_its_claim(capacity: str, ready: bool) -> None:
    assert is_ready(claim(capacity={"storage": capacity} if capacity else {})) is ready


def pending(status: str) -> list[dict[str, str]]:
    return [{"type": "FileSystemResizePending", "status": status}]


@pytest.mark.parametrize(
    ("held", "is_large"),
    [
        (claim(capacity={"storage": "2Gi"}), True),
        (claim(capacity={"storage": "1Gi"}), False),
        (claim(capacity={"storage": "1Gi"}, conditions=pending("True")), True),
        (claim(capacity={"storage": "1Gi"}, conditions=pending("False")), False),
        (claim("1Gi", capacity={"storage": "2Gi"}, conditions=pending("True")), False),
    ],
)
def test_claim_has_grown_but_for_a_new_start_of_its_pod(held: PersistentVolumeClaim, is_large: bool) -> None:
    assert is_grown(held, claim()) is is_large

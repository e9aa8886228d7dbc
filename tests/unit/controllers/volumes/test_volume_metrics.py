"""Counts of volumes and claims. Cases of upstream's ``persistentvolume/metrics/metrics_test.go``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    CSIPersistentVolumeSource,
    LocalVolumeSource,
    NFSVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
)
from podling.controllers.volumes.volume_metrics import plugin_name, volume_families
from tests.support.counts import samples
from tests.support.workloads import claim, volume

LOCAL = LocalVolumeSource(path="/disk")
CSI = CSIPersistentVolumeSource(driver="disks.example.com", volume_handle="1")


class Collected:
    """The metrics as a collector."""

    def __init__(self, *found: PersistentVolume | PersistentVolumeClaim) -> None:
        self._volumes = [each for each in found if isinstance(each, PersistentVolume)]
        self._claims = [each for each in found if isinstance(each, PersistentVolumeClaim)]

    def collect(self) -> Iterator[Any]:
        return volume_families(self._volumes, self._claims)


def volume_in(phase: str, **spec: Any) -> PersistentVolume:
    found = volume("v", **spec)
    return structs.replace(found, status=structs.replace(found.status, phase=phase))


def claim_in(phase: str, **spec: Any) -> PersistentVolumeClaim:
    found = claim(**spec)
    return structs.replace(found, status=structs.replace(found.status, phase=phase))


@pytest.mark.parametrize(
    ("found", "name", "counts"),
    [
        ([], "total_pv_count", {}),
        (
            [volume_in("Bound", storage_class_name="a") for _ in range(2)],
            "bound_pv_count",
            {("a",): 2},
        ),
        ([volume_in("Pending"), volume_in("Failed"), volume_in("Bound")], "unbound_pv_count", {("",): 2}),
        (
            [volume_in("Bound"), volume_in("Bound", volume_mode="Block")],
            "total_pv_count",
            {("kubernetes.io/host-path", "Filesystem"): 1, ("kubernetes.io/host-path", "Block"): 1},
        ),
        (
            [claim_in("Bound", storage_class_name="a"), claim_in("Bound"), claim_in("Pending")],
            "bound_pvc_count",
            {("default", "a", ""): 1, ("default", "", ""): 1},
        ),
        (
            [claim_in("Lost", volume_attributes_class_name="gold"), claim_in("Pending")],
            "unbound_pvc_count",
            {("default", "", "gold"): 1, ("default", "", ""): 1},
        ),
    ],
)
def test_volumes_and_claims_are_counted(found: list[Any], name: str, counts: dict[Any, int]) -> None:
    assert samples([Collected(*found)], f"pv_collector_{name}") == counts


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ({}, "N/A"),
        ({"local": LOCAL}, "kubernetes.io/local-volume"),
        ({"nfs": NFSVolumeSource(server="s", path="/")}, "kubernetes.io/nfs"),
        ({"csi": CSI}, "kubernetes.io/csi:disks.example.com"),
    ],
)
def test_plugins_are_named_as_by_kubernetes(source: dict[str, Any], name: str) -> None:
    assert plugin_name(volume("v", host_path=None, **source)) == name

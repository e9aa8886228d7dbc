"""Free resources of nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.kubelet.node.node_pressure import Observation
from podling.kubelet.node.node_usage import allocatable_left, machine_left, simulated_left
from podling.runtime.base import ContainerStats
from podling.runtime.image_service import Image
from tests.unit.kubelet.instances import NOON

CAPACITY = {"memory": "1000", "ephemeral-storage": "2000"}


def use(memory: int, disk: int) -> ContainerStats:
    return ContainerStats(container_id="c", at=NOON, memory_bytes=memory, writable_layer_bytes=disk)


@pytest.mark.parametrize(
    ("stats", "images", "memory", "disk"),
    [
        ([], [], 1000, 2000),
        ([use(300, 100), use(200, 50)], [Image(id="i", size_bytes=500)], 500, 1350),
        ([use(5000, 5000)], [], 0, 0),
    ],
)
def test_simulated_node_has_its_capacity_less_the_use(
    stats: list[ContainerStats], images: list[Image], memory: int, disk: int
) -> None:
    assert simulated_left(CAPACITY, stats, images) == {
        "memory.available": Observation(memory, 1000),
        "nodefs.available": Observation(disk, 2000),
        "imagefs.available": Observation(disk, 2000),
    }


def test_memory_of_pods_is_what_nothing_reserves() -> None:
    working = [
        ContainerStats(container_id="c", at=NOON, memory_working_set_bytes=size) for size in (300, 200)
    ]
    assert allocatable_left(800, working) == Observation(300, 800)
    assert allocatable_left(400, working) == Observation(0, 400)


def test_missing_disk_leaves_its_signals_out(tmp_path: Path) -> None:
    assert "nodefs.available" in machine_left(tmp_path, {})
    assert not [
        name for name in machine_left(tmp_path / "none", {}) if name.startswith(("nodefs", "imagefs"))
    ]

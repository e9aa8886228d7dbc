"""The node's free resources: memory, disks, process numbers.

A simulated node must not read the real machine; its free resources are its capacity less its pods' use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from podling.api.core_v1 import Node
from podling.kubelet.blocking import blocking
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.node.allocatable import allocatable, reservations
from podling.kubelet.node.machine import most_processes, read_meminfo
from podling.kubelet.node.node_pressure import ALLOCATABLE_MEMORY, Observation
from podling.machinery.quantity import value
from podling.runtime.base import ContainerStats, KeepsLogs
from podling.runtime.image_service import Image


async def node_left(deps: KubeletDeps, node: Node) -> dict[str, Observation]:
    """Return the node's free resources, by signal. Raises ``RuntimeFailure``."""
    capacity, runtime = node.status.capacity, deps.runtime
    if isinstance(runtime, KeepsLogs):
        found = simulated_left(capacity, await runtime.stats(), await runtime.images.list_images())
    else:
        found = await blocking(machine_left, deps.root_dir, capacity)
    kept = replace(deps.config, eviction_hard={})
    if "memory" in reservations(kept, capacity):
        memory = value(allocatable(capacity, kept)["memory"])
        found[ALLOCATABLE_MEMORY] = allocatable_left(memory, await runtime.stats())
    return found


def allocatable_left(memory: int, stats: Iterable[ContainerStats]) -> Observation:
    """Return how much of the ``memory`` that pods may request their containers have left.

    Where nothing is reserved this says no more than the node's free memory, and is not measured.
    """
    used = sum(found.memory_working_set_bytes for found in stats)
    return Observation(max(0, memory - used), memory)


def machine_left(root_dir: Path, capacity: Mapping[str, str]) -> dict[str, Observation]:
    """Return the real machine's free resources, without those that cannot be read."""
    found: dict[str, Observation] = {}
    meminfo = read_meminfo()
    if "MemAvailable" in meminfo:
        total = meminfo.get("MemTotal", 0)
        found["memory.available"] = Observation(meminfo["MemAvailable"], total)
    try:
        disk = os.statvfs(root_dir)
    except OSError:
        return found
    size = disk.f_blocks * disk.f_frsize
    for name in ("nodefs", "imagefs"):
        found[f"{name}.available"] = Observation(disk.f_bavail * disk.f_frsize, size)
        if disk.f_files:
            found[f"{name}.inodesFree"] = Observation(disk.f_favail, disk.f_files)
    found.update(_processes_left())
    return found


def _processes_left() -> dict[str, Observation]:
    most = most_processes()
    try:
        running = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return {}
    return {"pid.available": Observation(max(0, most - running), most)} if most else {}


def simulated_left(
    capacity: Mapping[str, str], stats: Iterable[ContainerStats], images: Iterable[Image]
) -> dict[str, Observation]:
    """Return a simulated machine's free resources: its capacity less its containers' and images' use."""
    used = list(stats)
    memory, disk = value(capacity["memory"]), value(capacity["ephemeral-storage"])
    memory_left = memory - sum(found.memory_bytes for found in used)
    disk_left = disk - sum(found.writable_layer_bytes for found in used)
    disk_left -= sum(image.size_bytes for image in images)
    return {
        "memory.available": Observation(max(0, memory_left), memory),
        "nodefs.available": Observation(max(0, disk_left), disk),
        "imagefs.available": Observation(max(0, disk_left), disk),
    }

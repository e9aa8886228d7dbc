"""The use of the node's disks: file systems, images, logs and volumes, for ``/stats/summary``.

A volume that is a file system of its own is as large as that; others are measured, each for a bounded time
per call, and lie on the node's file system. Paths of the node itself (``hostPath``) are not measured.
Source: ``pkg/kubelet/server/stats/volume_stat_calculator.go``, ``pkg/volume/metrics_du.go``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field

from podling import clock
from podling.api.core_v1 import Pod, Volume
from podling.files.trees import TreeMeter
from podling.kubelet.blocking import blocking
from podling.kubelet.pods.pod_source import PodSource
from podling.kubelet.server.summary_types import ClaimReference, FsUse, VolumeUse
from podling.kubelet.volumes.claims import claim_name
from podling.runtime.base import KeepsLogs


class DiskUse(Struct, frozen=True):
    """The measured disks. ``logs`` are bytes by pod UID and container, ``volumes`` by pod UID."""

    node: FsUse
    images: FsUse | None = None
    logs: Mapping[tuple[str, str], int] = field(default_factory=dict)
    volumes: Mapping[str, list[VolumeUse]] = field(default_factory=dict)
    scratch: Mapping[str, int] = field(default_factory=dict)
    """The bytes in volumes that end with their pod and are on the node's disk, by pod UID."""


class _Place(Struct, frozen=True):
    """A volume to be measured."""

    pod: Pod
    volume: Volume
    path: Path


class DiskMeter:
    """Measures the disks of one node again and again."""

    def __init__(self) -> None:
        self._meters: dict[Path, TreeMeter] = {}

    async def read(self, source: PodSource) -> DiskUse | None:
        """Return the present use; None for a simulated node, which has no disks, and if there is none."""
        if isinstance(source.runtime, KeepsLogs):
            return None
        images = sum(image.size_bytes for image in await source.runtime.images.list_images())
        pods = source.pods()
        logs = {
            (pod.metadata.uid or "", container.name): path.parent
            for pod in pods
            for container in (*pod.spec.init_containers, *pod.spec.containers)
            if (path := source.log_path(pod, container.name)) is not None
        }
        places = [
            _Place(pod, volume, path)
            for pod in pods
            for volume in pod.spec.volumes
            if volume.host_path is None and (path := source.volume_paths(pod).get(volume.name)) is not None
        ]
        return await blocking(self._measure, source.root_dir, images, logs, places, clock.now())

    def _measure(
        self,
        root: Path,
        images: int,
        logs: Mapping[tuple[str, str], Path],
        places: list[_Place],
        at: datetime,
    ) -> DiskUse | None:
        node = file_system(root, at)
        if node is None:
            return None
        wanted = {*logs.values(), *(place.path for place in places)}
        self._meters = {path: self._meters.get(path) or TreeMeter(path) for path in wanted}
        volumes: dict[str, list[VolumeUse]] = {}
        scratch: dict[str, int] = {}
        for place in places:
            uid = place.pod.metadata.uid or ""
            use = self._volume(place, node, at)
            if use is not None:
                volumes.setdefault(uid, []).append(use)
                if place.volume.empty_dir is not None and not place.volume.empty_dir.medium:
                    scratch[uid] = scratch.get(uid, 0) + (use.used_bytes or 0)
        whole = FsUse(at, node.available_bytes, node.capacity_bytes, images, node.inodes_free, node.inodes)
        return DiskUse(node, whole, {name: self._size(path) for name, path in logs.items()}, volumes, scratch)

    def _volume(self, place: _Place, node: FsUse, at: datetime) -> VolumeUse | None:
        """Return a volume's use; None for a block device, and for one that is gone or hidden."""
        if not place.path.is_dir():
            return None
        own = file_system(place.path, at) if os.path.ismount(place.path) else None
        found = own or FsUse(
            at,
            node.available_bytes,
            node.capacity_bytes,
            self._size(place.path),
            node.inodes_free,
            node.inodes,
        )
        claimed = place.volume.persistent_volume_claim is not None or place.volume.ephemeral is not None
        claim = claim_name(place.pod, place.volume) if claimed else ""
        reference = ClaimReference(claim, place.pod.metadata.namespace or "") if claim else None
        return VolumeUse(
            found.time,
            found.available_bytes,
            found.capacity_bytes,
            found.used_bytes,
            found.inodes_free,
            found.inodes,
            found.inodes_used,
            name=place.volume.name,
            pvc_ref=reference,
        )

    def _size(self, path: Path) -> int:
        try:
            return self._meters[path].measure().bytes
        except OSError:
            return 0


def file_system(path: Path, at: datetime) -> FsUse | None:
    """Return the use of the file system of ``path``; None if it cannot be read."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    size, free = found.f_blocks * found.f_frsize, found.f_bfree * found.f_frsize
    return FsUse(
        at,
        found.f_bavail * found.f_frsize,
        size,
        size - free,
        found.f_ffree,
        found.f_files,
        found.f_files - found.f_ffree,
    )

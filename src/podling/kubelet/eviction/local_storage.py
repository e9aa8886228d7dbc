"""Limits of a pod's local ephemeral storage, and the detection of their violation.

Three limits count: an ``emptyDir``'s size, a container's ``ephemeral-storage`` (its writable layer and its
logs), and the sum of the containers' limits for the whole pod, volumes included. A pod above any of them is
evicted at once, even if the node has free space (``pkg/kubelet/eviction`` localStorageEviction).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from podling.api.core_v1 import Pod
from podling.files.trees import TreeMeter, TreeSize
from podling.machinery.pods import pod_limits
from podling.machinery.quantity import value

STORAGE = "ephemeral-storage"


class StorageUse(Struct, frozen=True):
    """A pod's bytes on disk: by container (layer and logs), by volume, and in managed files."""

    containers: Mapping[str, int] = field(default_factory=dict)
    volumes: Mapping[str, int] = field(default_factory=dict)
    inodes: Mapping[str, int] = field(default_factory=dict)
    """Inodes of containers, by name."""
    volume_inodes: int = 0
    managed: int = 0
    """Bytes in the files that the kubelet created for containers to write: ``/etc/hosts`` and such, and
    termination messages."""


def is_limited(pod: Pod) -> bool:
    """Return whether any limit applies to the pod, so that its use must be measured."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    return any(STORAGE in c.resources.limits for c in containers) or bool(disk_volumes(pod, limited=True))


def disk_volumes(pod: Pod, *, limited: bool = False) -> dict[str, int | None]:
    """Return the ``emptyDir`` volumes on disk with their size limits; ``limited``: only those with one."""
    found: dict[str, int | None] = {}
    for volume in pod.spec.volumes:
        if volume.empty_dir is None or volume.empty_dir.medium:
            continue
        size = value(volume.empty_dir.size_limit) if volume.empty_dir.size_limit else None
        if size or not limited:
            found[volume.name] = size or None
    return found


class Excess(Struct, frozen=True):
    """The limit that a pod exceeds, as the name of a signal, and the message that says so."""

    signal: str
    message: str


def excess(pod: Pod, use: StorageUse) -> Excess | None:
    """Return the first limit that a pod exceeds; None if it is within all of them."""
    for volume in pod.spec.volumes:
        limit = disk_volumes(pod).get(volume.name)
        if limit is not None and use.volumes.get(volume.name, 0) > limit:
            stated = volume.empty_dir.size_limit if volume.empty_dir is not None else ""
            text = f'Usage of EmptyDir volume "{volume.name}" exceeds the limit "{stated}". '
            return Excess("emptydirfs.limit", text)
    total = pod_limits(pod.spec).get(STORAGE)
    used = sum(use.containers.values()) + sum(use.volumes.get(name, 0) for name in disk_volumes(pod))
    used += use.managed
    if total is not None and used > total.value:
        text = f"Pod ephemeral local storage usage exceeds the total limit of containers {total}. "
        return Excess("ephemeralpodfs.limit", text)
    for container in pod.spec.containers:
        own = container.resources.limits.get(STORAGE)
        if own is not None and use.containers.get(container.name, 0) > value(own):
            text = f'Container {container.name} exceeded its local ephemeral storage limit "{own}". '
            return Excess("ephemeralcontainerfs.limit", text)
    return None


class StorageMeters:
    """Measures pods' use of the disk, each tree for a bounded time per call (see ``TreeMeter``)."""

    def __init__(self) -> None:
        self._meters: dict[Path, TreeMeter] = {}
        self._used: set[Path] = set()

    def size(self, path: Path) -> TreeSize:
        """Return the use of the disk below ``path``. Raises ``OSError``."""
        self._used.add(path)
        return self._meters.setdefault(path, TreeMeter(path)).measure()

    def forget_unused(self) -> None:
        """Drop the meters of trees that were not measured since the last call."""
        self._meters = {path: meter for path, meter in self._meters.items() if path in self._used}
        self._used.clear()

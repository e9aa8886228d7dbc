"""``emptyDir``: a directory that is empty at first and exists as long as its pod.

It lies on the node's disk, or with ``medium: Memory`` in a memory file system no larger than the size limit
(else than the pod's memory limit, else than the node's memory). Content survives restarts of
containers and of the kubelet.
"""

from __future__ import annotations

from pathlib import Path

from podling.api.core_v1 import EmptyDirVolumeSource, Pod, Volume
from podling.kubelet.failures import VolumeFailure
from podling.kubelet.volumes.base import Mounted, VolumeFacts, VolumeTools
from podling.kubelet.volumes.fs_group import set_ownership
from podling.kubelet.volumes.mounting import is_mount_point, mount_hugetlbfs, mount_tmpfs
from podling.machinery.pods import pod_limits
from podling.machinery.quantity import value

HUGE_PAGES_PREFIX = "HugePages"


def tmpfs_size(source: EmptyDirVolumeSource, pod: Pod, facts: VolumeFacts) -> int | None:
    """Return the bytes that a volume in memory may hold; None without any limit."""
    sizes = []
    if source.size_limit and value(source.size_limit) > 0:
        sizes.append(value(source.size_limit))
    limits = pod_limits(pod.spec)
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    if "memory" in limits and all("memory" in c.resources.limits for c in containers):
        sizes.append(value(str(limits["memory"])))
    elif "memory" in facts.allocatable:
        sizes.append(value(facts.allocatable["memory"]))
    return min(sizes, default=None)


class EmptyDir:
    """The plugin for ``emptyDir``."""

    plugin_name = "kubernetes.io~empty-dir"
    changes = False

    def __init__(self, tools: VolumeTools) -> None:
        self._tools = tools

    async def set_up(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Mounted:
        uid = pod.metadata.uid or ""
        path = self._tools.directories.volume(uid, self.plugin_name, volume.name)
        if self._tools.write:
            try:
                self._make(path, pod, volume.empty_dir or EmptyDirVolumeSource(), facts)
            except OSError as error:
                raise VolumeFailure(volume.name, str(error)) from error
        return Mounted(path)

    def _make(self, path: Path, pod: Pod, source: EmptyDirVolumeSource, facts: VolumeFacts) -> None:
        ready = path.with_name(f".{path.name}.ready")
        medium = source.medium or ""
        if ready.exists() and (not medium or is_mount_point(path)):
            return
        path.mkdir(mode=0o777, parents=True, exist_ok=True)
        path.chmod(0o777)
        if medium == "Memory":
            if not is_mount_point(path) and not mount_tmpfs(path, size_bytes=tmpfs_size(source, pod, facts)):
                raise PermissionError("a volume in memory needs the right to mount")
        elif medium.startswith(HUGE_PAGES_PREFIX):
            page = value(medium.removeprefix(f"{HUGE_PAGES_PREFIX}-")) if "-" in medium else 2 << 20
            if not is_mount_point(path) and not mount_hugetlbfs(path, page):
                raise PermissionError("a volume of huge pages needs the right to mount")
        context = pod.spec.security_context
        if context is not None and context.fs_group is not None:
            set_ownership(
                path,
                context.fs_group,
                only_on_mismatch=context.fs_group_change_policy == "OnRootMismatch",
            )
        ready.touch()

"""``hostPath``: a path of the node itself, checked or created as its type says.

Existing files are not changed, and nothing is removed with the pod. A path without a type is not checked;
if nothing is there when a container starts, a directory is created, as containerd and CRI-O do.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from podling.api.core_v1 import HostPathVolumeSource, Pod, Volume
from podling.kubelet.blocking import blocking_for_pod
from podling.kubelet.failures import VolumeFailure
from podling.kubelet.volumes.base import Mounted, VolumeFacts, VolumeTools

_TESTS = {
    "Directory": (stat.S_ISDIR, "directory"),
    "DirectoryOrCreate": (stat.S_ISDIR, "directory"),
    "File": (stat.S_ISREG, "file"),
    "FileOrCreate": (stat.S_ISREG, "file"),
    "Socket": (stat.S_ISSOCK, "socket file"),
    "CharDevice": (stat.S_ISCHR, "character device"),
    "BlockDevice": (stat.S_ISBLK, "block device"),
}


def check_host_path(source: HostPathVolumeSource) -> None:
    """Create the path if its type allows, and check its type. Raises ``OSError`` with Kubernetes' text."""
    path, kind = Path(source.path), source.type or ""
    if "\0" in source.path:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), source.path)
    if kind == "DirectoryOrCreate" and not path.exists():
        make_missing_directory(path)
    elif kind == "FileOrCreate" and not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
    if kind not in _TESTS:
        return
    test, noun = _TESTS[kind]
    if not path.exists() or not test(path.stat().st_mode):
        raise OSError(f"hostPath type check failed: {source.path} is not a {noun}")


def make_missing_directory(path: Path) -> None:
    """Create the directory that a container mounts, unless something is there. Raises ``OSError``."""
    if path.exists():
        return
    for part in (*reversed(path.parents), path):  # pathlib recurses, and a path may have two thousand parts
        if not part.is_dir():
            part.mkdir(mode=0o755, exist_ok=True)


class HostPath:
    """The plugin for ``hostPath``."""

    plugin_name = "kubernetes.io~host-path"
    changes = False

    def __init__(self, tools: VolumeTools) -> None:
        self._tools = tools

    async def set_up(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Mounted:
        source = volume.host_path or HostPathVolumeSource()
        if self._tools.write:
            try:
                await blocking_for_pod(pod.metadata.uid or "", check_host_path, source)
            except OSError as error:
                raise VolumeFailure(volume.name, str(error)) from error
        return Mounted(Path(source.path), made_for_container=not source.type)

"""``nfs``: a directory of an NFS server, mounted with the machine's own tools (``pkg/volume/nfs``).

The kernel and ``mount.nfs`` do the work. Where they are missing, the event has the message of ``mount``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podling.api.core_v1 import NFSVolumeSource, Pod, Volume
from podling.files.disk_images import mount
from podling.kubelet.blocking import blocking_for_pod
from podling.kubelet.failures import VolumeFailure
from podling.kubelet.volumes.base import Mounted, VolumeFacts, VolumeTools
from podling.kubelet.volumes.mounting import is_mount_point


def mount_share(source: NFSVolumeSource, target: Path, options: Sequence[str] = ()) -> None:
    """Mount the share. Raises ``OSError`` with the output of ``mount``."""
    server = f"[{source.server}]" if ":" in source.server else source.server
    wanted = (*options, "ro") if source.read_only else tuple(options)
    mount("nfs", f"{server}:{source.path}", target, wanted)


class NfsVolume:
    """The plugin for ``nfs`` in a pod."""

    plugin_name = "kubernetes.io~nfs"
    changes = False

    def __init__(self, tools: VolumeTools) -> None:
        self._tools = tools

    async def set_up(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Mounted:
        uid, source = pod.metadata.uid or "", volume.nfs or NFSVolumeSource()
        path = self._tools.directories.volume(uid, self.plugin_name, volume.name)
        if self._tools.write:
            try:
                await blocking_for_pod(uid, _mount, source, path)
            except OSError as error:
                raise VolumeFailure(volume.name, error.strerror or str(error)) from error
        return Mounted(path, read_only=bool(source.read_only))


def _mount(source: NFSVolumeSource, path: Path) -> None:
    path.mkdir(mode=0o750, parents=True, exist_ok=True)
    if not is_mount_point(path):
        mount_share(source, path)

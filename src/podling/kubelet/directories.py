"""The paths of a pod's files on the node's disk.

    <root>/pods/<uid>/volumes/<plugin>/<volume>      volumes as containers see them
    <root>/pods/<uid>/volumeDevices/<plugin>/<volume>   links to disk images that are block devices
    <root>/pods/<uid>/containers/<container>/        termination messages
    <root>/pods/<uid>/etc-hosts, resolv.conf         managed files
    <root>/pods/<uid>/userns                         the IDs of a pod with users of its own
    <root>/logs/<namespace>_<name>_<uid>/<container>/<attempt>.log

A pod's directory belongs to its UID, so a new pod of the same name never sees an old one's files.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from podling.api.core_v1 import Pod
from podling.files.trees import remove_tree


class Directories(Struct, frozen=True):
    """The kubelet's directories under ``root``."""

    root: Path

    @property
    def pods(self) -> Path:
        return self.root / "pods"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def pod(self, uid: str) -> Path:
        return self.pods / uid

    def volumes(self, uid: str) -> Path:
        return self.pod(uid) / "volumes"

    def volume(self, uid: str, plugin: str, name: str) -> Path:
        """Return a volume's directory. ``plugin`` has ``~`` for ``/``: ``kubernetes.io~empty-dir``."""
        return self.volumes(uid) / plugin / name

    def device(self, uid: str, plugin: str, name: str) -> Path:
        """Return the link to a block volume of the pod."""
        return self.pod(uid) / "volumeDevices" / plugin / name

    def containers(self, uid: str) -> Path:
        return self.pod(uid) / "containers"

    def container(self, uid: str, name: str) -> Path:
        return self.containers(uid) / name

    def hosts_file(self, uid: str) -> Path:
        return self.pod(uid) / "etc-hosts"

    def resolv_conf(self, uid: str) -> Path:
        return self.pod(uid) / "resolv.conf"

    def user_namespace(self, uid: str) -> Path:
        """Return the file of the node's IDs that a pod's users have."""
        return self.pod(uid) / "userns"

    def managed_bytes(self, uid: str) -> int:
        """Return the disk use of a pod's managed files, into which its containers may write."""
        size = 0
        for path in (self.hosts_file(uid), self.resolv_conf(uid)):
            with suppress(FileNotFoundError):
                size += path.stat().st_blocks * 512
        return size

    def pod_logs(self, pod: Pod) -> Path:
        metadata = pod.metadata
        return self.logs / f"{metadata.namespace}_{metadata.name}_{metadata.uid}"

    def container_log(self, pod: Pod, name: str, attempt: int) -> Path:
        return self.pod_logs(pod) / name / f"{attempt}.log"

    def pod_uids(self) -> tuple[str, ...]:
        """Return the pods that have a directory or logs, sorted."""
        # If the logs have a file system of their own, it holds a directory of no pod: lost+found.
        logs = (name.rpartition("_")[2] for name in _directories_in(self.logs) if "_" in name)
        return tuple(sorted({*_directories_in(self.pods), *logs}))

    def last_attempt(self, pod: Pod, name: str) -> int | None:
        """Return the highest attempt that left a log, even if its container is gone; None without a log."""
        try:
            names = [path.name for path in (self.pod_logs(pod) / name).iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return None
        attempts = [int(stem) for stem in (found.split(".")[0] for found in names) if stem.isdigit()]
        return max(attempts, default=None)

    def remove_logs(self, uid: str) -> None:
        """Remove the logs of a pod, known only by its UID."""
        for name in _directories_in(self.logs):
            if name.endswith(f"_{uid}"):
                with suppress(OSError):
                    remove_tree(self.logs / name)


def _directories_in(parent: Path) -> list[str]:
    try:
        with os.scandir(parent) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
    except FileNotFoundError:
        return []

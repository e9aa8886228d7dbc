"""The parts that the whole runtime shares: the engine, the cgroups, the directories, other nodes."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import Struct

from podling.runtime.base import PodNetwork
from podling.runtime.feed import Feeds
from podling.runtime.images.store import ImageStore
from podling.runtime.oci.cgroups import Cgroups
from podling.runtime.oci.detect import Engine
from podling.runtime.oci.lean_view import LeanView
from podling.runtime.oci.sandbox import Place
from podling.runtime.oci.sealed import SealedProgram
from podling.runtime.oci.warm_up import WarmUp


class Host(Struct, frozen=True, kw_only=True):
    """One cluster's corner of this machine."""

    engine: Engine
    program: SealedProgram
    """The engine's program, to be run instead of the file."""
    cgroups: Cgroups
    warm_up: WarmUp
    view: LeanView
    root: Path
    """Files that outlive a reboot: records, writable layers."""
    state: Path
    """Files that do not: pinned namespaces, sockets, exit files, mounts."""
    images: ImageStore
    network: PodNetwork
    feeds: Feeds
    capabilities: Collection[str]
    cgroup_parent: str
    """The parent of pods' cgroups that name none."""
    others: Mapping[str, Host] = {}
    """The same corner with other engines, by the engines' names."""

    def by_handler(self, handler: str) -> Host:
        """Return this corner with the engine ``handler``, or with the default one if there is none such."""
        return self.others.get(handler, self)

    @property
    def handlers(self) -> tuple[str, ...]:
        """The names of the engines, first the default one."""
        return (self.engine.name, *self.others)

    @property
    def exits(self) -> Path:
        """The directory of exit codes from the monitors, one file a container."""
        return self.state / "exits"

    @property
    def engine_root(self) -> Path:
        """The directory of the OCI runtime's own state."""
        return self.state / "engine"

    def bundle(self, container_id: str) -> Path:
        """Return a container's configuration, its streams' sockets, and its mounted root file system."""
        return self.state / "containers" / container_id

    def rootfs(self, container_id: str) -> Path:
        return self.bundle(container_id) / "rootfs"

    def upper(self, container_id: str) -> Path:
        """Return a container's writable layer."""
        return self.root / "containers" / container_id / "upper"

    def place(self, sandbox_id: str) -> Place:
        return Place(self.state / "sandboxes" / sandbox_id)

    def hostname_file(self, sandbox_id: str) -> Path:
        """A pod's ``/etc/hostname``. Containers may write it, so it is where their disk use is, and not
        among the node's own state in memory."""
        return self.root / "sandboxes" / sandbox_id / "hostname"

    def engine_command(self, *arguments: str) -> list[str]:
        return [self.engine.path, f"--root={self.engine_root}", *arguments]


PF_EXITING = 0x4
"""The kernel's flag (``linux/sched.h``) of a process that has begun to end."""


def birth(pid: int) -> int:
    """When a process started, in the kernel's ticks since boot; 0 if there is none, or only a zombie."""
    fields = _stat(pid)
    return 0 if not fields or fields[0] in (b"Z", b"X") else int(fields[19])


def exiting(pid: int) -> bool:
    """Return whether a process is exiting and runs no more; its resources may still exist."""
    fields = _stat(pid)
    return not fields or bool(int(fields[6]) & PF_EXITING)


def _stat(pid: int) -> list[bytes]:
    """Return the fields of ``/proc/PID/stat`` after the process' name; empty if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def open_process(pid: int, born: int) -> int:
    """Return a pidfd of exactly the process ``pid`` that started at ``born``.

    Raises ``ProcessLookupError`` when it has ended, even if its number was given to another.
    """
    descriptor = os.pidfd_open(pid)
    if birth(pid) != born:
        os.close(descriptor)
        raise ProcessLookupError(f"process {pid} has ended")
    return descriptor

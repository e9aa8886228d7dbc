"""Pods' cgroups: made, limited, measured and removed, on version 1 and version 2 alike.

A path is the same in every hierarchy (``/podling/burstable/pod<uid>/<container>``); the container's own
cgroup inside is made by the OCI runtime. Limits follow the OCI runtime specification: shares on version
1's scale, converted for version 2 by 1 + (shares - 2) * 9999 / 262142.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from podling.runtime.base import LinuxResources
from podling.runtime.oci.detect import CGROUP_ROOT, CgroupMode

_POD_CONTROLLERS = ("cpu", "memory", "pids", "cpuset")
_MEMORY_AND_SWAP = "memory.memsw.limit_in_bytes"
_UNLIMITED_V1 = 1 << 60
_CREATE_TRIES = 3
_ENDLESS = ("cpu_quota", "memory_limit", "memory_swap_limit", "pids_limit")
"""The limits that can be taken away, by -1."""


class Usage(Struct, frozen=True):
    """The present usage of a cgroup."""

    cpu_nanoseconds: int = 0
    memory_bytes: int = 0
    memory_working_set_bytes: int = 0
    processes: int = 0
    swap_bytes: int = 0


def weight(shares: int) -> int:
    """cgroup v2's ``cpu.weight`` for v1's ``cpu.shares``."""
    return 1 + (max(2, min(shares, 262144)) - 2) * 9999 // 262142


def merged(before: LinuxResources, change: LinuxResources) -> LinuxResources:
    """Return the limits in force after ``change``: what it does not give stays."""
    return replace(before, **_given(change))


def replaced(before: LinuxResources, change: LinuxResources) -> LinuxResources:
    """Return the change that takes ``change`` back: the limits of ``before`` for what it gives."""
    earlier = {name: getattr(before, name) for name in _given(change)}
    endless = {name: -1 for name in _ENDLESS if name in earlier and earlier[name] is None}
    return LinuxResources(**earlier | endless)


def _given(change: LinuxResources) -> dict[str, Any]:
    values = {name: getattr(change, name) for name in change.__struct_fields__}
    return {name: value for name, value in values.items() if value not in (None, "", {})}


def limit_files(resources: LinuxResources, unified: bool) -> list[tuple[str, str, str]]:
    """Return the limits as (controller, file, value), in the order in which they must be written."""
    files: list[tuple[str, str, str]] = []
    if resources.cpu_shares is not None:
        if unified:
            files.append(("cpu", "cpu.weight", str(weight(resources.cpu_shares))))
        else:
            files.append(("cpu", "cpu.shares", str(resources.cpu_shares)))
    files.extend(_quota(resources, unified))
    if resources.memory_limit is not None:
        unlimited = resources.memory_limit < 0
        if unified:
            files.append(("memory", "memory.max", "max" if unlimited else str(resources.memory_limit)))
        else:
            files.append(("memory", "memory.limit_in_bytes", str(resources.memory_limit)))
    files.extend(_swap(resources, unified))
    if resources.pids_limit is not None:
        files.append(("pids", "pids.max", str(resources.pids_limit) if resources.pids_limit > 0 else "max"))
    if resources.cpuset_cpus:
        files.append(("cpuset", "cpuset.cpus", resources.cpuset_cpus))
    if resources.cpuset_mems:
        files.append(("cpuset", "cpuset.mems", resources.cpuset_mems))
    if unified:
        files.extend((name.partition(".")[0], name, value) for name, value in resources.unified.items())
    return files


def _swap(resources: LinuxResources, unified: bool) -> list[tuple[str, str, str]]:
    """The limit is given as memory and swap together, as version 1 counts; version 2 counts swap alone."""
    limit = resources.memory_swap_limit
    if limit is None:
        return []
    if not unified:
        return [("memory", _MEMORY_AND_SWAP, str(limit))]
    if limit < 0:
        return [("memory", "memory.swap.max", "max")]
    return [("memory", "memory.swap.max", str(max(0, limit - max(0, resources.memory_limit or 0))))]


def _quota(resources: LinuxResources, unified: bool) -> list[tuple[str, str, str]]:
    quota, period = resources.cpu_quota, resources.cpu_period
    if unified:
        if quota is None:
            return []
        return [("cpu", "cpu.max", f"{'max' if quota <= 0 else quota} {period or 100_000}")]
    files = [] if period is None else [("cpu", "cpu.cfs_period_us", str(period))]
    return files if quota is None else [*files, ("cpu", "cpu.cfs_quota_us", str(quota if quota > 0 else -1))]


class Cgroups:
    """The machine's cgroup hierarchies."""

    def __init__(self, mode: CgroupMode, root: Path = CGROUP_ROOT) -> None:
        self.unified = mode is CgroupMode.UNIFIED
        self.root = root
        self.limits_huge_pages = not self.unified and (root / "hugetlb" / "cgroup.procs").exists()
        """True if version 1's controller of huge pages is mounted; version 2 has files of its own."""

    def place(self, controller: str, path: str) -> Path:
        """Return the directory of ``path`` in the hierarchy of ``controller``."""
        base = self.root if self.unified else self.root / controller
        return base / path.lstrip("/")

    def hierarchies(self) -> Iterator[Path]:
        """Yield every hierarchy's root in which a path may exist."""
        if self.unified:
            yield self.root
            return
        for entry in sorted(os.scandir(self.root), key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False) and os.path.exists(f"{entry.path}/cgroup.procs"):
                yield Path(entry.path)

    def create(self, path: str, resources: LinuxResources) -> None:
        """Make ``path`` with its parents and set its limits."""
        for left in reversed(range(_CREATE_TRIES)):
            try:
                self._create_unified(path) if self.unified else self._create_legacy(path)
                break
            except FileNotFoundError:  # another pod's end just took the empty parent away
                if not left:
                    raise
        self.apply(path, resources)

    def _create_legacy(self, path: str) -> None:
        for controller in _POD_CONTROLLERS:
            place = str(self.place(controller, path))
            try:
                os.mkdir(place)
            except FileExistsError:
                pass
            except FileNotFoundError:
                os.makedirs(place, exist_ok=True)
            if controller == "cpuset":
                _inherit_cpuset(place, str(self.root / controller))

    def _create_unified(self, path: str) -> None:
        """A controller works in a cgroup only if every cgroup above hands it down."""
        place = self.root
        available = (place / "cgroup.controllers").read_text().split()
        enable = " ".join(f"+{name}" for name in (*_POD_CONTROLLERS, "io") if name in available)
        for part in path.strip("/").split("/"):
            (place / "cgroup.subtree_control").write_text(enable)
            place = place / part
            place.mkdir(exist_ok=True)
        (place / "cgroup.subtree_control").write_text(enable)

    def apply(self, path: str, resources: LinuxResources) -> None:
        """Write the limits that are given; the others stay. Raises ``OSError``."""
        files = limit_files(resources, self.unified)
        if not self.unified and self._is_raised(path, resources.memory_limit or 0):
            # Memory may never exceed memory and swap together, so these are raised first.
            files.sort(key=lambda file: file[1] != _MEMORY_AND_SWAP)
        for controller, name, value in files:
            if name in (_MEMORY_AND_SWAP, "memory.swap.max") and not self.limits_swap(path):
                continue
            _write(f"{self.place(controller, path)}/{name}", value)

    def _is_raised(self, path: str, memory_limit: int) -> bool:
        """Return whether a memory limit of version 1 is above the one in force; -1 is no limit."""
        if memory_limit <= 0:
            return memory_limit < 0
        return memory_limit > self._number("memory", path, "memory.limit_in_bytes") > 0

    def processes(self, path: str) -> list[int]:
        """Return every process in ``path`` and below."""
        found: list[int] = []
        for directory, _, _ in os.walk(self.place("pids", path)):
            try:
                found.extend(int(line) for line in Path(directory, "cgroup.procs").read_text().split())
            except OSError:
                continue  # it was removed while we walked
        return found

    def kill(self, path: str) -> bool:
        """SIGKILL everything in ``path`` and below; True if there was anything."""
        processes = self.processes(path)
        for pid in processes:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return bool(processes)

    def remove(self, path: str) -> bool:
        """Remove ``path`` and everything below in every hierarchy; False while a process is left in it."""
        clean = True
        for hierarchy in self.hierarchies():
            for directory, _, _ in os.walk(hierarchy / path.lstrip("/"), topdown=False):
                try:
                    os.rmdir(directory)
                except FileNotFoundError:
                    continue
                except OSError:
                    clean = False
        return clean

    def remove_if_empty(self, path: str) -> None:
        """Remove ``path`` alone where nothing is in it or below it: parents shared by several pods."""
        for hierarchy in self.hierarchies():
            try:
                os.rmdir(hierarchy / path.lstrip("/"))
            except OSError:
                continue

    def oom_kills(self, path: str) -> int:
        """Return the number of processes in ``path`` that the kernel killed for lack of memory."""
        name = "memory.events" if self.unified else "memory.oom_control"
        return self._keyed("memory", path, name).get("oom_kill", 0)

    def usage(self, path: str) -> Usage:
        """Return the present usage of ``path``; zeros if it is gone."""
        processes = self._number("pids", path, "pids.current")
        if self.unified:
            memory = self._number("memory", path, "memory.current")
            inactive = self._keyed("memory", path, "memory.stat").get("inactive_file", 0)
            cpu = self._keyed("cpu", path, "cpu.stat").get("usage_usec", 0) * 1000
            swap = self._number("memory", path, "memory.swap.current")
        else:
            memory = self._number("memory", path, "memory.usage_in_bytes")
            counts = self._keyed("memory", path, "memory.stat")
            inactive, swap = counts.get("total_inactive_file", 0), counts.get("total_swap", 0)
            cpu = self._number("cpuacct", path, "cpuacct.usage")
        return Usage(cpu, memory, max(0, memory - inactive), processes, swap)

    def limits_swap(self, path: str) -> bool:
        """Return whether the kernel counts swap here; it may have been built or booted without."""
        name = "memory.swap.max" if self.unified else _MEMORY_AND_SWAP
        return (self.place("memory", path) / name).exists()

    def memory_limit(self, path: str) -> int | None:
        """Return the memory limit in force, None if there is none."""
        name = "memory.max" if self.unified else "memory.limit_in_bytes"
        value = self._number("memory", path, name)
        return value if 0 < value < _UNLIMITED_V1 else None

    def _number(self, controller: str, path: str, name: str) -> int:
        try:
            text = (self.place(controller, path) / name).read_text().strip()
        except OSError:
            return 0
        return int(text) if text.isdigit() else 0

    def _keyed(self, controller: str, path: str, name: str) -> dict[str, int]:
        try:
            lines = (self.place(controller, path) / name).read_text().splitlines()
        except OSError:
            return {}
        pairs = (line.split() for line in lines)
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _inherit_cpuset(place: str, top: str) -> None:
    """Fill a cpuset of version 1 below ``top``: a new one is empty and takes no process before that."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        if place == top or _read(f"{place}/{name}"):
            continue
        parent = os.path.dirname(place)
        if not _read(f"{parent}/{name}"):
            _inherit_cpuset(parent, top)
        _write(f"{place}/{name}", _read(f"{parent}/{name}"))


# Plain descriptors: a file object makes twice as many system calls, and while another thread holds the
# interpreter each of them is a wait.


def _read(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 1 << 16).decode().strip()
    finally:
        os.close(descriptor)


def _write(path: str, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)

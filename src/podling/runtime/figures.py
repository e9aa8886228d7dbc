"""Values of detailed measurements: what a cgroup, a pod's network and its disks have used.

Counters rise from the beginning of what they belong to. A figure that a machine does not have is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field


class Stall(Struct, frozen=True, kw_only=True):
    """The time in which tasks waited for a resource: percentages of the last 10, 60, 300 s, and the sum."""

    avg10: float = 0.0
    avg60: float = 0.0
    avg300: float = 0.0
    total_microseconds: int = 0


class Pressure(Struct, frozen=True):
    """Pressure stall information: ``some`` of the tasks waited, or ``full``: all of them."""

    some: Stall = Stall()
    full: Stall = Stall()


class DiskFigures(Struct, frozen=True, kw_only=True):
    """Transfers to and from one block device, ``major:minor``."""

    device: str
    reads: int = 0
    writes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0


class CgroupFigures(Struct, frozen=True, kw_only=True):
    """The use of a cgroup and all below it."""

    cpu_nanoseconds: int = 0
    cpu_user_nanoseconds: int = 0
    cpu_system_nanoseconds: int = 0
    periods: int = 0
    """Elapsed periods of the CPU quota."""
    throttled_periods: int = 0
    throttled_nanoseconds: int = 0
    memory_bytes: int = 0
    memory_working_set_bytes: int = 0
    memory_max_bytes: int = 0
    rss_bytes: int = 0
    cache_bytes: int = 0
    mapped_file_bytes: int = 0
    kernel_bytes: int = 0
    swap_bytes: int = 0
    active_file_bytes: int = 0
    inactive_file_bytes: int = 0
    limit_hits: int = 0
    """The number of times that the memory limit was reached."""
    page_faults: int = 0
    major_page_faults: int = 0
    oom_kills: int = 0
    processes: int = 0
    threads: int = 0
    threads_max: int = 0
    """The limit of threads; 0: none."""
    disks: tuple[DiskFigures, ...] = ()
    pressure: Mapping[str, Pressure] = field(default_factory=dict)
    """By resource: ``cpu``, ``memory``, ``io``. Empty where the kernel does not count it by cgroup."""


class InterfaceFigures(Struct, frozen=True, kw_only=True):
    """The counters of a network interface."""

    name: str
    received_bytes: int = 0
    received_packets: int = 0
    received_errors: int = 0
    received_dropped: int = 0
    sent_bytes: int = 0
    sent_packets: int = 0
    sent_errors: int = 0
    sent_dropped: int = 0


class ContainerFigures(Struct, frozen=True, kw_only=True):
    """One running container. ``open_files`` is its first process' soft limit of descriptors, -1: none."""

    container_id: str
    cgroup: str
    figures: CgroupFigures
    open_files: int = 0


class PodFigures(Struct, frozen=True, kw_only=True):
    """One pod as a whole, with what is in none of its containers."""

    sandbox_id: str
    cgroup: str
    figures: CgroupFigures
    interfaces: tuple[InterfaceFigures, ...] = ()
    """Those of the pod's own network; empty on the network of the node."""


class RuntimeFigures(Struct, frozen=True, kw_only=True):
    """All pods and containers of a node at one moment."""

    at: datetime
    pods: tuple[PodFigures, ...] = ()
    containers: tuple[ContainerFigures, ...] = ()

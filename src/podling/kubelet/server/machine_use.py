"""The use of the node's machine as a whole, for ``/metrics/resource`` and ``/stats/summary``.

A real machine's figures are those of its kernel, as cAdvisor counts them for the root: CPU time without
idling and waiting for disks, and memory that is neither free nor an inactive file page. A simulated machine
uses what its containers use. Source: ``opencontainers/cgroups`` ``statsFromMeminfo``, cAdvisor's
``setMemoryStats``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from podling import clock
from podling.kubelet.blocking import blocking
from podling.kubelet.node.machine import most_processes, read_meminfo
from podling.kubelet.server.snapshot import UsageSnapshot
from podling.runtime.base import KeepsLogs, Runtime
from podling.runtime.figures import InterfaceFigures
from podling.runtime.proc_net import interfaces

IDLE = (3, 4)
"""The fields of ``/proc/stat`` for idling and for waiting."""
GUEST = 8
"""The first field that other fields contain."""
NANOSECONDS = 1_000_000_000
PODS_INTERFACES = ("veth", "docker", "pv-")
"""The beginnings of names of interfaces that lead to single pods."""


class MachineUse(Struct, frozen=True):
    """CPU time since an arbitrary start, and what is in use, at one moment."""

    at: datetime
    cpu_nanoseconds: int
    memory_working_set_bytes: int
    started_at: datetime | None = None
    """The machine's start, if it is known."""
    memory_total_bytes: int = 0
    memory_bytes: int = 0
    rss_bytes: int = 0
    page_faults: int = 0
    major_page_faults: int = 0
    swap_total_bytes: int = 0
    swap_bytes: int = 0
    processes: int = 0
    processes_max: int = 0
    """The largest number of processes; 0: unknown."""
    interfaces: tuple[InterfaceFigures, ...] = ()
    """Network interfaces but the loopback one and those of pods."""


def busy_ticks(stat: str) -> int:
    """Return the ticks that all CPUs were busy, from the text of ``/proc/stat``; 0 if it has none. Pure."""
    line = stat.partition("\n")[0].split()
    if not line or line[0] != "cpu":
        return 0
    return sum(int(each) for place, each in enumerate(line[1 : GUEST + 1]) if place not in IDLE)


def working_set(meminfo: Mapping[str, int]) -> int:
    """Return the bytes in use without inactive file pages. Pure."""
    used = meminfo.get("MemTotal", 0) - meminfo.get("MemFree", 0)
    return max(0, used - meminfo.get("Inactive(file)", 0))


class MachineMeter:
    """Measures one machine; a simulated one is counted from snapshot to snapshot."""

    def __init__(self) -> None:
        self._counted = 0
        self._before: dict[str, int] = {}

    async def read(self, runtime: Runtime, now: UsageSnapshot) -> MachineUse | None:
        """Return the use at this moment; None if the kernel does not say."""
        if isinstance(runtime, KeepsLogs):
            return self._simulated(now)
        return await blocking(_real, clock.now())

    def _simulated(self, now: UsageSnapshot) -> MachineUse:
        """Add the CPU time of every container since the last snapshot: the sum never falls when one ends."""
        used = {container.id: figures.cpu_nanoseconds for _, container, figures in now.running}
        self._counted += sum(max(0, each - self._before.get(name, 0)) for name, each in used.items())
        self._before = used
        memory = sum(figures.memory_working_set_bytes for _, _, figures in now.running)
        return MachineUse(clock.now(), self._counted, memory)


def _real(at: datetime) -> MachineUse | None:
    stat = _text("/proc/stat")
    if not stat:
        return None
    meminfo, faults = read_meminfo(), counters(_text("/proc/vmstat"))
    started = counters(stat).get("btime")
    total, swap = meminfo.get("MemTotal", 0), meminfo.get("SwapTotal", 0)
    return MachineUse(
        at,
        busy_ticks(stat) * NANOSECONDS // os.sysconf("SC_CLK_TCK"),
        working_set(meminfo),
        started_at=datetime.fromtimestamp(started, UTC) if started is not None else None,
        memory_total_bytes=total,
        memory_bytes=max(0, total - meminfo.get("MemFree", 0)),
        rss_bytes=meminfo.get("AnonPages", 0),
        page_faults=faults.get("pgfault", 0),
        major_page_faults=faults.get("pgmajfault", 0),
        swap_total_bytes=swap,
        swap_bytes=max(0, swap - meminfo.get("SwapFree", 0)),
        processes=processes_of(_text("/proc/loadavg")),
        processes_max=most_processes(),
        interfaces=own_interfaces(_text("/proc/self/net/dev")),
    )


def counters(text: str) -> dict[str, int]:
    """Return the lines ``name number`` of a kernel's table; others count as nothing. Pure."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def processes_of(loadavg: str) -> int:
    """Return the present number of processes; zero if the text has none. Pure."""
    try:
        return int(loadavg.split()[3].partition("/")[2])
    except (ValueError, IndexError):
        return 0


def own_interfaces(table: str) -> tuple[InterfaceFigures, ...]:
    """Return the machine's interfaces without the ends of pods' (``ignoredDevicePrefixes``). Pure."""
    return tuple(each for each in interfaces(table) if not each.name.startswith(PODS_INTERFACES))


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""

"""The use of the node's machine as a whole, for ``/metrics/resource``.

A real machine's figures are those of its kernel, as cAdvisor counts them for the root: CPU time without
idling and waiting for disks, and memory that is neither free nor an inactive file page. A simulated machine
uses what its containers use. Source: ``opencontainers/cgroups`` ``statsFromMeminfo``, cAdvisor's
``setMemoryStats``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from podling import clock
from podling.kubelet.blocking import blocking
from podling.kubelet.node.machine import read_meminfo
from podling.kubelet.server.server_stats import UsageSnapshot
from podling.runtime.base import KeepsLogs, Runtime

IDLE = (3, 4)
"""The fields of ``/proc/stat`` for idling and for waiting."""
GUEST = 8
"""The first field that other fields contain."""
NANOSECONDS = 1_000_000_000


class MachineUse(Struct, frozen=True):
    """CPU time since an arbitrary start, and memory in use, at one moment."""

    at: datetime
    cpu_nanoseconds: int
    memory_working_set_bytes: int


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
    try:
        ticks = busy_ticks(Path("/proc/stat").read_text())
    except OSError:
        return None
    memory = working_set(read_meminfo())
    return MachineUse(at, ticks * NANOSECONDS // os.sysconf("SC_CLK_TCK"), memory)

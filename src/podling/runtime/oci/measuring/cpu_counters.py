"""The machine's counters of throttled CPUs, which are masked as other files that show the machine.

One container would see there what the others do. Upstream: ``pkg/securitycontext/util_linux.go``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")


@cache
def throttle_counters(cpus: Path = CPUS) -> tuple[str, ...]:
    """Return the directories with these counters, which not every machine has. They do not change."""
    return tuple(sorted(map(str, cpus.glob("cpu[0-9]*/thermal_throttle"))))

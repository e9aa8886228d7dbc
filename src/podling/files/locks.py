"""Holders of file locks (``flock``), as the kernel lists them.

The list is ``/proc/locks``. It omits processes of other PID namespaces, and on file systems
that show other device numbers than the kernel uses (btrfs, overlayfs) a holder is not found there.
"""

from __future__ import annotations

import os
from pathlib import Path

_LOCKS = Path("/proc/locks")


def holder_of(descriptor: int) -> int:
    """Return the id of the process that holds the lock of an open file; 0 if none can be named."""
    found = os.fstat(descriptor)
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    try:
        rows = [line.split() for line in _LOCKS.read_text().splitlines()]
    except OSError:
        return 0
    # "1: FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF"; those that wait have an arrow before the kind
    holders = (int(row[4]) for row in rows if row[1] == "FLOCK" and row[5] == place)
    return next((pid for pid in holders if pid > 0), 0)


def arguments_of(pid: int) -> list[str]:
    """Return the command line of a process; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def name_of(pid: int) -> str:
    """Return the name of a process; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    """Return whether a process has not ended; one that waits to be reaped has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

"""Permits to start a container, and the claim that its monitor holds.

A start is permitted by a file of its own. The monitor locks that file, renames it to ``claimed`` and keeps
the lock until it ends. So a runtime that starts after a sudden end can decide at every moment: a permit that
it revokes starts nothing any more, and one that was used leads to a monitor that lives as long as the lock is
held.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from podling import ids

CLAIM = "claimed"
PERMIT = "start-"


def permit_start(directory: Path) -> str:
    """Permit one start of the container; return the permit's name. Raises ``OSError``."""
    name = f"{PERMIT}{ids.hex_id(16)}"
    os.close(os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return name


def revoke_permits(directory: Path) -> None:
    """Remove the permits that no monitor has used yet."""
    for path in directory.glob(f"{PERMIT}*"):
        path.unlink(missing_ok=True)


def is_claimed(directory: Path) -> bool:
    """Return whether a monitor that has claimed the container is alive."""
    try:
        descriptor = os.open(directory / CLAIM, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def claimant(directory: Path) -> int:
    """Return the process that wrote its id into the claim last; 0 if none did."""
    try:
        lines = (directory / CLAIM).read_bytes().split(b"\n")
    except FileNotFoundError:
        return 0
    return int(lines[-2]) if len(lines) > 1 else 0  # what follows the last newline is half written


def kill_claimant(directory: Path) -> None:
    """Kill the monitor that holds the claim, if one does; on Linux the kernel kills the command with it."""
    pid = claimant(directory)
    if not pid or not is_claimed(directory):
        return
    with suppress(ProcessLookupError):
        if sys.platform != "linux":
            os.kill(pid, signal.SIGKILL)
            return
        handle = os.pidfd_open(pid)
        try:
            # Checked again with the handle open: the number still is the monitor's, so the handle is, too.
            if is_claimed(directory) and claimant(directory) == pid:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)

"""Processes found by what they say of themselves in ``/proc``, with all that they started."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress

from msgspec import Struct

_TRIES = 10
_END_SECONDS = 0.5
"""Seconds that the kernel gets for one killed process, in each try."""


class Process(Struct, frozen=True):
    """One process at one moment."""

    pid: int
    parent: int
    arguments: tuple[bytes, ...]


def all_processes() -> list[Process]:
    """Return every process of the machine but this one."""
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            with open(f"{entry.path}/cmdline", "rb") as file:
                arguments = tuple(file.read().split(b"\0"))
            with open(f"{entry.path}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            continue  # it ended meanwhile
        found.append(Process(int(entry.name), parent, arguments))
    return found


def families(processes: Iterable[Process], member: Callable[[Process], bool]) -> list[int]:
    """Return the processes that ``member`` picks, with all their descendants, parents before children."""
    children: dict[int, list[int]] = {}
    chosen = []
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
        if member(process):
            chosen.append(process.pid)
    found: dict[int, None] = {}
    while chosen:
        pid = chosen.pop(0)
        if pid not in found:
            found[pid] = None
            chosen += children.get(pid, ())
    return list(found)


def kill(pids: Iterable[int], number: int = signal.SIGKILL) -> None:
    """Send a signal to each that still is there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def end(member: Callable[[Process], bool]) -> None:
    """SIGKILL the families of all that ``member`` picks, and wait for their ends, until there are none: one
    of them may have been starting another."""
    for _ in range(_TRIES):
        found = families(all_processes(), member)
        if not found:
            return
        kill(found)
        wait_for_ends(found, _END_SECONDS)


def wait_for_ends(pids: Iterable[int], seconds: float) -> None:
    """Block, at most so long for each, until the processes have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            try:
                poll = select.poll()
                poll.register(descriptor, select.POLLIN)
                poll.poll(int(seconds * 1000))
            finally:
                os.close(descriptor)

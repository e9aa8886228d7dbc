"""The machine's own figures: which boot this is, and what processes use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

NANOSECONDS = 1_000_000_000


class ProcessFigures(Struct, frozen=True):
    """One process: its parent, CPU time in nanoseconds, resident memory in bytes."""

    parent: int
    cpu_nanoseconds: int
    memory_bytes: int


def boot() -> str:
    """Something that is another after every boot of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return _output("sysctl", "-n", "kern.bootsessionuuid")


def processes() -> dict[int, ProcessFigures]:
    """Return every process of the machine that can be seen, by its id."""
    if not sys.platform.startswith("linux"):
        return parse_ps(_output("ps", "-axo", "pid=,ppid=,rss=,time="))
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = Path("/proc", entry, "stat").read_text()
            except OSError:
                continue  # it ended meanwhile
            found[int(entry)] = parse_stat(text, ticks, page)
    return found


def parse_stat(text: str, ticks: int, page: int) -> ProcessFigures:
    """``/proc/<pid>/stat``; the name in brackets may hold anything, so fields count from its end."""
    fields = text.rpartition(")")[2].split()
    parent, user, system, resident = int(fields[1]), int(fields[11]), int(fields[12]), int(fields[21])
    return ProcessFigures(parent, (user + system) * NANOSECONDS // ticks, resident * page)


def parse_ps(text: str) -> dict[int, ProcessFigures]:
    """``ps`` lines of pid, parent, resident kilobytes and CPU time as ``[[hours:]minutes:]seconds``."""
    found = {}
    for line in text.splitlines():
        pid, parent, resident, time = line.split()
        seconds = 0.0
        for part in time.replace("-", ":").split(":"):
            seconds = seconds * 60 + float(part)
        found[int(pid)] = ProcessFigures(int(parent), int(seconds * NANOSECONDS), int(resident) * 1024)
    return found


def descendants(roots: Iterable[int], all_processes: Mapping[int, ProcessFigures]) -> dict[int, list[int]]:
    """For each of ``roots`` the processes below it, itself left out."""
    children: dict[int, list[int]] = {}
    for pid, figures in all_processes.items():
        children.setdefault(figures.parent, []).append(pid)
    result = {}
    for root in roots:
        below, open_ends = [], list(children.get(root, ()))
        while open_ends:
            pid = open_ends.pop()
            below.append(pid)
            open_ends += children.get(pid, ())
        result[root] = below
    return result


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

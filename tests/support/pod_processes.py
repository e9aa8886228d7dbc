"""A pod's processes on the machine, for faults that happen without the kubelet."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from pathlib import Path


def processes(uid: str) -> list[Path]:
    """Return the directories under ``/proc`` of all processes in the cgroups of the pod ``uid``."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if uid in (process / "cgroup").read_text():
                found.append(process)
    return found


def wait_until_gone(uid: str, seconds: float) -> bool:
    """Return whether each process of a pod ended within ``seconds``."""
    for process in processes(uid):
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(int(process.name))
            try:
                if not select.select([handle], [], [], seconds)[0]:
                    return False
            finally:
                os.close(handle)
    return not processes(uid)


def kill_process_namespace(uid: str) -> None:
    """Kill the process that holds a pod's process namespace, and so all processes in it."""
    for process in processes(uid):
        with suppress(FileNotFoundError, ProcessLookupError):
            if _first_of_its_namespace(process):
                os.kill(int(process.name), signal.SIGKILL)
                return
    raise AssertionError(f"nothing holds the namespace of pod {uid}")


def _first_of_its_namespace(process: Path) -> bool:
    (numbers,) = [line for line in (process / "status").read_text().splitlines() if line.startswith("NSpid:")]
    return len(numbers.split()) > 2 and numbers.split()[-1] == "1"


def still_running(argument: str, seconds: float) -> list[int]:
    """Return processes with ``argument`` on their command lines that do not end within ``seconds``."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if argument.encode() not in (process / "cmdline").read_bytes().split(b"\0"):
                continue
            handle = os.pidfd_open(int(process.name))
            try:
                if not select.select([handle], [], [], seconds)[0]:
                    found.append(int(process.name))
            finally:
                os.close(handle)
    return found

"""The start of a monitor: it claims the container, detaches, starts the command and records its end."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import time  # noqa: TID251  a process of its own, with no event loop to take time from

from podling.runtime.monitor.serve import Monitor
from podling.runtime.monitor.spawn import CANNOT_START, PR_SET_CHILD_SUBREAPER, prctl

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing alone would cost a megabyte in every monitor
    from typing import Any

DESCRIPTORS_MAX = 65536
"""Above what a process of ours inherits; the limit itself may be astronomical."""


def write_whole(name: str, content: dict[str, Any]) -> None:
    """Write a file so that a reader sees all of it or nothing."""
    with open(name + ".new", "w") as file:
        json.dump(content, file)
    os.replace(name + ".new", name)


def report(descriptor: int, content: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the process that started us may be gone already
        os.write(descriptor, json.dumps(content).encode())
    os.close(descriptor)


def claim(permit: str) -> int | None:
    """Turn the permit into the claim and lock it; return its descriptor, or None if it was revoked.

    The lock comes first, so that no reader finds a claim without it. It is held until the monitor ends.
    """
    try:
        descriptor = os.open(permit, os.O_WRONLY | os.O_APPEND)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.rename(permit, "claimed")
    except FileNotFoundError:
        return None
    return descriptor


def sign(descriptor: int) -> None:
    """Write our process id into the claim."""
    os.write(descriptor, f"{os.getpid()}\n".encode())


def main(directory: str, permit: str) -> None:
    """Claim the container, split off, start its command, and serve until it is over."""
    os.closerange(3, DESCRIPTORS_MAX)  # uvloop leaves its ends of our streams open in us
    os.umask(0o077)
    os.chdir(directory)
    claimed = claim(permit)
    if claimed is None:  # the process that started us is gone, and its successor has decided otherwise
        return
    sign(claimed)
    with open("launch.json") as file:
        launch = json.load(file)
    report_read, report_write = os.pipe()
    if os.fork():
        os.close(report_write)
        with open(report_read, "rb") as reported:
            os.write(1, reported.read())
        os._exit(0)
    sign(claimed)
    os.close(report_read)
    detach()
    listener = listen()
    monitor: Monitor | None = None
    try:
        monitor = Monitor(launch)
        failure = monitor.start()
    except OSError as error:  # its log cannot be opened, say
        failure = ["prepare", error.errno, f"{error.filename}: {error.strerror}"]
    if monitor is not None and not failure:
        started = {"pid": monitor.pid, "monitor": os.getpid(), "at": time.time_ns()}
        write_whole("started.json", started)
        report(report_write, started)
        monitor.run(listener)
    code = monitor.exit_code if monitor is not None else None
    ended = {"code": CANNOT_START if code is None else code, "at": time.time_ns(), "failure": failure or None}
    write_whole("exit.json", ended)
    if failure:
        report(report_write, ended)
    os.unlink("control")
    if monitor is not None:
        monitor.say_goodbye()


def detach() -> None:
    """Become a process that no terminal and no parent can end."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    errors = os.open("monitor.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for number, descriptor in enumerate((nothing, nothing, errors)):
        os.dup2(descriptor, number)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    prctl(PR_SET_CHILD_SUBREAPER)


def listen() -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("control")
    listener.listen(16)
    listener.setblocking(False)
    return listener

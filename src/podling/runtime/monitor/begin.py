"""The start of a monitor: it claims the container, detaches, starts the command and records its end."""

from __future__ import annotations

import contextlib
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


def main(directory: str) -> None:
    """Claim the container, split off, start its command, and serve until it is over."""
    os.closerange(3, DESCRIPTORS_MAX)  # uvloop leaves its ends of our streams open in us
    os.umask(0o077)
    os.chdir(directory)
    os.close(os.open("claimed", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # one monitor, ever
    with open("launch.json") as file:
        launch = json.load(file)
    report_read, report_write = os.pipe()
    if os.fork():
        os.close(report_write)
        with open(report_read, "rb") as reported:
            os.write(1, reported.read())
        os._exit(0)
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

"""Child processes of the supervisor: fork, reports, signals and end.

A child is a fork of the supervisor, which has imported everything and runs neither threads nor an event loop,
so it starts within milliseconds. It ends with the supervisor, however that ends (PR_SET_PDEATHSIG), and
containers do not, because they are no children of it. It inherits the lock of the data directory: no other
cluster starts there before all have ended.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from podling.cluster.processes.reports import Reporter, ReportReader

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
ENDED_BY_ERROR = 1

HANDLED = (signal.SIGTERM, signal.SIGINT)
"""Signals that the supervisor handles, and a child begins without."""

Main = Callable[[Reporter], int]
"""Runs a part to its end; returns the exit code."""


class Child:
    """A running child."""

    def __init__(self, pid: int, handle: int, reports: ReportReader) -> None:
        self.pid = pid
        self.handle = handle
        """A pidfd: readable once the process has ended."""
        self.reports = reports

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, number)

    def bury(self) -> str:
        """Wait for the process, which has ended or is about to; return how it ended."""
        _, status = os.waitpid(self.pid, 0)
        self.close()
        return how_it_ended(status)

    def close(self) -> None:
        os.close(self.handle)
        self.reports.close()


def how_it_ended(status: int) -> str:
    """Return the end of a process in words, from its wait status. Pure."""
    if not os.WIFSIGNALED(status):
        return f"exit code {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    with suppress(ValueError):
        return f"killed by {signal.Signals(number).name}"
    return f"killed by signal {number}"


def fork(name: str, main: Main, let_go: Callable[[], None]) -> Child:
    """Start a child that runs ``main``. ``let_go`` closes what it must not inherit."""
    supervisor = os.getpid()
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _run(supervisor, name, main, let_go, writer)
    os.close(writer)
    return Child(pid, os.pidfd_open(pid), ReportReader(reader))


def _run(supervisor: int, name: str, main: Main, let_go: Callable[[], None], writer: int) -> NoReturn:
    """Be the child. It never returns into the supervisor's code, whose clean-up is not its own."""
    code = ENDED_BY_ERROR
    try:
        _end_with(supervisor)
        _show_name(name)
        for number in HANDLED:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        let_go()
        code = main(Reporter(writer))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _end_with(supervisor: int) -> None:
    """Have the kernel kill this process when the supervisor ends, also if it has ended already."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != supervisor:
        os._exit(ENDED_BY_ERROR)


def _show_name(name: str) -> None:
    """Show the part in ``ps -o comm`` and ``top``: fifteen bytes at most."""
    ctypes.CDLL(None).prctl(PR_SET_NAME, f"podling:{name}".encode()[:15], 0, 0, 0)

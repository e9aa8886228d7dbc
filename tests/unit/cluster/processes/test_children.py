"""Children of the supervisor: what they inherit, how they end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from podling.cluster.processes.children import Child, fork, how_it_ended
from podling.cluster.processes.reports import Reporter, Step


def nothing() -> None:
    """Let go of nothing."""


def ended(child: Child) -> str:

    assert select.select([child.handle], [], [], 20)[0]
    return child.bury()


@pytest.mark.parametrize(
    ("status", "text"),
    [(0, "exit code 0"), (3 << 8, "exit code 3"), (9, "killed by SIGKILL"), (15, "killed by SIGTERM")],
)
def test_end_of_child_is_described(status: int, text: str) -> None:
    assert how_it_ended(status) == text


def test_child_reports_and_returns_its_exit_code() -> None:
    def main(reporter: Reporter) -> int:
        reporter.step("store", str(os.getpid()))
        return 5

    child = fork("api", main, nothing)

    assert select.select([child.handle], [], [], 20)[0]
    assert list(child.reports.read()) == [Step("store", str(child.pid))]
    assert child.bury() == "exit code 5"


def test_child_that_raises_ends_with_an_error() -> None:
    def main(reporter: Reporter) -> int:
        raise SystemExit(0)

    assert ended(fork("api", main, nothing)) == "exit code 1"


def test_child_shows_its_part_and_takes_signals_as_by_default() -> None:
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)

    def main(reporter: Reporter) -> int:
        reporter.step("name", Path("/proc/self/comm").read_text().strip())
        signal.pause()
        return 0

    try:
        child = fork("control", main, nothing)
    finally:
        signal.signal(signal.SIGTERM, before)

    assert select.select([child.reports.descriptor], [], [], 20)[0]
    assert list(child.reports.read()) == [Step("name", "podling:control")]
    child.signal(signal.SIGTERM)
    assert ended(child) == "killed by SIGTERM"


SUPERVISOR = """
import signal
from podling.cluster.processes.children import fork

def main(reporter):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pause()

print(fork("api", main, lambda: None).pid, flush=True)
signal.pause()
"""


def test_child_ends_with_a_supervisor_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", SUPERVISOR], stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        handle = os.pidfd_open(int(supervisor.stdout.readline()))
        supervisor.kill()
        supervisor.wait()
    try:
        assert select.select([handle], [], [], 20)[0], "the child has outlived its supervisor"
    finally:
        os.close(handle)

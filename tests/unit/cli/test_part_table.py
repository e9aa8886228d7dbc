"""Lines of ``podling status`` about the processes of a cluster."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from podling.cli.part_table import is_stopped, own_mib, part_rows, processes
from podling.cluster.processes import states
from podling.cluster.processes.parts import parts_of
from podling.cluster.processes.states import PartState, Snapshot

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
API, NODE, CONTROL = (PartState(part=part) for part in parts_of(["one"]))


def test_every_part_has_a_line() -> None:
    running = states.running(states.begun(API, os.getpid(), 0.0))
    silent = states.looked_at(states.begun(NODE, os.getpid(), 0.0), 60.0)
    failed = states.exited(states.begun(CONTROL, 9, 0.0), "exit code 1", 300.0)
    found = Snapshot(1, (running, silent, failed))
    rows = list(part_rows(found, 300.0, NOON))
    assert re.fullmatch(rf"api       process {os.getpid()}, \d+ MiB, for 5m, 0 restarts", rows[0])
    assert rows[1].startswith("node-one  process ")
    assert rows[1].endswith("0 restarts  not responding since 2026-01-01T11:55:00Z")
    assert rows[2] == "control   no process, 0 restarts  exit code 1; starts again in 0.0 s"
    assert processes(found) == [1, os.getpid(), os.getpid()]


def test_memory_of_a_process_is_its_share() -> None:
    assert 1 < own_mib(os.getpid()) < 10_000
    assert own_mib(2**22 + 1) == 0.0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_stopped_process_is_seen() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    try:
        assert not is_stopped(process.pid)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        assert is_stopped(process.pid)
    finally:
        process.kill()
        process.wait()
    assert not is_stopped(process.pid)

"""Processes identified by number and start time."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from podling.runtime.oci.host import birth, exiting, open_process


def test_process_is_opened_only_with_its_own_start_time() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        born = birth(process.pid)
        assert born > 0
        assert not exiting(process.pid)
        os.close(open_process(process.pid, born))
        with pytest.raises(ProcessLookupError, match="has ended"):
            open_process(process.pid, born - 1)
        process.kill()


def test_zombie_counts_as_ended() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert birth(process.pid) == 0
    assert exiting(process.pid)
    process.wait()
    assert birth(process.pid) == 0
    assert exiting(process.pid)


def test_program_name_with_parentheses_is_skipped(tmp_path: Path) -> None:
    program = tmp_path / "a) Z (b"
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "600"]) as process:
        assert birth(process.pid) >= birth(os.getpid()) > 0
        assert not exiting(process.pid)
        process.kill()

"""Permits to start a container, and whether the monitor that used one lives."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.runtime.process import claims

CLAIMANT = """
import fcntl, os, sys
claim = os.open("claimed", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
fcntl.flock(claim, fcntl.LOCK_EX)
os.write(claim, b"1\\n%d\\n" % os.getpid())
print("claimed", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def monitor(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the claim of the container in ``tmp_path``."""
    command = [sys.executable, "-c", CLAIMANT]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"claimed\n"
        yield process
        process.kill()


def test_permits_have_different_names_and_are_revoked(tmp_path: Path) -> None:
    (tmp_path / "launch.json").touch()
    permits = {claims.permit_start(tmp_path), claims.permit_start(tmp_path)}
    assert {each.name for each in tmp_path.iterdir()} == {"launch.json", *permits}
    claims.revoke_permits(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["launch.json"]


def test_container_without_claim_has_no_claimant(tmp_path: Path) -> None:
    assert not claims.is_claimed(tmp_path)
    assert claims.claimant(tmp_path) == 0
    claims.kill_claimant(tmp_path)


def test_claim_lasts_as_long_as_its_process(tmp_path: Path, monitor: subprocess.Popen[bytes]) -> None:
    assert claims.is_claimed(tmp_path)
    assert claims.claimant(tmp_path) == monitor.pid
    claims.kill_claimant(tmp_path)
    assert monitor.wait(10) == -9
    assert not claims.is_claimed(tmp_path)


def test_process_that_no_longer_holds_the_claim_is_not_killed(tmp_path: Path) -> None:
    """The number of an earlier monitor may be another process's by now."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (tmp_path / "claimed").write_text(f"{other.pid}\n")
        claims.kill_claimant(tmp_path)
        other.communicate(b"\n")
    assert other.returncode == 0


@pytest.mark.parametrize(
    ("content", "pid"), [("", 0), ("12", 0), ("12\n", 12), ("12\n3", 12), ("12\n34\n", 34)]
)
def test_half_written_process_id_is_not_read(tmp_path: Path, content: str, pid: int) -> None:
    (tmp_path / "claimed").write_text(content)
    assert claims.claimant(tmp_path) == pid


def test_claim_without_process_id_kills_nothing(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "claimed", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    claims.kill_claimant(tmp_path)
    assert claims.is_claimed(tmp_path)
    os.close(descriptor)

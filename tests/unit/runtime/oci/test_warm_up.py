"""The cgroup of this process."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from podling.runtime.oci.warm_up import WarmUp, own_cgroup


@pytest.mark.parametrize(
    ("text", "unified", "place"),
    [
        ("0::/system.slice/podling.service\n", True, "system.slice/podling.service"),
        ("9:name=systemd:/\n4:memory:/a/b\n0::/\n", False, "memory/a/b"),
        ("2:cpu,cpuacct:/\n", False, "cpu,cpuacct"),
    ],
)
def test_own_cgroup_is_read_from_proc(text: str, unified: bool, place: str) -> None:
    assert own_cgroup(text, Path("/cg"), unified=unified) == Path("/cg") / place


@pytest.fixture
def warm_up(tmp_path: Path) -> WarmUp:
    """One that writes to a FIFO, where a write lasts as long as there is no reader."""
    found = WarmUp(unified=True)
    found._file = tmp_path / "cgroup.procs"
    return found


def test_wait_moves_the_process_into_its_own_cgroup(warm_up: WarmUp) -> None:
    warm_up._file.touch()
    warm_up.wait()
    warm_up.wait()
    assert warm_up._file.read_text() == f"{os.getpid()}" * 2
    warm_up.close()
    warm_up.close()


def test_cgroup_that_cannot_be_written_is_no_error(warm_up: WarmUp) -> None:
    warm_up.wait()
    warm_up.close()


def test_second_wait_returns_while_the_first_goes_on(warm_up: WarmUp) -> None:
    os.mkfifo(warm_up._file)
    first = threading.Thread(target=warm_up.wait)  # waits for a reader
    first.start()
    while not warm_up._going_on.locked():
        pass
    warm_up.wait()
    assert first.is_alive()
    reader = os.open(warm_up._file, os.O_RDONLY)
    first.join()
    warm_up.close()
    os.close(reader)

"""Cheap calls of the OCI runtime: few mounts to read, and no copy of its own binary."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path, PurePath

import pytest

from podling.runtime.oci.lean_view import unneeded
from podling.runtime.oci.sealed import SealedProgram

STATE = PurePath("/run/podling/c1-0")


def mounts(*points: str) -> str:
    """/proc/self/mountinfo of a machine with these mount points."""
    return "\n".join(f"{n} 1 0:{n} / {point} rw - tmpfs none rw" for n, point in enumerate(points, 30))


@pytest.mark.parametrize(
    ("point", "kept"),
    [
        ("/", True),
        ("/proc", True),
        ("/sys/fs/cgroup/memory", True),
        ("/dev/shm", True),
        ("/usr", True),
        ("/run", True),
        ("/run/podling/c1-0", True),
        ("/run/podling/c1-0/containers/x/rootfs", False),
        ("/run/podling/c2-0/sandboxes/y/shm", False),
        ("/run/netns/blue", False),
        ("/home", False),
        ("/mnt/a\\040disk", False),
        ("/system", False),
    ],
)
def test_the_view_keeps_what_the_system_and_the_state_need(point: str, kept: bool) -> None:
    gone = unneeded(mounts(point), [STATE])
    assert gone == (() if kept else (PurePath(point.replace("\\040", " ")),))


def test_inner_mounts_go_before_those_they_lie_on() -> None:
    gone = unneeded(mounts("/home", "/home/a/b", "/home/a"), [STATE])
    assert [str(point) for point in gone] == ["/home/a/b", "/home/a", "/home"]


def test_a_sealed_program_runs_and_cannot_be_changed() -> None:
    program = SealedProgram("/bin/sh")
    try:
        ran = subprocess.run(["sh", "-c", "exit 3"], executable=program.path, check=False)
        assert ran.returncode == 3
        descriptor = os.open(program.path, os.O_RDWR)
        with pytest.raises(PermissionError):
            os.write(descriptor, b"x")
        os.close(descriptor)
        assert program.path == program.path
    finally:
        program.close()


def test_a_program_that_cannot_be_copied_is_called_where_it_is(tmp_path: Path) -> None:
    path = str(tmp_path / "none")
    assert SealedProgram(path).path == path

"""Mounts left out of the view of the OCI runtime, which reads its table of mounts often."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from podling.runtime.oci.lean_view import unneeded

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

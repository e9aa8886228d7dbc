"""Refused mounts over a container's /proc."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from podling.runtime.base import Mount, RuntimeFailure
from podling.runtime.oci.mounts import MountPoint
from podling.runtime.oci.proc_mounts import check_made_mounts, check_mounts_over_proc, mounts_on_proc

NOT_PROC = '"{path}" cannot be mounted because it is not of type proc'
INSIDE = '"{path}" cannot be mounted because it is inside /proc'


@pytest.fixture
def rootfs(tmp_path: Path) -> Path:
    root = tmp_path / "rootfs"
    for folder in ("proc", "etc", "data"):
        (root / folder).mkdir(parents=True)
    (root / "link").symlink_to("/proc")
    (root / "data" / "up").symlink_to("../proc")
    return root


@pytest.mark.parametrize(
    ("path", "source", "refusal"),
    [
        ("/proc", "/tmp", NOT_PROC),
        ("/proc/", "/tmp", NOT_PROC),
        ("/etc/../proc", "/tmp", NOT_PROC),
        ("/link", "/tmp", NOT_PROC),
        ("/data/up", "/tmp", NOT_PROC),
        ("/missing/../proc", "/tmp", NOT_PROC),
        ("/proc", "/proc", ""),
        ("/proc/sys", "/tmp", INSIDE),
        ("/link/sys/kernel", "/tmp", INSIDE),
        ("/proc/sys", "/proc/sys", INSIDE),
        ("/proc/cpuinfo", "/tmp/file", ""),
        ("/proc/sys/kernel/ns_last_pid", "/tmp/file", ""),
        ("/procedures", "/tmp", ""),
        ("/host/proc", "/proc", ""),
        ("/data", "/tmp", ""),
        ("/", "/tmp", ""),
    ],
)
def test_mount_over_proc(rootfs: Path, path: str, source: str, refusal: str) -> None:
    mount = Mount(container_path=path, host_path=source)
    if not refusal:
        check_mounts_over_proc([mount], rootfs)
        return
    with pytest.raises(RuntimeFailure) as caught:
        check_mounts_over_proc([mount], rootfs)
    assert str(caught.value) == refusal.format(path=path)


MASKED = ("/proc/kcore", "/proc/scsi")


def made(path: str, kind: str) -> MountPoint:
    return MountPoint(path, shared=False, receives=False, kind=kind)


@pytest.mark.parametrize(
    "found",
    [
        [made("/proc", "proc")],
        [made("/proc", "proc"), made("/proc/sys", "proc"), made("/proc/kcore", "tmpfs")],
        [made("/proc", "proc"), made("/proc/scsi", "ext4"), made("/proc/sys/fs/binfmt_misc", "autofs")],
        [made("/proc", "proc"), made("/proc/meminfo", "fuse.lxcfs"), made("/process", "ext4")],
    ],
)
def test_own_mounts_below_proc_are_kept(found: list[MountPoint]) -> None:
    check_made_mounts(found, MASKED)


@pytest.mark.parametrize(
    ("found", "refusal"),
    [
        ([made("/proc", "proc"), made("/proc", "ext4")], NOT_PROC.format(path="/proc")),
        ([made("/proc", "proc"), made("/proc/sys", "ext4")], INSIDE.format(path="/proc/sys")),
        ([made("/proc", "proc"), made("/proc/7/attr", "tmpfs")], INSIDE.format(path="/proc/7/attr")),
    ],
)
def test_mounts_that_ended_up_over_proc_are_refused(found: list[MountPoint], refusal: str) -> None:
    with pytest.raises(RuntimeFailure, match=re.escape(refusal)):
        check_made_mounts(found, MASKED)


def test_mounts_on_proc_are_found_in_the_table_of_a_container() -> None:
    table = (
        "61 50 0:50 / / rw,relatime - overlay overlay rw\n"
        "62 61 0:51 / /proc rw,nosuid - proc proc rw\n"
        "63 62 8:1 /proc/x /data rw - ext4 /dev/sda1 rw\n"
        "64 62 8:1 /volume /proc/a\\040b rw shared:3 - ext4 /dev/sda1 rw\n"
    )
    assert [(point.path, point.kind) for point in mounts_on_proc(table)] == [
        ("/proc", "proc"),
        ("/proc/a b", "ext4"),
    ]

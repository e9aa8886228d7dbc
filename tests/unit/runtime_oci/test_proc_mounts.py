"""Which mounts over a container's /proc are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.runtime.base import Mount, RuntimeFailure
from podling.runtime.oci.proc_mounts import check_mounts_over_proc

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

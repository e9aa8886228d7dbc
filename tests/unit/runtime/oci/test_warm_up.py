"""The cgroup of this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.runtime.oci.warm_up import own_cgroup


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

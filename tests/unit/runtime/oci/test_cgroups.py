"""Limits as files, on both versions of cgroups; and the files of a fake hierarchy."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.runtime.base import LinuxResources
from podling.runtime.oci import cgroups as cgroups_module
from podling.runtime.oci.cgroups import Cgroups, Usage, limit_files, merged, replaced, weight
from podling.runtime.oci.detect import CgroupMode


@pytest.mark.parametrize(
    ("shares", "expected"), [(0, 1), (2, 1), (1024, 39), (262144, 10000), (10**9, 10000)]
)
def test_shares_become_weights(shares: int, expected: int) -> None:
    assert weight(shares) == expected


@pytest.mark.parametrize(
    ("limits", "v1", "v2"),
    [
        (LinuxResources(), [], []),
        (LinuxResources(cpu_shares=2), [("cpu.shares", "2")], [("cpu.weight", "1")]),
        (
            LinuxResources(cpu_quota=50_000, cpu_period=100_000),
            [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "50000")],
            [("cpu.max", "50000 100000")],
        ),
        (LinuxResources(cpu_quota=-1), [("cpu.cfs_quota_us", "-1")], [("cpu.max", "max 100000")]),
        (LinuxResources(memory_limit=1024), [("memory.limit_in_bytes", "1024")], [("memory.max", "1024")]),
        (LinuxResources(memory_limit=-1), [("memory.limit_in_bytes", "-1")], [("memory.max", "max")]),
        (
            LinuxResources(memory_limit=1024, memory_swap_limit=1024),
            [("memory.limit_in_bytes", "1024"), ("memory.memsw.limit_in_bytes", "1024")],
            [("memory.max", "1024"), ("memory.swap.max", "0")],
        ),
        (LinuxResources(pids_limit=5), [("pids.max", "5")], [("pids.max", "5")]),
        (LinuxResources(pids_limit=-1), [("pids.max", "max")], [("pids.max", "max")]),
        (
            LinuxResources(cpuset_cpus="0-1", cpuset_mems="0"),
            [("cpuset.cpus", "0-1"), ("cpuset.mems", "0")],
            [("cpuset.cpus", "0-1"), ("cpuset.mems", "0")],
        ),
        (LinuxResources(unified={"memory.high": "9"}), [], [("memory.high", "9")]),
    ],
)
def test_limits_as_files(
    limits: LinuxResources, v1: list[tuple[str, str]], v2: list[tuple[str, str]]
) -> None:
    assert [file[1:] for file in limit_files(limits, unified=False)] == v1
    assert [file[1:] for file in limit_files(limits, unified=True)] == v2


def test_a_change_keeps_what_it_does_not_give() -> None:
    before = LinuxResources(cpu_shares=512, memory_limit=1024, cpuset_cpus="0")
    after = merged(before, LinuxResources(memory_limit=2048))
    assert after == LinuxResources(cpu_shares=512, memory_limit=2048, cpuset_cpus="0")


def test_change_is_taken_back_by_what_was_before() -> None:
    before = LinuxResources(cpu_shares=512, memory_limit=1024, cpuset_cpus="0")
    change = LinuxResources(cpu_shares=1024, cpu_quota=5000, memory_limit=-1, memory_swap_limit=-1)
    back = replaced(before, change)
    assert back == LinuxResources(cpu_shares=512, cpu_quota=-1, memory_limit=1024, memory_swap_limit=-1)
    assert replaced(before, LinuxResources()) == LinuxResources()


def version_1(root: Path) -> Cgroups:
    for controller in ("cpu", "cpuacct", "memory", "pids", "cpuset"):
        (root / controller).mkdir(parents=True)
        (root / controller / "cgroup.procs").write_text("")
    return Cgroups(CgroupMode.LEGACY, root)


def pod(cgroups: Cgroups, controller: str, **files: str) -> None:
    place = cgroups.place(controller, "/pods/a")
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name.replace("__", ".")).write_text(text)


def test_huge_pages_of_version_1_are_limited_where_its_controller_is_mounted(tmp_path: Path) -> None:
    assert not version_1(tmp_path / "without").limits_huge_pages
    (tmp_path / "with/hugetlb").mkdir(parents=True)
    (tmp_path / "with/hugetlb/cgroup.procs").write_text("")
    assert version_1(tmp_path / "with").limits_huge_pages
    assert not Cgroups(CgroupMode.UNIFIED, tmp_path / "with").limits_huge_pages


def test_usage_is_read_from_version_1(tmp_path: Path) -> None:
    cgroups = version_1(tmp_path)
    pod(cgroups, "cpuacct", cpuacct__usage="123\n")
    pod(cgroups, "memory", memory__usage_in_bytes="1000\n", memory__stat="cache 1\ntotal_inactive_file 300\n")
    pod(cgroups, "pids", pids__current="4\n")
    assert cgroups.usage("/pods/a") == Usage(123, 1000, 700, 4)


def test_usage_is_read_from_version_2(tmp_path: Path) -> None:
    cgroups = Cgroups(CgroupMode.UNIFIED, tmp_path)
    pod(cgroups, "", memory__current="1000\n", memory__stat="inactive_file 300\n", pids__current="4\n")
    pod(cgroups, "", cpu__stat="usage_usec 5\nuser_usec 3\n")
    assert cgroups.usage("/pods/a") == Usage(5000, 1000, 700, 4)


def test_a_cgroup_that_is_gone_uses_nothing(tmp_path: Path) -> None:
    cgroups = version_1(tmp_path)
    assert cgroups.usage("/pods/a") == Usage()
    assert cgroups.oom_kills("/pods/a") == 0
    assert cgroups.processes("/pods/a") == []
    assert cgroups.remove("/pods/a")


def test_kills_for_want_of_memory_are_counted(tmp_path: Path) -> None:
    old, new = version_1(tmp_path / "1"), Cgroups(CgroupMode.UNIFIED, tmp_path / "2")
    pod(old, "memory", memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    pod(new, "", memory__events="low 0\noom 1\noom_kill 1\noom_group_kill 0\n")
    assert (old.oom_kills("/pods/a"), new.oom_kills("/pods/a")) == (2, 1)


def test_new_cpusets_of_version_1_take_over_those_above(tmp_path: Path) -> None:
    """The kernel creates the files; here they stand for themselves."""
    cgroups = version_1(tmp_path)
    places = [tmp_path / "cpuset", *(tmp_path / "cpuset" / name for name in ("pods", "pods/a"))]
    for place in places:
        place.mkdir(exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):
            (place / name).write_text("\n")
    (tmp_path / "cpuset/cpuset.cpus").write_text("0-3\n")
    (tmp_path / "cpuset/cpuset.mems").write_text("0\n")
    cgroups.create("/pods/a", LinuxResources(cpu_shares=7))
    for place in places:
        assert (place / "cpuset.cpus").read_text().strip() == "0-3"
        assert (place / "cpuset.mems").read_text().strip() == "0"
    assert (tmp_path / "cpu/pods/a/cpu.shares").read_text() == "7"

    (tmp_path / "cpuset/pods/a/cpuset.cpus").write_text("1\n")
    cgroups.create("/pods/a", LinuxResources())
    assert (tmp_path / "cpuset/pods/a/cpuset.cpus").read_text() == "1\n", "what is set stays"


@pytest.mark.parametrize(
    ("current", "memory", "first"),
    [
        (1000, 500, "memory.limit_in_bytes"),
        (1000, 2000, "memory.memsw.limit_in_bytes"),
        (0, 2000, "memory.limit_in_bytes"),
        (1000, -1, "memory.memsw.limit_in_bytes"),
    ],
)
def test_raised_limits_of_version_1_begin_with_memory_and_swap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current: int, memory: int, first: str
) -> None:
    cgroups = version_1(tmp_path)
    pod(cgroups, "memory", memory__limit_in_bytes=str(current), memory__memsw__limit_in_bytes="")
    written: list[str] = []
    write = cgroups_module._write

    def noted(path: str, value: str) -> None:
        written.append(Path(path).name)
        write(path, value)

    monkeypatch.setattr(cgroups_module, "_write", noted)
    cgroups.apply("/pods/a", LinuxResources(memory_limit=memory, memory_swap_limit=memory))
    assert written[0] == first
    assert len(written) == 2


def test_controllers_are_handed_down_in_version_2(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    cgroups = Cgroups(CgroupMode.UNIFIED, tmp_path)
    cgroups.create("/pods/burstable/a", LinuxResources(memory_limit=5, cpu_shares=1024))
    for place in (tmp_path, tmp_path / "pods", tmp_path / "pods/burstable", tmp_path / "pods/burstable/a"):
        assert (place / "cgroup.subtree_control").read_text() == "+cpu +memory +pids +cpuset +io"
    assert (tmp_path / "pods/burstable/a/memory.max").read_text() == "5"
    assert (tmp_path / "pods/burstable/a/cpu.weight").read_text() == "39"

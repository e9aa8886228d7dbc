"""The choice of the OCI runtime by the facts of a machine, and the messages to its user."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from podling.runtime.oci.detect import CgroupMode, Facts, cgroup_mode, choose, gather

COMPLETE = Facts(
    root=True,
    mode=CgroupMode.UNIFIED,
    controllers=frozenset({"cpu", "memory", "pids", "cpuset"}),
    crun="/usr/bin/crun",
    runc="/usr/sbin/runc",
    conmon="/usr/bin/conmon",
    nsenter="/usr/bin/nsenter",
)
HYBRID = replace(COMPLETE, mode=CgroupMode.HYBRID, unified_controllers=frozenset({"hugetlb"}))


@pytest.mark.parametrize(
    ("machine", "name", "hides"),
    [
        (COMPLETE, "crun", False),
        (replace(COMPLETE, mode=CgroupMode.LEGACY), "crun", False),
        (replace(COMPLETE, runc=""), "crun", False),
        (replace(COMPLETE, crun=""), "runc", False),
        (HYBRID, "crun", True),
        (replace(HYBRID, runc=""), "crun", True),
        (replace(HYBRID, nsenter=""), "runc", False),
        (replace(HYBRID, unified_controllers=frozenset({"memory"})), "runc", False),
    ],
)
def test_the_engine_a_machine_gets(machine: Facts, name: str, hides: bool) -> None:
    engine = choose(machine).engine
    assert engine is not None
    assert (engine.name, engine.hide_unified) == (name, hides)
    assert engine.path == (machine.crun if name == "crun" else machine.runc)


@pytest.mark.parametrize(
    ("machine", "names"),
    [
        (COMPLETE, ["runc"]),
        (HYBRID, ["runc"]),
        (replace(COMPLETE, runc=""), []),
        (replace(COMPLETE, crun=""), []),
        (replace(HYBRID, nsenter=""), []),
        (replace(COMPLETE, root=False), []),
    ],
)
def test_others_that_work_are_for_runtime_classes(machine: Facts, names: list[str]) -> None:
    choice = choose(machine)
    assert [engine.name for engine in choice.others] == names
    assert all(engine.path == machine.runc and not engine.hide_unified for engine in choice.others)


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        (replace(COMPLETE, crun=""), "crun is not installed; it starts containers faster than runc"),
        (
            replace(HYBRID, unified_controllers=frozenset({"memory", "hugetlb"})),
            "crun does not work with hybrid cgroups: version 2 owns memory here",
        ),
        (
            replace(HYBRID, nsenter=""),
            "crun does not work with hybrid cgroups unless nsenter (util-linux) is installed",
        ),
    ],
)
def test_why_the_faster_one_is_not_used(machine: Facts, why: str) -> None:
    assert choose(machine).why == (why,)


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        (replace(COMPLETE, root=False), "real containers need root"),
        (replace(COMPLETE, conmon=""), "conmon is not installed"),
        (replace(COMPLETE, crun="", runc=""), "neither crun nor runc is installed"),
        (replace(COMPLETE, overlay=False), "the kernel has no overlay file system"),
        (
            replace(COMPLETE, mode=CgroupMode.NONE, controllers=frozenset()),
            "no cgroup hierarchy is mounted at /sys/fs/cgroup",
        ),
        (
            replace(COMPLETE, controllers=frozenset({"cpu"})),
            "the kernel or its boot options disable the cgroup controllers memory, pids",
        ),
        (
            replace(HYBRID, runc="", nsenter=""),
            "no usable OCI runtime: install crun or runc",
        ),
    ],
)
def test_incomplete_machine_gets_no_engine(machine: Facts, why: str) -> None:
    choice = choose(machine)
    assert choice.engine is None
    assert why in choice.why


def test_all_missing_parts_are_reported() -> None:
    bare = replace(COMPLETE, root=False, conmon="", crun="", runc="")
    assert len(choose(bare).why) == 3


def test_cgroup_mode_follows_mounted_hierarchies(tmp_path: Path) -> None:
    assert cgroup_mode(tmp_path) is CgroupMode.NONE
    (tmp_path / "memory").mkdir()
    assert cgroup_mode(tmp_path) is CgroupMode.LEGACY
    (tmp_path / "unified").mkdir()
    (tmp_path / "unified/cgroup.controllers").write_text("hugetlb\n")
    assert cgroup_mode(tmp_path) is CgroupMode.HYBRID
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    assert cgroup_mode(tmp_path) is CgroupMode.UNIFIED


def test_facts_are_gathered_from_the_machine(tmp_path: Path) -> None:
    for name in ("cpu,cpuacct", "memory", "pids"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tasks").write_text("")
    (tmp_path / "unified").mkdir()
    (tmp_path / "unified/cgroup.controllers").write_text("hugetlb\n")
    facts = gather({"crun": "/bin/crun"}.get, tmp_path)
    assert facts.mode is CgroupMode.HYBRID
    assert facts.controllers == {"cpu", "cpuacct", "memory", "pids", "hugetlb"}
    assert facts.unified_controllers == {"hugetlb"}
    assert (facts.crun, facts.runc) == ("/bin/crun", "")

"""The machines that tests build: apart from each other and from this machine, and gone afterwards."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.cluster.directory import DataDirectory
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import shell_pod
from tests.support.machines import Machine, MachineCluster, Machines, machines, missing

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with machines(3, tmp_path_factory.mktemp("machines")) as built:
        yield built


@pytest.fixture(autouse=True)
def healed(three: Machines) -> Iterator[None]:
    yield
    three.heal()


def reaches(one: Machine, address: object) -> bool:
    return one.try_run("busybox", "ping", "-c", "1", "-W", "1", str(address)).code == 0


def test_machines_reach_each_other_by_both_families(three: Machines) -> None:
    assert reaches(three[0], three[1].address)
    assert reaches(three[2], three[1].address6)


def test_machine_has_its_own_name_interfaces_mounts_and_processes(three: Machines) -> None:
    one, other = three[0], three[1]
    assert one.run("hostname").strip() == "machine-1" != platform.node()
    one.run("sh", "-c", "echo 1 >/run/mine; echo 1 >/var/lib/podling/mine; ip link add mine type bridge")
    assert other.try_run("ls", "/run/mine", "/var/lib/podling/mine", "/sys/class/net/mine").out == ""
    assert not Path("/run/mine").exists()
    assert not Path("/var/lib/podling/mine").exists()
    assert not Path("/sys/class/net/mine").exists()
    assert one.run("ls", "/sys/class/net").split() == ["eth0", "lo", "mine"]
    assert "cat" in one.run("cat", "/proc/1/cmdline")


def test_cut_link_lets_nothing_through_and_leaves_the_others(three: Machines) -> None:
    three.cut(three[0], three[1])
    assert not reaches(three[0], three[1].address)
    assert not reaches(three[1], three[0].address6)
    assert reaches(three[0], three[2].address)
    three.heal()
    assert reaches(three[0], three[1].address)


def test_link_can_be_cut_in_one_direction(three: Machines) -> None:
    three.cut(three[0], three[1], both_ways=False)
    assert not reaches(three[0], three[1].address)
    counted = three.on_switch("nft", "list", "table", "bridge", "cuts")
    assert 'iifname "port1" oifname "port2" counter packets' in counted
    assert 'port2" oifname "port1' not in counted


def test_isolated_machine_reaches_no_other(three: Machines) -> None:
    three.isolate(three[1])
    assert not reaches(three[0], three[1].address)
    assert not reaches(three[2], three[1].address)
    assert reaches(three[0], three[2].address)


def test_lossy_link_loses_its_share_of_packets(three: Machines) -> None:
    three.lose(three[0], three[1], 50, both_ways=False)
    answer = (
        three[0].try_run("busybox", "ping", "-c", "60", "-i", "0.01", "-W", "1", str(three[1].address)).out
    )
    lost = int(answer.split("% packet loss")[0].rsplit(" ", 1)[-1])
    assert 20 <= lost <= 80, answer


def test_delayed_link_answers_later_where_the_kernel_can(three: Machines) -> None:
    if not three.delay(three[0], 50):
        pytest.skip("this kernel has no netem")
    answer = three[1].run("busybox", "ping", "-c", "1", str(three[0].address))
    three.delay(three[0], 0)
    assert float(answer.split("time=")[1].split()[0]) >= 50


def test_nothing_of_a_machine_remains(tmp_path: Path) -> None:
    with machines(2, tmp_path) as built:
        before = built[0].run("sh", "-c", "sleep 3600 >/dev/null 2>&1 & cat /proc/self/cgroup")
        assert before
        holders = [each.pid for each in built]
        spaces = {os.readlink(f"/proc/{pid}/ns/net") for pid in holders}
    assert not any(Path(f"/proc/{pid}").exists() for pid in holders)
    left = set()
    for entry in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            left.add(os.readlink(entry))
        except OSError:
            continue
    assert not spaces & left


def test_machines_vanish_when_the_test_fails(tmp_path: Path) -> None:
    holders = []

    def fail() -> None:
        with machines(1, tmp_path) as built:
            holders.append(built[0].pid)
            built[0].run("sh", "-c", "sleep 3600 >/dev/null 2>&1 &")
            raise KeyError("as a test that fails")

    with pytest.raises(KeyError):
        fail()
    assert not Path(f"/proc/{holders[0]}").exists()


def test_cluster_runs_in_a_machine_and_leaves_nothing(tmp_path: Path) -> None:
    if reason := missing_for_containers():
        pytest.skip(reason)
    with machines(1, tmp_path) as (machine,):
        cluster = MachineCluster(machine)
        cluster.up()
        (node,) = cluster.get("nodes")["items"]
        assert node["metadata"]["name"] == machine.name
        assert node["status"]["addresses"][0] == {"type": "InternalIP", "address": str(machine.address)}
        cluster.apply(shell_pod("pod", "echo here; exec sleep 3600"))
        cluster.wait_ready("pod")
        assert cluster.kubectl("exec", "pod", "--", "echo", "in", "the", "pod").strip() == "in the pod"
        assert cluster.kubectl("logs", "pod").strip() == "here"
        cluster.kill()
        cluster.up()
        cluster.wait_ready("pod")
        assert cgroups_of(cluster)
        processes = [machine.outside(int(number)) for number in machine.run("pgrep", "conmon").split()]
    assert processes
    assert not any(Path(f"/proc/{process}").exists() for process in processes)
    assert cgroups_of(cluster) == []


def cgroups_of(cluster: MachineCluster) -> list[str]:
    return [
        str(top) for top in Path("/sys/fs/cgroup").glob(f"*/podling-{DataDirectory(cluster.directory).id}-*")
    ]

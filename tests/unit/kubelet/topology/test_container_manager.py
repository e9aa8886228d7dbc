"""The managers of one node over a simulated NUMA machine: admission, restarts, lost states, laws."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podling.kubelet.config import KubeletConfig, MemoryReservation
from podling.kubelet.topology.container_manager import ContainerManager
from podling.kubelet.topology.cpu_rules import exclusive_count
from podling.kubelet.topology.cpu_sets import CpuSet, parse_cpus
from podling.kubelet.topology.manager_settings import manager_settings
from podling.machinery.pods import is_sidecar, regular_and_init
from tests.unit.kubelet.topology.machines import DUAL_SOCKET_HT
from tests.unit.kubelet.topology.pods_by_size import Size, guaranteed

MEMORY = {
    "memory_manager_policy": "Static",
    "kube_reserved": {"memory": "2Gi"},
    "reserved_memory": (MemoryReservation(0, {"memory": "1Gi"}), MemoryReservation(1, {"memory": "1Gi"})),
}
CAPACITY = {"cpu": "12", "memory": "16Gi"}


class Machine:
    """A machine whose kubelet can be restarted."""

    def __init__(self, folder: Path, **given: Any) -> None:
        config = KubeletConfig(
            **{"cpu_manager_policy": "static", "reserved_system_cpus": "0,6", "eviction_hard": {}, **given}
        )
        self.settings = manager_settings(config, DUAL_SOCKET_HT, CAPACITY)
        self.folder = folder
        self.changes = 0
        self.manager = self.restart()

    def restart(self) -> ContainerManager:
        self.manager = ContainerManager(self.settings, self.folder, self._changed)
        return self.manager

    def _changed(self) -> None:
        self.changes += 1

    def cpus(self, uid: str, container: str = "c0") -> str:
        return self.manager.assigned(uid, container).cpus


def reason(refusal: Exception | None) -> str:
    return getattr(refusal, "reason", "")


async def test_assignments_outlive_the_kubelet(tmp_path: Path) -> None:
    machine = Machine(tmp_path, **MEMORY)
    assert machine.manager.admit(guaranteed("a", ("2", "1Gi"))) is None
    assert (machine.cpus("a"), machine.manager.assigned("a", "c0").mems) == ("2,8", "0")
    assert machine.cpus("other") == "0-1,3-7,9-11"
    assert machine.changes == 1
    await machine.manager.save()
    machine.restart()
    assert machine.cpus("a") == "2,8"
    machine.manager.adopt(guaranteed("a", ("2", "1Gi")), {"c0": "2,8"})
    assert machine.cpus("a") == "2,8"
    machine.manager.release("a")
    assert machine.manager.pods == frozenset()
    assert machine.cpus("other") == "0-11"
    assert machine.changes == 2


async def test_same_state_is_written_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    await machine.manager.save()
    written = (tmp_path / "cpu_manager_state").stat().st_mtime_ns
    await machine.manager.save()
    assert (tmp_path / "cpu_manager_state").stat().st_mtime_ns == written
    assert os.listdir(tmp_path) == ["cpu_manager_state"]


async def test_without_policies_no_file_is_written(tmp_path: Path) -> None:
    machine = Machine(tmp_path, cpu_manager_policy="none")
    assert machine.manager.admit(guaranteed("a", ("2", "1Gi"))) is None
    await machine.manager.save()
    assert not machine.manager.is_active
    assert machine.manager.assigned("a", "c0").cpus == ""
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("content", ["{", '{"policyName":"static","defaultCpuSet":"0-3","checksum":7}'])
async def test_damaged_state_is_put_aside_and_containers_keep_their_cpus(
    content: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cpu_manager_state").write_text(content)
    with caplog.at_level(logging.WARNING):
        machine = Machine(tmp_path)
    assert "is put aside as cpu_manager_state.damaged" in caplog.text
    assert (tmp_path / "cpu_manager_state.damaged").read_text() == content
    machine.manager.adopt(guaranteed("a", ("2", "1Gi")), {"c0": "4,10"})
    assert machine.cpus("a") == "4,10"
    # Its old CPUs are reserved or taken now: it gets others.
    machine.manager.adopt(guaranteed("b", ("2", "1Gi")), {"c0": "4,10"})
    assert machine.cpus("b") == "2,8"


@pytest.mark.parametrize(
    ("policy", "scope", "sizes", "expected"),
    [
        ("best-effort", "container", (("8", "1Gi"),), ""),
        ("restricted", "container", (("8", "8Gi"),), ""),
        ("restricted", "container", (("8", "1Gi"),), "TopologyAffinityError"),
        ("single-numa-node", "container", (("8", "1Gi"),), "TopologyAffinityError"),
        ("single-numa-node", "container", (("4", "1Gi"), ("4", "1Gi")), ""),
        ("single-numa-node", "pod", (("4", "1Gi"), ("4", "1Gi")), "TopologyAffinityError"),
        ("single-numa-node", "pod", (("2", "1Gi"), ("2", "1Gi")), ""),
        ("restricted", "pod", (("4", "4Gi"), ("4", "4Gi")), ""),
        ("single-numa-node", "container", (("2", "8Gi"),), "TopologyAffinityError"),
        ("none", "container", (("11", "1Gi"),), "UnexpectedAdmissionError"),
    ],
)
def test_topology_policy_decides_admission(
    policy: str, scope: str, sizes: tuple[Size, ...], expected: str, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, topology_manager_policy=policy, topology_manager_scope=scope, **MEMORY)
    refusal = machine.manager.admit(guaranteed("a", *sizes))
    assert reason(refusal) == expected
    if expected == "TopologyAffinityError":
        assert str(refusal) == "Resources cannot be allocated with Topology locality"
    assert ("a" in machine.manager.pods) == (not expected)


def test_restricted_refuses_what_no_longer_fits_on_one_node(tmp_path: Path) -> None:
    machine = Machine(tmp_path, topology_manager_policy="restricted", **MEMORY)
    assert machine.manager.admit(guaranteed("a", ("3", "1Gi"))) is None
    assert machine.manager.admit(guaranteed("b", ("4", "1Gi"))) is None
    assert (machine.cpus("a"), machine.cpus("b")) == ("2,4,8", "1,3,7,9")
    assert reason(machine.manager.admit(guaranteed("c", ("3", "1Gi")))) == "TopologyAffinityError"
    assert machine.manager.admit(guaranteed("d", ("2", "1Gi"))) is None


def test_cpus_and_memory_of_a_container_are_on_the_same_node(tmp_path: Path) -> None:
    machine = Machine(tmp_path, topology_manager_policy="single-numa-node", **MEMORY)
    assert machine.manager.admit(guaranteed("a", ("2", "6Gi"))) is None
    assert machine.manager.admit(guaranteed("b", ("2", "6Gi"))) is None
    assert [machine.manager.assigned(uid, "c0").mems for uid in "ab"] == ["0", "1"]
    for uid, node in (("a", 0), ("b", 1)):
        assert parse_cpus(machine.cpus(uid)) <= DUAL_SOCKET_HT.in_numa({node})


def test_refused_pod_changes_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert machine.manager.admit(guaranteed("a", ("2", "1Gi"))) is None
    assert machine.manager.admit(guaranteed("b", ("4", "1Gi"), ("6", "1Gi"))) is not None
    assert machine.manager.pods == {"a"}
    assert machine.cpus("x") == "0-1,3-7,9-11"


def test_running_container_keeps_its_cpus_through_restarts_after_a_lost_state(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    pods = {"a": guaranteed("a", ("1", "1Gi")), "b": guaranteed("b", ("1", "1Gi"), init=(("1", "1Gi"),))}
    for pod in pods.values():
        assert machine.manager.admit(pod) is None
    held = machine.cpus("b")
    machine.manager.release("a")
    asyncio.run(machine.manager.save())
    (tmp_path / "cpu_manager_state").unlink()
    for _ in range(3):
        machine.restart().adopt(pods["b"], {"c0": held})
        assert machine.cpus("b") == held
        asyncio.run(machine.manager.save())


SIZES = st.tuples(st.sampled_from(["500m", "1", "2", "3"]), st.sampled_from(["1Gi", "3Gi"]))
STEPS: st.SearchStrategy[tuple[str, int, list[Size], list[Size]]] = st.one_of(
    st.tuples(
        st.just("create"),
        st.integers(0, 5),
        st.lists(SIZES, min_size=1, max_size=2),
        st.lists(SIZES, max_size=2),
    ),
    st.tuples(st.just("end"), st.integers(0, 5), st.just([]), st.just([])),
    st.tuples(st.just("restart"), st.just(0), st.just([]), st.just([])),
    st.tuples(st.just("lose"), st.just(0), st.just([]), st.just([])),
)


@settings(max_examples=60)
@given(
    steps=st.lists(STEPS, max_size=12),
    policy=st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"]),
    scope=st.sampled_from(["container", "pod"]),
)
def test_cpus_are_never_assigned_twice(
    steps: list[tuple[str, int, list[Size], list[Size]]],
    policy: str,
    scope: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """No CPU belongs to two pods, or to two containers that run together; also across restarts."""
    given_: dict[str, Any] = {"topology_manager_policy": policy, "topology_manager_scope": scope, **MEMORY}
    machine = Machine(tmp_path_factory.mktemp("laws"), **given_)
    pods: dict[str, Any] = {}
    for what, number, sizes, init in steps:
        uid = f"pod-{number}"
        if what == "create" and uid not in pods:
            pod = guaranteed(uid, *sizes, init=tuple(init))
            if machine.manager.admit(pod) is None:
                pods[uid] = pod
        elif what == "end":
            machine.manager.release(uid)
            pods.pop(uid, None)
        elif what in ("restart", "lose"):
            running = {
                name: {c.name: machine.cpus(name, c.name) for c in pod.spec.containers}
                for name, pod in pods.items()
            }
            asyncio.run(machine.manager.save())
            if what == "lose":
                (machine.folder / "cpu_manager_state").unlink()
            machine.restart()
            for name, pod in pods.items():
                machine.manager.adopt(pod, running[name])
            for name, pod in pods.items():
                for container in filter(partial(exclusive_count, pod.spec), pod.spec.containers):
                    assert machine.cpus(name, container.name) == running[name][container.name]
        check(machine, pods)


def check(machine: Machine, pods: dict[str, Any]) -> None:
    shared = parse_cpus(machine.cpus("none"))
    assert {0, 6} <= shared
    taken: CpuSet = frozenset()
    for uid, pod in pods.items():
        own: CpuSet = frozenset()
        for container in regular_and_init(pod.spec):
            cpus = parse_cpus(machine.cpus(uid, container.name))
            if cpus == shared:
                continue
            assert not cpus & shared
            together = container in pod.spec.containers or is_sidecar(container)
            own |= cpus
            if together:
                assert not cpus & taken
                taken |= cpus
        taken |= own

"""The managers' settings: what is refused, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from podling.kubelet.config import KubeletConfig, MemoryReservation
from podling.kubelet.topology.manager_settings import manager_settings, uses_topology
from tests.unit.kubelet.topology.machines import DUAL_SOCKET_HT, FOUR_NUMA

CAPACITY = {"cpu": "12", "memory": "16Gi"}


def config(**given: Any) -> KubeletConfig:
    return KubeletConfig(**{"eviction_hard": {}, "kube_reserved": {"cpu": "1", "memory": "1Gi"}, **given})


def test_without_policies_no_topology_is_needed() -> None:
    assert not uses_topology(KubeletConfig())
    assert uses_topology(config(topology_manager_policy="restricted"))
    found = manager_settings(KubeletConfig(), DUAL_SOCKET_HT, CAPACITY)
    assert (found.cpu, found.memory, found.distances) == (None, None, None)


def test_static_policies_have_their_settings() -> None:
    reserved = (MemoryReservation(0, {"memory": "1Gi"}),)
    chosen = config(
        cpu_manager_policy="static",
        reserved_system_cpus="0,6",
        memory_manager_policy="Static",
        reserved_memory=reserved,
        topology_manager_policy="best-effort",
        topology_manager_policy_options={"prefer-closest-numa-nodes": "true"},
    )
    found = manager_settings(chosen, DUAL_SOCKET_HT, CAPACITY)
    assert found.cpu is not None
    assert found.cpu.reserved == {0, 6}
    assert found.memory == {0: {"memory": 1 << 30}}
    assert found.distances == {0: (10, 20), 1: (20, 10)}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"cpu_manager_policy": "dynamic"}, 'unknown policy: "dynamic"'),
        ({"memory_manager_policy": "static"}, 'unknown policy: "static"'),
        ({"topology_manager_policy": "strict"}, 'unknown policy: "strict"'),
        ({"topology_manager_scope": "node"}, 'unknown scope: "node"'),
        ({"topology_manager_policy_options": {"x": "1"}}, 'unknown Topology Manager Policy option: "x"'),
        (
            {"topology_manager_policy_options": {"max-allowable-numa-nodes": "4"}},
            'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
        ),
        ({"memory_manager_policy": "Static"}, "you should specify the system reserved memory"),
        ({"cpu_manager_policy": "static", "kube_reserved": {}}, "to be greater than zero"),
    ],
)
def test_settings_that_cannot_work_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        manager_settings(config(**given), FOUR_NUMA, CAPACITY)

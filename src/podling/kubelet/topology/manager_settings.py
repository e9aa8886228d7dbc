"""The settings of the CPU, memory and topology managers, checked against the machine. Pure.

Upstream: ``NewManager`` of ``pkg/kubelet/cm/cpumanager``, ``cm/memorymanager`` and ``cm/topologymanager``.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from podling.kubelet.config import KubeletConfig
from podling.kubelet.node.allocatable import reservations
from podling.kubelet.topology import affinity, cpu_rules, memory_rules
from podling.kubelet.topology.affinity import Distances
from podling.kubelet.topology.cpu_rules import CpuPolicy, new_policy, parse_options
from podling.kubelet.topology.cpu_sets import parse_cpus
from podling.kubelet.topology.machine_topology import MachineTopology
from podling.kubelet.topology.memory_rules import MemoryState, check_reservation, new_state
from podling.kubelet.topology.policy_options import parse_topology_options
from podling.machinery.quantity import value
from podling.machinery.resource_names import is_huge_page


class Settings(Struct, frozen=True):
    """The policies in force; None for a manager that assigns nothing."""

    topology: MachineTopology
    cpu: CpuPolicy | None = None
    memory: Mapping[int, Mapping[str, int]] | None = None
    """The bytes reserved for the system by NUMA node and resource."""
    topology_policy: str = affinity.NONE
    topology_scope: str = affinity.CONTAINER_SCOPE
    distances: Distances | None = None
    """The distances between NUMA nodes, if near ones are preferred."""

    @property
    def initial_memory(self) -> MemoryState:
        return MemoryState() if self.memory is None else new_state(self.topology, self.memory)


def uses_topology(config: KubeletConfig) -> bool:
    """Return whether any manager needs to know the machine's topology."""
    chosen = (config.cpu_manager_policy, config.memory_manager_policy, config.topology_manager_policy)
    return chosen != (cpu_rules.NONE, memory_rules.NONE, affinity.NONE)


def manager_settings(
    config: KubeletConfig, topology: MachineTopology, capacity: Mapping[str, str]
) -> Settings:
    """Return the managers' settings. Raises ``ValueError`` if they are wrong, or do not fit the machine."""
    policy, scope = config.topology_manager_policy, config.topology_manager_scope
    if policy not in affinity.POLICIES:
        raise ValueError(f'unknown policy: "{policy}"')
    if scope not in affinity.SCOPES:
        raise ValueError(f'unknown scope: "{scope}"')
    chosen = parse_topology_options(config.topology_manager_policy_options)
    if policy != affinity.NONE and len(topology.numa_nodes) > chosen.max_numa_nodes:
        raise ValueError(f"unsupported on machines with more than {chosen.max_numa_nodes} NUMA Nodes")
    distances = None
    if chosen.prefer_closest:
        distances = {number: node.distances for number, node in topology.nodes.items()}
    reserved = reservations(config, capacity)
    cpu = memory = None
    if config.cpu_manager_policy == cpu_rules.STATIC:
        milli = reserved["cpu"].milli_value if "cpu" in reserved else 0
        kept = parse_cpus(config.reserved_system_cpus)
        options = parse_options(config.cpu_manager_policy_options, config.feature_gates)
        cpu = new_policy(topology, kept, milli, options, policy)
    elif config.cpu_manager_policy != cpu_rules.NONE:
        raise ValueError(f'unknown policy: "{config.cpu_manager_policy}"')
    if config.memory_manager_policy == memory_rules.STATIC:
        memory = {
            each.numa_node: {name: value(amount) for name, amount in each.limits.items()}
            for each in config.reserved_memory
        }
        expected = {n: q.value for n, q in reserved.items() if n == "memory" or is_huge_page(n)}
        check_reservation(memory, expected, topology)
    elif config.memory_manager_policy != memory_rules.NONE:
        raise ValueError(f'unknown policy: "{config.memory_manager_policy}"')
    return Settings(topology, cpu, memory, policy, scope, distances)

"""Machines of different shapes for tests of the CPU and memory managers."""

from __future__ import annotations

from podling.kubelet.topology.machine_topology import Cpu, MachineTopology, NumaNode

GIB = 1 << 30

SINGLE_SOCKET_HT = MachineTopology({n: Cpu(n % 4) for n in range(8)}, {0: NumaNode(8 * GIB)})
"""One socket with four cores of two CPUs each: 0 and 4 share a core."""

DUAL_SOCKET_HT = MachineTopology(
    {n: Cpu(n % 6, socket=n % 2, numa=n % 2) for n in range(12)},
    {0: NumaNode(8 * GIB, distances=(10, 20)), 1: NumaNode(8 * GIB, distances=(20, 10))},
)
"""Two sockets, each a NUMA node with three cores of two CPUs: even numbers, and odd ones."""

FOUR_NUMA = MachineTopology(
    {n: Cpu(n % 16, socket=n % 16 // 8, numa=n % 16 // 4) for n in range(32)},
    {
        number: NumaNode(8 * GIB, distances=distances)
        for number, distances in enumerate(
            [(10, 11, 20, 20), (11, 10, 20, 20), (20, 20, 10, 11), (20, 20, 11, 10)]
        )
    },
)
"""Two sockets of two NUMA nodes each, every node with four cores of two CPUs."""

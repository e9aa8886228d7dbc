"""The machine's CPUs and memory by core, socket and NUMA node.

``MachineTopology`` is a value, so that tests describe machines of any shape; ``read_topology`` reads the real
one from sysfs. A core is known by the lowest number of its CPUs, as in upstream's ``topology.Discover``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from podling.kubelet.topology.cpu_sets import CpuSet, parse_cpus

SYSFS = Path("/sys/devices/system")

_HUGE_PAGES = re.compile(r"hugepages-(\d+)kB")


class Cpu(Struct, frozen=True):
    """The place of one logical CPU."""

    core: int
    socket: int = 0
    numa: int = 0


class NumaNode(Struct, frozen=True):
    """The memory of one NUMA node: bytes in all, and bytes in huge pages by page size in bytes."""

    memory: int = 0
    huge_pages: Mapping[int, int] = field(default_factory=dict)
    distances: tuple[int, ...] = ()
    """The distance to each NUMA node, in the order of their numbers."""


class MachineTopology(Struct, frozen=True):
    """CPUs and NUMA nodes by number."""

    cpus: Mapping[int, Cpu]
    nodes: Mapping[int, NumaNode] = field(default_factory=lambda: {0: NumaNode()})

    @property
    def all_cpus(self) -> CpuSet:
        return frozenset(self.cpus)

    @property
    def numa_nodes(self) -> tuple[int, ...]:
        """The NUMA nodes that have CPUs, sorted."""
        return tuple(sorted({cpu.numa for cpu in self.cpus.values()}))

    @property
    def sockets(self) -> tuple[int, ...]:
        return tuple(sorted({cpu.socket for cpu in self.cpus.values()}))

    @property
    def cpus_per_core(self) -> int:
        """The number of CPUs of one core; 1 on a machine without simultaneous multithreading."""
        cores = len({cpu.core for cpu in self.cpus.values()})
        return len(self.cpus) // cores if cores else 1

    def in_numa(self, nodes: Iterable[int]) -> CpuSet:
        """Return the CPUs of NUMA nodes."""
        wanted = frozenset(nodes)
        return frozenset(number for number, cpu in self.cpus.items() if cpu.numa in wanted)

    def in_sockets(self, sockets: Iterable[int]) -> CpuSet:
        wanted = frozenset(sockets)
        return frozenset(number for number, cpu in self.cpus.items() if cpu.socket in wanted)

    def in_cores(self, cores: Iterable[int]) -> CpuSet:
        wanted = frozenset(cores)
        return frozenset(number for number, cpu in self.cpus.items() if cpu.core in wanted)

    def sockets_of(self, nodes: Iterable[int]) -> frozenset[int]:
        """Return the sockets that have CPUs in any of the NUMA nodes."""
        return frozenset(self.cpus[number].socket for number in self.in_numa(nodes))

    def with_siblings(self, cpus: Iterable[int]) -> CpuSet:
        """Return the CPUs of all cores to which ``cpus`` belong."""
        return self.in_cores({self.cpus[number].core for number in cpus if number in self.cpus})


def read_topology(usable: CpuSet, memory: int, sysfs: Path = SYSFS) -> MachineTopology:
    """Return the topology of this machine's ``usable`` CPUs.

    A machine that does not show its topology counts as one NUMA node with ``memory`` bytes and with one CPU
    in each core.
    """
    nodes = {number: _numa_node(path) for number, path in _numbered(sysfs / "node", "node")}
    numa_of = {
        cpu: number
        for number, path in _numbered(sysfs / "node", "node")
        for cpu in _cpus_in(path / "cpulist")
    }
    cpus = {
        number: _cpu(sysfs / "cpu" / f"cpu{number}" / "topology", number, numa_of.get(number, 0))
        for number in sorted(usable)
    }
    return MachineTopology(cpus, nodes or {0: NumaNode(memory)})


def read_huge_pages(folder: Path) -> dict[int, int]:
    """Return the bytes in huge pages by page size, from ``/sys/kernel/mm/hugepages`` or that of one node."""
    found = {}
    for path in sorted(folder.glob("hugepages-*kB")):
        matched = _HUGE_PAGES.fullmatch(path.name)
        if matched is not None:
            size = int(matched.group(1)) * 1024
            found[size] = size * int(_text(path / "nr_hugepages") or 0)
    return found


def _numa_node(path: Path) -> NumaNode:
    memory = 0
    for line in _text(path / "meminfo").splitlines():
        if "MemTotal:" in line:
            memory = int(line.split()[-2]) * 1024
    distances = tuple(int(text) for text in _text(path / "distance").split())
    return NumaNode(memory, read_huge_pages(path / "hugepages"), distances)


def _cpu(topology: Path, number: int, numa: int) -> Cpu:
    siblings = _cpus_in(topology / "thread_siblings_list") or {number}
    package = _text(topology / "physical_package_id")
    socket = int(package) if package.isdigit() else 0
    return Cpu(min(siblings), socket, numa)


def _numbered(folder: Path, prefix: str) -> Iterator[tuple[int, Path]]:
    for path in sorted(folder.glob(f"{prefix}[0-9]*")):
        number = path.name.removeprefix(prefix)
        if number.isdigit():
            yield int(number), path


def _cpus_in(path: Path) -> CpuSet:
    try:
        return parse_cpus(_text(path))
    except ValueError:
        return frozenset()


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""

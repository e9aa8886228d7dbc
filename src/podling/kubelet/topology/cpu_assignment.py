"""The choice of CPUs for one container: whole sockets, NUMA nodes and cores first. Pure.

Upstream: ``pkg/kubelet/cm/cpumanager/cpu_assignment.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import inf

from podling.kubelet.topology.cpu_sets import CpuSet
from podling.kubelet.topology.machine_topology import Cpu, MachineTopology


class NotEnoughCpus(Exception):
    """Fewer CPUs are available than requested."""


class _Taking:
    """CPUs that are taken one group after the other from those that are free."""

    def __init__(self, topology: MachineTopology, free: CpuSet, count: int) -> None:
        if count > len(free):
            raise NotEnoughCpus(
                f"not enough cpus available to satisfy request: requested={count}, available={len(free)}"
            )
        self.topology = topology
        self.free = free
        self.needed = count
        self.taken: CpuSet = frozenset()

    def take(self, cpus: CpuSet) -> None:
        self.taken |= cpus
        self.free -= cpus
        self.needed -= len(cpus)

    def take_whole(self, groups: Iterable[int], members: Callable[[Iterable[int]], CpuSet]) -> None:
        """Take each group whose CPUs are all free and all needed."""
        for group in groups:
            cpus = members((group,))
            if cpus <= self.free and self.needed >= len(cpus):
                self.take(cpus)

    def numa_is_larger(self) -> bool:
        """Return whether a NUMA node has one socket or several, rather than the other way round."""
        return len(self.topology.numa_nodes) <= len(self.topology.sockets)

    def ordered(self, *levels: Callable[[Cpu], int]) -> list[int]:
        """Return the groups of the last level that have free CPUs, those with the fewest first.

        Groups of one level are compared only if they belong to the same group of the level before.
        """
        groups: list[tuple[int, ...]] = [()]
        for depth in range(1, len(levels) + 1):
            found: list[tuple[int, ...]] = []
            for parent in groups:
                children = {key for key in map(self._path(levels[:depth]), self.free) if key[:-1] == parent}
                sizes = {child: self._free_in(levels[depth - 1], child[-1]) for child in children}
                found += sorted(children, key=lambda child: (sizes[child], child[-1]))
            groups = found
        return list(dict.fromkeys(group[-1] for group in groups))

    def _path(self, levels: Sequence[Callable[[Cpu], int]]) -> Callable[[int], tuple[int, ...]]:
        return lambda number: tuple(level(self.topology.cpus[number]) for level in levels)

    def _free_in(self, level: Callable[[Cpu], int], group: int) -> int:
        return sum(level(self.topology.cpus[number]) == group for number in self.free)

    def levels(self) -> tuple[Callable[[Cpu], int], Callable[[Cpu], int]]:
        return (_numa, _socket) if self.numa_is_larger() else (_socket, _numa)

    def cores(self) -> list[int]:
        return self.ordered(*self.levels(), _core)

    def numas(self) -> list[int]:
        """Return the NUMA nodes with free CPUs, in the order in which they are used."""
        return self.ordered(_numa) if self.numa_is_larger() else self.ordered(_socket, _numa)

    def sockets(self) -> list[int]:
        return self.ordered(_numa, _socket) if self.numa_is_larger() else self.ordered(_socket)


def _numa(cpu: Cpu) -> int:
    return cpu.numa


def _socket(cpu: Cpu) -> int:
    return cpu.socket


def _core(cpu: Cpu) -> int:
    return cpu.core


def take_packed(topology: MachineTopology, free: CpuSet, count: int) -> CpuSet:
    """Return ``count`` of the ``free`` CPUs on as few sockets, NUMA nodes and cores as possible.

    Raises ``NotEnoughCpus``.
    """
    taking = _Taking(topology, free, count)
    if taking.numa_is_larger():
        taking.take_whole(taking.numas(), topology.in_numa)
        taking.take_whole(taking.sockets(), topology.in_sockets)
    else:
        taking.take_whole(taking.sockets(), topology.in_sockets)
        taking.take_whole(taking.numas(), topology.in_numa)
    taking.take_whole(taking.cores(), topology.in_cores)
    if taking.needed:
        rest = [cpu for core in taking.cores() for cpu in sorted(topology.in_cores((core,)) & taking.free)]
        taking.take(frozenset(rest[: taking.needed]))
    return taking.taken


def take_distributed(topology: MachineTopology, free: CpuSet, count: int, group: int) -> CpuSet:
    """Return ``count`` of the ``free`` CPUs in equal parts from as few NUMA nodes as can give them.

    CPUs are taken in groups of ``group``: whole cores, or single CPUs. Raises ``NotEnoughCpus``.
    """
    if count % group:
        return take_packed(topology, free, count)
    taking = _Taking(topology, free, count)
    if not count:
        return taking.taken
    numas = taking.numas()
    least, most = _numa_range(topology, len(numas), count, group)
    for size in range(least, most + 1):
        best = _best_split(topology, free, count, group, numas, size)
        if best is None:
            continue
        chosen, extra = best
        share = count // len(chosen) // group * group
        for numa in chosen:
            taking.take(take_packed(topology, taking.free & topology.in_numa((numa,)), share))
        while taking.needed:
            for numa in extra:
                left = taking.free & topology.in_numa((numa,))
                if taking.needed and len(left) >= group:
                    taking.take(take_packed(topology, left, group))
        return taking.taken
    return take_packed(topology, free, count)


def _numa_range(topology: MachineTopology, available: int, count: int, group: int) -> tuple[int, int]:
    """Return the least and the largest number of NUMA nodes that can share ``count`` CPUs."""
    groups = -(-len(topology.cpus) // group)
    groups_in_numa = -(-groups // len(topology.numa_nodes))
    needed = -(-count // group)
    return -(-needed // groups_in_numa), min(needed, available)


def _best_split(
    topology: MachineTopology, free: CpuSet, count: int, group: int, numas: Sequence[int], size: int
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the NUMA nodes that share the CPUs, and those that give the remainder; None if none can.

    The best ones leave the most equal numbers of CPUs behind.
    """
    left = {numa: len(free & topology.in_numa((numa,))) for numa in numas}
    best, found = inf, None
    for combination in combinations(numas, size):
        share = count // size // group * group
        if sum(left[numa] // group for numa in combination) * group < count:
            continue
        if any(left[numa] < share for numa in combination):
            continue
        after = {numa: amount - share * (numa in combination) for numa, amount in left.items()}
        balance, extra = _best_remainder(after, combination, count - share * size, group)
        if balance < best:
            best, found = balance, (combination, extra)
    return found


def _best_remainder(
    after: dict[int, int], combination: Sequence[int], remainder: int, group: int
) -> tuple[float, tuple[int, ...]]:
    """Return the balance and the NUMA nodes that give the CPUs left over by an equal division."""
    if not remainder:
        return _balance(after), ()
    able = [numa for numa in combination if after[numa] >= group]
    best: tuple[float, tuple[int, ...]] = (inf, ())
    for size in range(len(able), 0, -1):
        for subset in combinations(able, size):
            if sum(after[numa] // group * group for numa in subset) < remainder:
                continue
            balance = _balance(_without(after, subset, remainder, group))
            if balance < best[0]:
                best = (balance, subset)
    return best


def _without(after: dict[int, int], subset: Sequence[int], remainder: int, group: int) -> dict[int, int]:
    left = dict(after)
    while remainder:
        for numa in subset:
            if remainder and left[numa] >= group:
                left[numa] -= group
                remainder -= group
    return left


def _balance(left: dict[int, int]) -> float:
    from statistics import pstdev

    return round(pstdev(left.values()), 3)

"""The static memory manager: memory and huge pages of NUMA nodes for Guaranteed pods. Pure.

A NUMA node serves either containers that need it alone, or one group of nodes that larger containers share.
Upstream: ``pkg/kubelet/cm/memorymanager/policy_static.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from podling.api.core_v1 import Container, Pod
from podling.kubelet.topology.affinity import Hint, Hints, Mask, masks, narrower
from podling.kubelet.topology.cpu_rules import AllocationError
from podling.kubelet.topology.machine_topology import MachineTopology
from podling.machinery.pods import GUARANTEED, has_pod_level_resources, is_sidecar, pod_requests, qos_class
from podling.machinery.quantity import Format, of, parse, value
from podling.machinery.resource_names import HUGE_PAGES, is_huge_page

STATIC, NONE = "Static", "None"

Amounts = Mapping[str, int]
"""Bytes by resource: ``memory``, ``hugepages-2Mi``."""


class MemoryTable(Struct, frozen=True, rename={"total_size": "total", "system_reserved": "systemReserved"}):
    """Bytes of one resource on one NUMA node."""

    total_size: int
    system_reserved: int
    allocatable: int
    reserved: int
    free: int


class NumaState(Struct, frozen=True):
    """One NUMA node: the number of assignments, its memory by resource, and its group of nodes."""

    number_of_assignments: int
    memory_map: Mapping[str, MemoryTable]
    cells: tuple[int, ...]


class Block(Struct, frozen=True):
    """An amount of one resource that a container has on some NUMA nodes."""

    numa_affinity: tuple[int, ...]
    type: str
    size: int


class MemoryState(Struct, frozen=True):
    """``machine``: NUMA nodes by number; ``assigned``: the blocks by pod UID and container."""

    machine: Mapping[int, NumaState] = field(default_factory=dict)
    assigned: Mapping[str, Mapping[str, tuple[Block, ...]]] = field(default_factory=dict)


def new_state(topology: MachineTopology, reserved: Mapping[int, Amounts]) -> MemoryState:
    """Return the state without any assignment. ``reserved``: bytes for the system by NUMA node."""
    machine = {}
    for number, node in sorted(topology.nodes.items()):
        sizes = {_page_resource(size): amount for size, amount in node.huge_pages.items()}
        held = sum(sizes.values())
        sizes["memory"] = node.memory
        tables = {}
        for name, total in sorted(sizes.items()):
            kept = reserved.get(number, {}).get(name, 0)
            left = total - kept - (held if name == "memory" else 0)
            tables[name] = MemoryTable(total, kept, left, 0, left)
        machine[number] = NumaState(0, tables, (number,))
    return MemoryState(machine)


def _page_resource(size: int) -> str:
    return f"{HUGE_PAGES}{of(size, Format.BINARY_SI)}"


def check_reservation(reserved: Mapping[int, Amounts], expected: Amounts, topology: MachineTopology) -> None:
    """Raise ``ValueError`` unless NUMA nodes reserve together what is not allocatable of the whole node.

    ``expected`` are the bytes reserved for the system, kubelet and hard eviction threshold.
    """
    total: Counter[str] = Counter()
    for number, amounts in reserved.items():
        if number not in topology.nodes:
            raise ValueError(
                f"the reserved memory configuration references a NUMA node {number} that does not exist"
            )
        total.update(amounts)
    if not total["memory"]:
        raise ValueError("[memorymanager] you should specify the system reserved memory")
    for name in sorted({*total, *expected}):
        if total[name] != expected.get(name, 0):
            own, wanted = (of(amount, Format.BINARY_SI) for amount in (total[name], expected.get(name, 0)))
            raise ValueError(
                f'the total amount "{own}" of type "{name}" is not equal to the value "{wanted}" determined '
                "by Node Allocatable feature"
            )


def checked_state(initial: MemoryState, state: MemoryState) -> MemoryState:
    """Return the state to begin with. Raises ``ValueError`` if ``state`` does not fit the machine."""
    if not state.machine:
        if state.assigned:
            raise ValueError("[memorymanager] machine state can not be empty when it has memory assignments")
        return initial
    expected = dict(initial.machine)
    for uid, containers in state.assigned.items():
        for name, blocks in containers.items():
            for block in blocks:
                if any(node not in expected for node in block.numa_affinity):
                    problem = "the memory assignment uses the NUMA that does not exist"
                    raise ValueError(f"[memorymanager] (pod: {uid}, container: {name}) {problem}")
                if any(block.type not in expected[node].memory_map for node in block.numa_affinity):
                    problem = "the memory assignment uses memory resource that does not exist"
                    raise ValueError(f"[memorymanager] (pod: {uid}, container: {name}) {problem}")
                expected = _reserve(expected, block, block.size)
    if _comparable(expected) != _comparable(state.machine):
        raise ValueError("[memorymanager] the expected machine state is different from the real one")
    return state


def _comparable(machine: Mapping[int, NumaState]) -> object:
    """Return the facts that two equal states share: of the free bytes in a group only the sum."""
    sums: Counter[tuple[tuple[int, ...], str]] = Counter()
    for node in machine.values():
        for name, table in node.memory_map.items():
            sums[tuple(sorted(node.cells)), name] += table.free
    nodes = {
        number: (
            node.number_of_assignments,
            sorted(node.cells),
            {n: (t.total_size, t.system_reserved, t.allocatable) for n, t in node.memory_map.items()},
        )
        for number, node in machine.items()
    }
    return nodes, sums


def requested_memory(pod: Pod, container: Container) -> dict[str, int]:
    """Return the bytes of memory and huge pages that the manager assigns; nothing for most pods."""
    if qos_class(pod.spec) != GUARANTEED or has_pod_level_resources(pod.spec):
        return {}
    requests = container.resources.requests
    return {
        name: value(amount) for name, amount in requests.items() if name == "memory" or is_huge_page(name)
    }


def pod_requested_memory(pod: Pod) -> dict[str, int]:
    """Return the bytes that the pod's containers need at most at the same time."""
    named = {name for container in pod.spec.containers for name in requested_memory(pod, container)}
    overhead = {name: parse(amount).value for name, amount in pod.spec.overhead.items()}
    total = pod_requests(pod.spec)
    return {name: total[name].value - overhead.get(name, 0) for name in sorted(named)}


class MemoryClaims(Struct, frozen=True):
    """The allocation for one pod in progress: the state, and bytes of init containers that are free again."""

    state: MemoryState
    reusable: Mapping[tuple[Mask, str], int] = field(default_factory=dict)


def memory_hints(claims: MemoryClaims, requested: Amounts) -> Hints:
    """Return the groups of NUMA nodes that can give the requested amounts; nothing if none are requested."""
    machine = claims.state.machine
    numbers = sorted(machine)
    smallest, found = len(numbers), []
    for mask in masks(numbers) if requested else ():
        if any(_sum(machine, mask, name, "allocatable") < size for name, size in requested.items()):
            continue
        smallest = min(smallest, len(mask))
        if _is_usable(machine, mask) and all(
            _sum(machine, mask, name, "free") + claims.reusable.get((mask, name), 0) >= size
            for name, size in requested.items()
        ):
            found.append(mask)
    return {name: [Hint(mask, len(mask) == smallest) for mask in found] for name in requested}


def _sum(machine: Mapping[int, NumaState], mask: Mask, name: str, attribute: str) -> int:
    tables = (machine[node].memory_map.get(name) for node in mask)
    return sum(getattr(table, attribute) for table in tables if table is not None)


def _is_usable(machine: Mapping[int, NumaState], mask: Mask) -> bool:
    """Return whether no node of the mask belongs to another group, or, for a group, is used alone."""
    if len(mask) == 1:
        return all(len(machine[node].cells) <= 1 for node in mask)
    return not _violates(machine, mask)


def _violates(machine: Mapping[int, NumaState], mask: Mask) -> bool:
    if len(mask) == 1:
        return False
    used = [machine[node] for node in mask if machine[node].number_of_assignments > 0]
    return any(len(node.cells) == 1 or frozenset(node.cells) != mask for node in used)


def allocate_memory(claims: MemoryClaims, pod: Pod, container: Container, hint: Hint) -> MemoryClaims:
    """Give the container its memory on the nodes of ``hint``, or on more. Raises ``AllocationError``."""
    requested = requested_memory(pod, container)
    if not requested:
        return claims
    mask = _chosen(claims, requested, hint)
    uid, nodes = pod.metadata.uid or "", tuple(sorted(mask))
    machine, reusable = claims.state.machine, dict(claims.reusable)
    passes_on = container in pod.spec.init_containers and not is_sidecar(container)
    blocks = []
    own = dict(claims.state.assigned.get(uid, {}))
    for name, size in requested.items():
        block = Block(nodes, name, size)
        blocks.append(block)
        free = reusable.get((mask, name), 0)
        machine = _reserve(machine, block, max(size - free, 0))
        reusable[mask, name] = max(free, size) if passes_on else max(free - size, 0)
        own = _without_reused(own, pod, container, block)
    own[container.name] = tuple(blocks)
    state = MemoryState(machine, {**claims.state.assigned, uid: own})
    return MemoryClaims(state, reusable)


def _chosen(claims: MemoryClaims, requested: Amounts, hint: Hint) -> Mask:
    found = list(memory_hints(claims, requested).get("memory", ()))
    best = hint
    if best.nodes is None:
        if not found:
            raise AllocationError.unexpected(
                "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory "
                "is available"
            )
        best = _best(found)
        if not best.preferred and hint.preferred:
            raise AllocationError.unexpected("[memorymanager] failed to find the default preferred hint")
    nodes, machine = best.nodes or frozenset(), claims.state.machine
    if any(_sum(machine, nodes, name, "free") < size for name, size in requested.items()):
        wider = [each for each in found if nodes <= (each.nodes or frozenset())]
        if not wider:
            raise AllocationError.unexpected(
                "[memorymanager] failed to find NUMA nodes to extend the current topology hint"
            )
        extended = _best(wider)
        if not extended.preferred and best.preferred:
            raise AllocationError.unexpected("[memorymanager] failed to find the extended preferred hint")
        nodes = extended.nodes or frozenset()
    if _violates(machine, nodes):
        raise AllocationError.unexpected("[memorymanager] preferred hint violates NUMA node allocation")
    return nodes


def _best(hints: list[Hint]) -> Hint:
    best = hints[0]
    for hint in hints[1:]:
        fitter = hint.preferred == best.preferred and narrower(
            hint.nodes or frozenset(), best.nodes or frozenset()
        )
        if fitter or (hint.preferred and not best.preferred):
            best = hint
    return best


def _reserve(machine: Mapping[int, NumaState], block: Block, size: int) -> dict[int, NumaState]:
    """Return the nodes with ``size`` bytes less free, taken from the first node that has any."""
    found = dict(machine)
    for number in block.numa_affinity:
        node = found[number]
        table = node.memory_map[block.type]
        taken = min(table.free, size)
        size -= taken
        moved = replace(table, reserved=table.reserved + taken, free=table.free - taken)
        tables = {**node.memory_map, block.type: moved}
        found[number] = NumaState(node.number_of_assignments + 1, tables, block.numa_affinity)
    return found


def _without_reused(
    own: dict[str, tuple[Block, ...]], pod: Pod, container: Container, block: Block
) -> dict[str, tuple[Block, ...]]:
    """Return a pod's blocks without the part of its earlier init containers that ``block`` uses again."""
    left = block.size
    for earlier in pod.spec.init_containers:
        if earlier.name == container.name:
            break
        if is_sidecar(earlier) or earlier.name not in own:
            continue
        kept = []
        for each in own[earlier.name]:
            same = (each.type, each.numa_affinity) == (block.type, block.numa_affinity)
            used = min(each.size, left) if same else 0
            left -= used
            kept.append(replace(each, size=each.size - used))
        own[earlier.name] = tuple(kept)
    return own


def release_memory(state: MemoryState, uid: str) -> MemoryState:
    """Return the state without the pod: its memory is free again."""
    held = state.assigned.get(uid)
    if held is None:
        return state
    machine = dict(state.machine)
    for block in (block for blocks in held.values() for block in blocks):
        size = block.size
        for number in block.numa_affinity:
            node = machine[number]
            table = node.memory_map[block.type]
            given = min(table.reserved, size)
            size -= given
            moved = replace(table, reserved=table.reserved - given, free=table.free + given)
            count = node.number_of_assignments - 1
            tables = {**node.memory_map, block.type: moved}
            machine[number] = NumaState(count, tables, node.cells if count else (number,))
    return MemoryState(machine, {other: own for other, own in state.assigned.items() if other != uid})


def memory_nodes(state: MemoryState, uid: str, container: str) -> Iterator[int]:
    """Yield the NUMA nodes from which the container has its memory."""
    blocks = state.assigned.get(uid, {}).get(container, ())
    yield from sorted({node for block in blocks for node in block.numa_affinity})

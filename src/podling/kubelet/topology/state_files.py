"""The files in which the managers keep their state: upstream's names, format and checksum.

The checksum is 32-bit FNV-1a over the structure as Go's ``spew`` prints it (``%#v``), so that either kubelet
reads the files of the other.
Upstream: ``pkg/kubelet/checkpointmanager``, ``cm/cpumanager/state``, ``cm/memorymanager/state``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct, field

from podling.kubelet.topology.cpu_rules import CpuState
from podling.kubelet.topology.cpu_sets import format_cpus, parse_cpus
from podling.kubelet.topology.memory_rules import Block, MemoryState, MemoryTable, NumaState

CPU_FILE = "cpu_manager_state"
MEMORY_FILE = "memory_manager_state"


class DamagedState(Exception):
    """A state file cannot be used; the message says why."""


class _CpuDocument(Struct, rename="camel"):
    policy_name: str = ""
    default_cpu_set: str = ""
    entries: dict[str, dict[str, str]] = field(default_factory=dict)
    checksum: int = 0


class _NumaDocument(Struct, rename="camel"):
    number_of_assignments: int = 0
    memory_map: dict[str, MemoryTable] = field(default_factory=dict)
    cells: list[int] = field(default_factory=list)


class _BlockDocument(Struct, rename="camel"):
    numa_affinity: list[int] = field(default_factory=list)
    type: str = ""
    size: int = 0


class _MemoryDocument(Struct, rename="camel"):
    policy_name: str = ""
    machine_state: dict[int, _NumaDocument] = field(default_factory=dict)
    entries: dict[str, dict[str, list[_BlockDocument]]] = field(default_factory=dict)
    checksum: int = 0


def encode_cpu_state(policy: str, state: CpuState) -> bytes:
    """Return the file of the CPU manager."""
    entries = {
        uid: {name: format_cpus(cpus) for name, cpus in sorted(containers.items())}
        for uid, containers in sorted(state.assigned.items())
    }
    document = _CpuDocument(policy, format_cpus(state.shared), entries)
    document.checksum = _cpu_checksum(document)
    return msgspec.json.encode(document)


def decode_cpu_state(content: bytes, policy: str) -> CpuState:
    """Return the state in a file of the CPU manager. Raises ``DamagedState``."""
    try:
        document = msgspec.json.decode(content, type=_CpuDocument)
        _verify(document.checksum, _cpu_checksum(document))
        _verify_policy(policy, document.policy_name)
        assigned = {
            uid: {name: parse_cpus(cpus) for name, cpus in containers.items()}
            for uid, containers in document.entries.items()
        }
        return CpuState(parse_cpus(document.default_cpu_set), assigned)
    except (msgspec.DecodeError, ValueError) as error:
        raise DamagedState(str(error)) from error


def encode_memory_state(policy: str, state: MemoryState) -> bytes:
    """Return the file of the memory manager."""
    machine = {
        number: _NumaDocument(
            node.number_of_assignments, dict(sorted(node.memory_map.items())), list(node.cells)
        )
        for number, node in sorted(state.machine.items())
    }
    entries = {
        uid: {
            name: [_BlockDocument(list(block.numa_affinity), block.type, block.size) for block in blocks]
            for name, blocks in sorted(containers.items())
        }
        for uid, containers in sorted(state.assigned.items())
    }
    document = _MemoryDocument(policy, machine, entries)
    document.checksum = _memory_checksum(document)
    return msgspec.json.encode(document)


def decode_memory_state(content: bytes, policy: str) -> MemoryState:
    """Return the state in a file of the memory manager. Raises ``DamagedState``."""
    try:
        document = msgspec.json.decode(content, type=_MemoryDocument)
    except (msgspec.DecodeError, ValueError) as error:
        raise DamagedState(str(error)) from error
    _verify(document.checksum, _memory_checksum(document))
    _verify_policy(policy, document.policy_name)
    machine = {
        number: NumaState(node.number_of_assignments, node.memory_map, tuple(node.cells))
        for number, node in document.machine_state.items()
    }
    assigned = {
        uid: {
            name: tuple(Block(tuple(block.numa_affinity), block.type, block.size) for block in blocks)
            for name, blocks in containers.items()
        }
        for uid, containers in document.entries.items()
    }
    return MemoryState(machine, assigned)


def write_state(path: Path, content: bytes) -> None:
    """Replace a state file; after a crash it is the old one or the new one. Raises ``OSError``."""
    unfinished = path.with_name(f"{path.name}.new")
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def _verify(stated: int, computed: int) -> None:
    if stated not in (0, computed):  # zero: written by another program, without a checksum
        raise DamagedState("checkpoint is corrupted")


def _verify_policy(policy: str, stated: str) -> None:
    if policy != stated:
        raise DamagedState(f'configured policy "{policy}" differs from state checkpoint policy "{stated}"')


def _cpu_checksum(document: _CpuDocument) -> int:
    entries = _map((uid, _map(containers.items())) for uid, containers in document.entries.items())
    return _checksum(
        f"(*state.CPUManagerCheckpoint){{PolicyName:(string){document.policy_name} "
        f"DefaultCPUSet:(string){document.default_cpu_set} "
        f"Entries:(map[string]map[string]string){entries} Checksum:(checksum.Checksum)0}}"
    )


def _memory_checksum(document: _MemoryDocument) -> int:
    machine = _map((number, _printed_node(node)) for number, node in document.machine_state.items())
    entries = _map(
        (
            uid,
            _map((name, f"[{' '.join(map(_printed_block, blocks))}]") for name, blocks in containers.items()),
        )
        for uid, containers in document.entries.items()
    )
    return _checksum(
        f"(*state.MemoryManagerCheckpoint){{PolicyName:(string){document.policy_name} "
        f"MachineState:(state.NUMANodeMap){machine} "
        f"Entries:(state.ContainerMemoryAssignments){entries} Checksum:(checksum.Checksum)0}}"
    )


def _printed_node(node: _NumaDocument) -> str:
    tables = _map((name, _printed_table(table)) for name, table in node.memory_map.items())
    return (
        f"<*>{{NumberOfAssignments:(int){node.number_of_assignments} "
        f"MemoryMap:(map[v1.ResourceName]*state.MemoryTable){tables} Cells:([]int){_numbers(node.cells)}}}"
    )


def _printed_table(table: MemoryTable) -> str:
    return (
        f"<*>{{TotalMemSize:(uint64){table.total_size} SystemReserved:(uint64){table.system_reserved} "
        f"Allocatable:(uint64){table.allocatable} Reserved:(uint64){table.reserved} "
        f"Free:(uint64){table.free}}}"
    )


def _printed_block(block: _BlockDocument) -> str:
    return (
        f"{{NUMAAffinity:([]int){_numbers(block.numa_affinity)} Type:(v1.ResourceName){block.type} "
        f"Size:(uint64){block.size}}}"
    )


def _numbers(numbers: Iterable[int]) -> str:
    return f"[{' '.join(map(str, numbers))}]"


def _map(items: Iterable[tuple[str | int, str]]) -> str:
    return f"map[{' '.join(f'{key}:{value}' for key, value in sorted(items))}]"


def _checksum(text: str) -> int:
    """Return the 32-bit FNV-1a hash."""
    found = 0x811C9DC5
    for byte in text.encode():
        found = (found ^ byte) * 0x01000193 & 0xFFFFFFFF
    return found

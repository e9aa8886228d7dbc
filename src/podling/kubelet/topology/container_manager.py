"""Assigns CPUs and memory to containers, and remembers them over restarts: the managers of one kubelet.

The decisions are in ``affinity``, ``cpu_rules`` and ``memory_rules``; here are the states, the files and the
order: merge the hints, allocate, save before a container starts. Without static policies nothing is
assigned and no file is written.
Upstream: ``pkg/kubelet/cm/topologymanager/scope_*.go``, ``cm/cpumanager/cpu_manager.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from podling.api.core_v1 import Container, Pod
from podling.kubelet.blocking import blocking
from podling.kubelet.topology.affinity import NONE, POD_SCOPE, Hint, Hints, merge
from podling.kubelet.topology.cpu_rules import STATIC as CPU_STATIC
from podling.kubelet.topology.cpu_rules import (
    AllocationError,
    CpuClaims,
    CpuState,
    adopted_cpus,
    allocate_cpus,
    checked_state,
    cpu_hints,
    exclusive_count,
    has_all_cpus,
    pod_exclusive_count,
    release_cpus,
)
from podling.kubelet.topology.cpu_sets import CpuSet, format_cpus, parse_cpus
from podling.kubelet.topology.manager_settings import Settings
from podling.kubelet.topology.memory_rules import STATIC as MEMORY_STATIC
from podling.kubelet.topology.memory_rules import (
    MemoryClaims,
    MemoryState,
    allocate_memory,
    memory_hints,
    memory_nodes,
    pod_requested_memory,
    release_memory,
    requested_memory,
)
from podling.kubelet.topology.memory_rules import checked_state as checked_memory
from podling.kubelet.topology.state_files import (
    CPU_FILE,
    MEMORY_FILE,
    DamagedState,
    decode_cpu_state,
    decode_memory_state,
    encode_cpu_state,
    encode_memory_state,
    write_state,
)
from podling.machinery.pods import regular_and_init

State = TypeVar("State")

logger = logging.getLogger(__name__)

ANY = Hint(None, True)


class Assigned(Struct, frozen=True):
    """CPUs and NUMA nodes of one container in the kernel's notation; empty: not restricted."""

    cpus: str = ""
    mems: str = ""


class ContainerManager:
    """The CPU, memory and topology managers of one node.

    Args:
        settings: the policies; see ``manager_settings``.
        folder: the directory of the state files.
        changed: called when CPUs of running containers may have to change.
    """

    def __init__(self, settings: Settings, folder: Path, changed: Callable[[], None]) -> None:
        self._settings = settings
        self._folder = folder
        self._changed = changed
        self._cpus = CpuState()
        self._memory = settings.initial_memory
        self._saved: tuple[CpuState, MemoryState] | None = None
        self._restore()

    @property
    def is_active(self) -> bool:
        """Return whether CPUs or memory are assigned at all."""
        return self._settings.cpu is not None or self._settings.memory is not None

    @property
    def pods(self) -> frozenset[str]:
        """The UIDs of the pods to which anything is assigned."""
        return frozenset((*self._cpus.assigned, *self._memory.assigned))

    def admit(self, pod: Pod) -> AllocationError | None:
        """Assign CPUs and memory to the containers of a new pod; return the reason if that is impossible."""
        uid = pod.metadata.uid or ""
        cpus, memory = self._cpus, self._memory
        self._cpus, self._memory = release_cpus(cpus, uid), release_memory(memory, uid)
        try:
            self._allocate(pod)
        except AllocationError as error:
            self._cpus, self._memory = cpus, memory
            self.release(uid)
            return error
        if self._cpus.shared != cpus.shared:
            self._changed()
        return None

    def adopt(self, pod: Pod, running: Mapping[str, str]) -> None:
        """Take over a pod of an earlier kubelet. ``running``: the CPUs of its running containers by name.

        Usually the state is in the file; if that was lost, the containers keep their CPUs, or get others.
        """
        policy, uid = self._settings.cpu, pod.metadata.uid or ""
        memory_known = self._settings.memory is None or uid in self._memory.assigned
        if memory_known and (policy is None or has_all_cpus(self._cpus, pod)):
            return
        if policy is not None and memory_known:
            kept = adopted_cpus(
                policy, self._cpus, pod, {name: _cpus(text) for name, text in running.items()}
            )
            if kept is not None:
                self._cpus = kept
                self._changed()
                return
        problem = self.admit(pod)
        if problem is not None:
            logger.warning("pod %s runs on without CPUs or memory of its own: %s", pod.metadata.name, problem)

    def release(self, uid: str) -> None:
        """Free the CPUs and the memory of a pod that has ended."""
        before = self._cpus.shared
        self._cpus, self._memory = release_cpus(self._cpus, uid), release_memory(self._memory, uid)
        if self._cpus.shared != before:
            self._changed()

    def assigned(self, uid: str, container: str) -> Assigned:
        """Return the restrictions of one container."""
        if not self.is_active:
            return Assigned()
        cpus = self._cpus.assigned.get(uid, {}).get(container, self._cpus.shared)
        return Assigned(format_cpus(cpus), format_cpus(memory_nodes(self._memory, uid, container)))

    async def save(self) -> None:
        """Write the states that have changed. Raises ``OSError``.

        Must come before the start of a container, so that no later kubelet gives its CPUs to another one.
        """
        state = (self._cpus, self._memory)
        if state == self._saved or not self.is_active:
            return
        await blocking(self._write, *state)
        self._saved = state

    def _write(self, cpus: CpuState, memory: MemoryState) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._settings.cpu is not None:
            write_state(self._folder / CPU_FILE, encode_cpu_state(CPU_STATIC, cpus))
        if self._settings.memory is not None:
            write_state(self._folder / MEMORY_FILE, encode_memory_state(MEMORY_STATIC, memory))

    def _restore(self) -> None:
        settings = self._settings
        if settings.cpu is not None:
            policy = settings.cpu
            found = _read(
                self._folder / CPU_FILE,
                lambda text: checked_state(policy, decode_cpu_state(text, CPU_STATIC)),
            )
            self._cpus = found or checked_state(policy, CpuState())
        if settings.memory is not None:
            initial = settings.initial_memory
            restored = _read(
                self._folder / MEMORY_FILE,
                lambda text: checked_memory(initial, decode_memory_state(text, MEMORY_STATIC)),
            )
            self._memory = restored or initial

    # Allocation.

    def _allocate(self, pod: Pod) -> None:
        """Merge the hints of each container, or of the pod, and allocate. Raises ``AllocationError``."""
        settings = self._settings
        cpus, memory = CpuClaims(self._cpus), MemoryClaims(self._memory)
        common: Hint | None = None
        if settings.topology_policy == NONE:
            common = ANY
        elif settings.topology_scope == POD_SCOPE:
            common = self._merged(
                self._cpu_hints(cpus, pod_exclusive_count(pod.spec)),
                self._memory_hints(memory, pod_requested_memory(pod)),
            )
        for container in regular_and_init(pod.spec):
            hint = common or self._merged(
                self._cpu_hints(cpus, exclusive_count(pod.spec, container)),
                self._memory_hints(memory, requested_memory(pod, container)),
            )
            cpus, memory = self._with_container(cpus, memory, pod, container, hint)
        self._cpus, self._memory = cpus.state, memory.state

    def _with_container(
        self, cpus: CpuClaims, memory: MemoryClaims, pod: Pod, container: Container, hint: Hint
    ) -> tuple[CpuClaims, MemoryClaims]:
        if self._settings.cpu is not None:
            cpus = allocate_cpus(self._settings.cpu, cpus, pod, container, hint.nodes)
        if self._settings.memory is not None:
            memory = allocate_memory(memory, pod, container, hint)
        return cpus, memory

    def _cpu_hints(self, claims: CpuClaims, count: int) -> Hints:
        return cpu_hints(self._settings.cpu, claims, count) if self._settings.cpu is not None else {}

    def _memory_hints(self, claims: MemoryClaims, requested: Mapping[str, int]) -> Hints:
        return memory_hints(claims, requested) if self._settings.memory is not None else {}

    def _merged(self, *hints: Hints) -> Hint:
        settings = self._settings
        nodes = settings.topology.numa_nodes
        best, admitted = merge(settings.topology_policy, hints, nodes, settings.distances)
        if not admitted:
            text = "Resources cannot be allocated with Topology locality"
            raise AllocationError("TopologyAffinityError", text)
        return best


def _cpus(text: str) -> CpuSet:
    try:
        return parse_cpus(text)
    except ValueError:
        return frozenset()


def _read(path: Path, decode: Callable[[bytes], State]) -> State | None:
    """Return the state in a file; None if there is none. A file that does not fit is put aside."""
    try:
        return decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except (DamagedState, ValueError, OSError) as error:
        aside = path.with_name(f"{path.name}.damaged")
        logger.warning("the state in %s is put aside as %s: %s", path, aside.name, error)
        path.replace(aside)
        return None

"""The static CPU manager: CPUs that only one container uses. Pure.

Containers of Guaranteed pods that request a whole number of CPUs get CPUs of their own; all others share the
rest, which includes the CPUs reserved for the system.
Upstream: ``pkg/kubelet/cm/cpumanager/policy_static.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from podling.api.core_v1 import Container, Pod, PodSpec
from podling.kubelet.topology.affinity import SINGLE_NUMA_NODE, Hint, Hints, Mask, masks
from podling.kubelet.topology.cpu_assignment import NotEnoughCpus, take_distributed, take_packed
from podling.kubelet.topology.cpu_sets import CpuSet, format_cpus
from podling.kubelet.topology.machine_topology import MachineTopology
from podling.kubelet.topology.policy_options import parse_bool
from podling.machinery.feature_gates import is_enabled
from podling.machinery.pods import (
    GUARANTEED,
    has_pod_level_resources,
    is_sidecar,
    qos_class,
    regular_and_init,
)
from podling.machinery.quantity import parse

STATIC, NONE = "static", "none"

OPTIONS = {
    "full-pcpus-only": "full_cores_only",
    "distribute-cpus-across-numa": "across_numa",
    "align-by-socket": "by_socket",
    "strict-cpu-reservation": "strict_reservation",
}
"""The options of the static policy, and their fields here."""

ALPHA_OPTIONS = frozenset({"align-by-socket"})
ALPHA_GATE = "CPUManagerPolicyAlphaOptions"


class AllocationError(Exception):
    """The node cannot give a container its CPUs or memory. ``reason`` is the pod's."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    @classmethod
    def unexpected(cls, problem: object) -> AllocationError:
        text = f"Allocate failed due to {problem}, which is unexpected"
        return cls("UnexpectedAdmissionError", text)


class CpuOptions(Struct, frozen=True):
    """Options of the static policy (``cpuManagerPolicyOptions``)."""

    full_cores_only: bool = False
    across_numa: bool = False
    by_socket: bool = False
    strict_reservation: bool = False


class CpuPolicy(Struct, frozen=True):
    """The settings of the static policy: the machine, the CPUs reserved for the system, options."""

    topology: MachineTopology
    reserved: CpuSet
    options: CpuOptions = CpuOptions()

    @property
    def group(self) -> int:
        return self.topology.cpus_per_core if self.options.full_cores_only else 1

    def take(self, free: CpuSet, count: int) -> CpuSet:
        """Return ``count`` of the ``free`` CPUs. Raises ``NotEnoughCpus``."""
        if self.options.across_numa:
            return take_distributed(self.topology, free, count, self.group)
        return take_packed(self.topology, free, count)


class CpuState(Struct, frozen=True):
    """``shared``: CPUs of all containers without their own; ``assigned``: by pod UID and container."""

    shared: CpuSet = frozenset()
    assigned: Mapping[str, Mapping[str, CpuSet]] = field(default_factory=dict)


def parse_options(given: Mapping[str, str], gates: Mapping[str, bool]) -> CpuOptions:
    """Return the options. Raises ``ValueError`` for one that is unknown, switched off, or no boolean."""
    values = {}
    for name, text in given.items():
        if name not in OPTIONS:
            raise ValueError(f'unknown CPU Manager Policy option: "{name}"')
        if name in ALPHA_OPTIONS and not is_enabled(ALPHA_GATE, gates):
            raise ValueError(
                f'CPU Manager Policy Alpha-level Options not enabled, but option "{name}" provided'
            )
        values[OPTIONS[name]] = parse_bool(name, text)
    return CpuOptions(**values)


def new_policy(
    topology: MachineTopology,
    reserved: CpuSet,
    milli_reserved: int,
    options: CpuOptions,
    topology_policy: str,
) -> CpuPolicy:
    """Return the static policy. ``reserved`` empty: the first CPUs are, as many as ``milli_reserved`` needs.

    Raises ``ValueError`` if nothing is reserved, or the machine does not fit the options.
    """
    if not reserved and milli_reserved <= 0:
        raise ValueError(
            "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be "
            "greater than zero"
        )
    if options.by_socket and topology_policy == SINGLE_NUMA_NODE:
        raise ValueError(
            "Topology manager single-numa-node policy is incompatible with CPUManager align-by-socket "
            "policy option"
        )
    if options.by_socket and len(topology.sockets) > len(topology.numa_nodes):
        raise ValueError(
            "Align by socket is not compatible with hardware where number of sockets are more than "
            "number of NUMA"
        )
    count = len(reserved) or -(-milli_reserved // 1000)
    if count > len(topology.cpus) or not reserved <= topology.all_cpus:
        size = format_cpus(reserved & topology.all_cpus)
        text = f"unable to reserve the required amount of CPUs (size of {size} did not equal {count})"
        raise ValueError(f"[cpumanager] {text}")
    return CpuPolicy(topology, reserved or take_packed(topology, topology.all_cpus, count), options)


def checked_state(policy: CpuPolicy, state: CpuState) -> CpuState:
    """Return the state to begin with. Raises ``ValueError`` if ``state`` does not fit the machine."""
    everything = policy.topology.all_cpus
    if policy.options.strict_reservation:
        everything -= policy.reserved
    held = [cpus for containers in state.assigned.values() for cpus in containers.values()]
    if not state.shared:
        if held and not policy.options.strict_reservation:
            raise ValueError("default cpuset cannot be empty")
        if not held:
            return CpuState(everything)
    _check_reserved(policy, state)
    for uid, containers in state.assigned.items():
        for name, cpus in containers.items():
            if cpus & state.shared:
                raise ValueError(
                    f'pod: {uid}, container: {name} cpuset: "{format_cpus(cpus)}" overlaps with default '
                    f'cpuset "{format_cpus(state.shared)}"'
                )
    known = state.shared.union(*held)
    if known != everything:
        raise ValueError(
            f'current set of available CPUs "{format_cpus(everything)}" doesn\'t match with CPUs in state '
            f'"{format_cpus(known)}"'
        )
    return state


def _check_reserved(policy: CpuPolicy, state: CpuState) -> None:
    reserved, shared = format_cpus(policy.reserved), format_cpus(state.shared)
    if policy.options.strict_reservation:
        if policy.reserved & state.shared:
            raise ValueError(
                f'some of strictly reserved cpus: "{reserved}" are present in defaultCpuSet: "{shared}"'
            )
    elif not policy.reserved <= state.shared:
        raise ValueError(f'not all reserved cpus: "{reserved}" are present in defaultCpuSet: "{shared}"')


def exclusive_count(spec: PodSpec, container: Container) -> int:
    """Return how many CPUs of its own the container gets; 0: it shares."""
    if qos_class(spec) != GUARANTEED or has_pod_level_resources(spec):
        return 0
    milli = parse(container.resources.requests.get("cpu", "0")).milli_value
    return 0 if milli % 1000 else milli // 1000


def pod_exclusive_count(spec: PodSpec) -> int:
    """Return how many CPUs of their own the pod's containers have at most at the same time."""
    sidecars = most = 0
    for container in spec.init_containers:
        count = exclusive_count(spec, container)
        if is_sidecar(container):
            sidecars += count
        else:
            most = max(most, sidecars + count)
    return max(most, sidecars + sum(exclusive_count(spec, c) for c in spec.containers))


class CpuClaims(Struct, frozen=True):
    """The allocation for one pod in progress: the state, and CPUs of init containers that are free again."""

    state: CpuState
    reusable: CpuSet = frozenset()


def cpu_hints(policy: CpuPolicy, claims: CpuClaims, count: int) -> Hints:
    """Return the NUMA nodes that can give ``count`` CPUs; nothing if none are wanted."""
    if not count:
        return {}
    topology, free = policy.topology, claims.state.shared - policy.reserved
    smallest = len(topology.numa_nodes)
    found: list[Mask] = []
    for mask in masks(topology.numa_nodes):
        there = topology.in_numa(mask)
        if len(there) >= count:
            smallest = min(smallest, len(mask))
        if claims.reusable <= there and len((free | claims.reusable) & there) >= count:
            found.append(mask)
    return {"cpu": [Hint(mask, _is_preferred(policy, mask, smallest)) for mask in found]}


def _is_preferred(policy: CpuPolicy, mask: Mask, smallest: int) -> bool:
    topology = policy.topology
    per_socket = len(topology.numa_nodes) // len(topology.sockets)
    if (
        policy.options.by_socket
        and per_socket
        and len(topology.sockets_of(mask)) == -(-smallest // per_socket)
    ):
        return True
    return len(mask) == smallest


def allocate_cpus(
    policy: CpuPolicy, claims: CpuClaims, pod: Pod, container: Container, nodes: Mask | None
) -> CpuClaims:
    """Give the container its CPUs, from ``nodes`` as far as they suffice. Raises ``AllocationError``."""
    count = exclusive_count(pod.spec, container)
    if not count:
        return claims
    state = claims.state
    _check_cores(policy, claims, count)
    free = (state.shared - policy.reserved) | claims.reusable
    try:
        cpus = _taken(policy, free, count, nodes)
    except NotEnoughCpus as error:
        raise AllocationError.unexpected(error) from error
    own = {**state.assigned.get(pod.metadata.uid or "", {}), container.name: cpus}
    state = CpuState(state.shared - cpus, {**state.assigned, pod.metadata.uid or "": own})
    passes_on = container in pod.spec.init_containers and not is_sidecar(container)
    return CpuClaims(state, claims.reusable | cpus if passes_on else claims.reusable - cpus)


def _taken(policy: CpuPolicy, free: CpuSet, count: int, nodes: Mask | None) -> CpuSet:
    aligned: CpuSet = frozenset()
    if nodes is not None:
        if policy.options.by_socket:
            there = free & policy.topology.in_sockets(policy.topology.sockets_of(nodes))
        else:
            there = free & policy.topology.in_numa(nodes)
        aligned = policy.take(there, min(len(there), count))
    return aligned | policy.take(free - aligned, count - len(aligned))


def _check_cores(policy: CpuPolicy, claims: CpuClaims, count: int) -> None:
    """Raise ``AllocationError`` if only whole cores are given out and the request has others."""
    if not policy.options.full_cores_only:
        return
    per_core = policy.topology.cpus_per_core
    if count % per_core:
        text = f"SMT Alignment Error: requested {count} cpus not multiple cpus per core = {per_core}"
        raise AllocationError("SMTAlignmentError", text)
    left = claims.state.shared - policy.topology.with_siblings(policy.reserved)
    available = len(left | claims.reusable)
    if count > available:
        raise AllocationError(
            "SMTAlignmentError",
            "SMT Alignment Error: not enough free physical CPUs: "
            f"available physical CPUs = {available}, requested CPUs = {count}, CPUs per core = {per_core}",
        )


def release_cpus(state: CpuState, uid: str) -> CpuState:
    """Return the state without the pod: its CPUs are shared again."""
    held = state.assigned.get(uid)
    if held is None:
        return state
    left = {other: containers for other, containers in state.assigned.items() if other != uid}
    return replace(state, shared=state.shared.union(*held.values()), assigned=left)


def adopted_cpus(
    policy: CpuPolicy, state: CpuState, pod: Pod, running: Mapping[str, CpuSet]
) -> CpuState | None:
    """Return the state in which the pod's containers keep the CPUs on which they run; None if they cannot.

    Needed when a state file was lost or damaged while containers ran on. A container that does not run keeps
    what the state gives it, and gets nothing else: pods that are adopted later may run there.
    """
    uid = pod.metadata.uid or ""
    before = state.assigned.get(uid, {})
    state = release_cpus(state, uid)
    wanted = {c.name: exclusive_count(pod.spec, c) for c in regular_and_init(pod.spec)}
    own = {name: running[name] for name, count in wanted.items() if count and name in running}
    cpus = frozenset[int]().union(*own.values())
    free = state.shared - policy.reserved
    if any(len(held) != wanted[name] for name, held in own.items()) or not cpus <= free or not own:
        return None
    if len(cpus) != sum(map(len, own.values())):
        return None
    idle = {name: held for name, held in before.items() if name not in own and not held & cpus}
    held = {**idle, **own}
    return CpuState(state.shared.difference(*held.values()), {**state.assigned, uid: held})


def has_all_cpus(state: CpuState, pod: Pod) -> bool:
    """Return whether every container of the pod has as many CPUs of its own as it requests."""
    own = state.assigned.get(pod.metadata.uid or "", {})
    return all(len(own.get(c.name, ())) == exclusive_count(pod.spec, c) for c in regular_and_init(pod.spec))

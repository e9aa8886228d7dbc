"""The static memory manager: cases of upstream's ``memorymanager/policy_static_test.go``."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.core_v1 import Pod
from podling.kubelet.topology.affinity import Hint
from podling.kubelet.topology.cpu_rules import AllocationError
from podling.kubelet.topology.machine_topology import Cpu, MachineTopology, NumaNode
from podling.kubelet.topology.memory_rules import (
    Block,
    MemoryClaims,
    MemoryState,
    allocate_memory,
    check_reservation,
    checked_state,
    memory_hints,
    memory_nodes,
    new_state,
    pod_requested_memory,
    release_memory,
    requested_memory,
)
from podling.machinery.pods import regular_and_init
from tests.unit.kubelet.topology.machines import GIB
from tests.unit.kubelet.topology.pods_by_size import guaranteed

MACHINE = MachineTopology(
    {0: Cpu(0), 1: Cpu(1, 1, 1)}, {0: NumaNode(4 * GIB, {2 << 20: GIB}), 1: NumaNode(4 * GIB)}
)
RESERVED = {0: {"memory": GIB}, 1: {"memory": GIB}}
EMPTY = new_state(MACHINE, RESERVED)
ANY = Hint(None, True)


def allocated(state: MemoryState, pod: Pod, hint: Hint = ANY) -> MemoryState:
    claims = MemoryClaims(state)
    for container in regular_and_init(pod.spec):
        claims = allocate_memory(claims, pod, container, hint)
    return claims.state


def free(state: MemoryState) -> list[float]:
    return [state.machine[number].memory_map["memory"].free / GIB for number in sorted(state.machine)]


def test_new_state_subtracts_reserved_memory_and_huge_pages() -> None:
    assert free(EMPTY) == [2, 3]
    pages = EMPTY.machine[0].memory_map["hugepages-2Mi"]
    assert (pages.total_size, pages.allocatable, pages.free) == (GIB, GIB, GIB)


@pytest.mark.parametrize(
    ("amount", "nodes", "expected"),
    [("2Gi", (0,), [0, 3]), ("3Gi", (1,), [2, 0]), ("4Gi", (0, 1), [0, 1])],
)
def test_memory_comes_from_as_few_nodes_as_possible(
    amount: str, nodes: tuple[int, ...], expected: list[float]
) -> None:
    state = allocated(EMPTY, guaranteed("p", ("1", amount)))
    (block,) = state.assigned["p"]["c0"]
    assert block.numa_affinity == nodes
    assert free(state) == expected
    assert tuple(memory_nodes(state, "p", "c0")) == nodes
    assert all(state.machine[node].cells == nodes for node in nodes)
    assert release_memory(state, "p") == EMPTY


def usable(state: MemoryState, size: int) -> list[set[int]]:
    return [set(hint.nodes or ()) for hint in memory_hints(MemoryClaims(state), {"memory": size})["memory"]]


def test_node_serves_single_or_common_assignments_but_not_both() -> None:
    single = allocated(EMPTY, guaranteed("a", ("1", "1Gi")))
    assert [
        set(hint.nodes or ()) for hint in memory_hints(MemoryClaims(single), {"memory": GIB})["memory"]
    ] == [
        {0},
        {1},
    ]
    assert memory_hints(MemoryClaims(single), {"memory": 4 * GIB})["memory"] == []
    common = allocated(EMPTY, guaranteed("b", ("1", "4Gi")))
    assert usable(common, GIB) == [{0, 1}]
    with pytest.raises(AllocationError, match="failed to find the default preferred hint"):
        allocated(common, guaranteed("c", ("1", "1Gi")))
    with pytest.raises(AllocationError, match="violates NUMA node allocation"):
        allocated(single, guaranteed("d", ("1", "3Gi")), Hint(frozenset({0, 1}), False))


def test_hint_too_small_is_extended() -> None:
    state = allocated(EMPTY, guaranteed("p", ("1", "4Gi")), Hint(frozenset({0}), True))
    assert tuple(memory_nodes(state, "p", "c0")) == (0, 1)
    with pytest.raises(AllocationError, match="failed to find NUMA nodes to extend") as raised:
        allocated(EMPTY, guaranteed("p", ("1", "9Gi")), Hint(frozenset({0}), True))
    assert raised.value.reason == "UnexpectedAdmissionError"


def test_memory_of_init_containers_is_used_again() -> None:
    pod = guaranteed("p", ("1", "1Gi"), init=(("1", "2Gi"),))
    state = allocated(EMPTY, pod, Hint(frozenset({0}), True))
    assert free(state) == [0, 3]
    assert state.assigned["p"] == {
        "i0": (Block((0,), "memory", GIB),),
        "c0": (Block((0,), "memory", GIB),),
    }
    assert release_memory(state, "p") == EMPTY


def test_memory_of_sidecars_is_not_used_again() -> None:
    pod = guaranteed("p", ("1", "1Gi"), sidecars=(("1", "1Gi"),))
    assert free(allocated(EMPTY, pod, Hint(frozenset({1}), True))) == [2, 1]
    assert pod_requested_memory(pod) == {"memory": 2 * GIB}


def test_only_guaranteed_pods_have_memory_of_their_own() -> None:
    pod = guaranteed("p", ("1", "1Gi"))
    (container,) = pod.spec.containers
    assert requested_memory(pod, container) == {"memory": GIB}
    unlimited = structs.replace(container, resources=structs.replace(container.resources, limits={}))
    burstable = structs.replace(pod, spec=structs.replace(pod.spec, containers=(unlimited,)))
    assert requested_memory(burstable, unlimited) == {}
    assert allocated(EMPTY, burstable) == EMPTY


def test_restored_state_must_fit_the_machine() -> None:
    state = allocated(EMPTY, guaranteed("p", ("1", "4Gi")))
    assert checked_state(EMPTY, state) == state
    assert checked_state(EMPTY, MemoryState()) == EMPTY
    larger = new_state(MACHINE, {0: {"memory": 2 * GIB}})
    with pytest.raises(ValueError, match="expected machine state is different from the real one"):
        checked_state(larger, state)
    with pytest.raises(ValueError, match="machine state can not be empty when it has memory assignments"):
        checked_state(EMPTY, MemoryState({}, state.assigned))
    elsewhere = {"p": {"c": (Block((7,), "memory", 1),)}}
    with pytest.raises(ValueError, match="the memory assignment uses the NUMA that does not exist"):
        checked_state(EMPTY, MemoryState(EMPTY.machine, elsewhere))
    unknown = {"p": {"c": (Block((1,), "hugepages-2Mi", 1),)}}
    with pytest.raises(ValueError, match="uses memory resource that does not exist"):
        checked_state(EMPTY, MemoryState(EMPTY.machine, unknown))


def test_reservation_of_nodes_is_that_of_the_whole_node() -> None:
    check_reservation(RESERVED, {"memory": 2 * GIB}, MACHINE)
    for reserved, problem in (
        ({}, "you should specify the system reserved memory"),
        ({0: {"memory": GIB}}, 'the total amount "1Gi" of type "memory" is not equal to the value "2Gi"'),
        ({5: {"memory": 2 * GIB}}, "references a NUMA node 5 that does not exist"),
        (
            {0: {"memory": 2 * GIB, "hugepages-2Mi": 2 << 20}},
            'of type "hugepages-2Mi" is not equal to the value "0"',
        ),
    ):
        with pytest.raises(ValueError, match=problem):
            check_reservation(reserved, {"memory": 2 * GIB}, MACHINE)

"""The static CPU manager: cases of upstream's ``policy_static_test.go``."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.core_v1 import ResourceRequirements
from podling.kubelet.topology.affinity import Hint
from podling.kubelet.topology.cpu_rules import (
    ALPHA_GATE,
    AllocationError,
    CpuClaims,
    CpuOptions,
    CpuPolicy,
    CpuState,
    adopted_cpus,
    allocate_cpus,
    checked_state,
    cpu_hints,
    exclusive_count,
    has_all_cpus,
    new_policy,
    parse_options,
    pod_exclusive_count,
    release_cpus,
)
from podling.kubelet.topology.cpu_sets import format_cpus, parse_cpus
from podling.machinery.pods import regular_and_init
from tests.unit.kubelet.topology.machines import DUAL_SOCKET_HT, FOUR_NUMA, SINGLE_SOCKET_HT
from tests.unit.kubelet.topology.pods_by_size import Size, guaranteed

SMALL: Size = ("500m", "1Gi")
ONE, TWO, FOUR = ("1", "1Gi"), ("2", "1Gi"), ("4", "1Gi")
POLICY = CpuPolicy(SINGLE_SOCKET_HT, frozenset({0, 4}))


def allocated(policy: CpuPolicy, state: CpuState, *sizes: Size, **others: tuple[Size, ...]) -> dict[str, str]:
    """Return the CPUs of each container of a new pod, and those that remain shared."""
    pod = guaranteed("new", *sizes, **others)
    claims = CpuClaims(state)
    for container in regular_and_init(pod.spec):
        claims = allocate_cpus(policy, claims, pod, container, None)
    own = {name: format_cpus(cpus) for name, cpus in claims.state.assigned.get("new", {}).items()}
    return {**own, "shared": format_cpus(claims.state.shared)}


EVERYTHING = CpuState(parse_cpus("0-7"))


@pytest.mark.parametrize(
    ("sizes", "others", "expected"),
    [
        ((SMALL,), {}, {"shared": "0-7"}),
        ((ONE,), {}, {"c0": "1", "shared": "0,2-7"}),
        ((TWO, SMALL, ONE), {}, {"c0": "1,5", "c2": "2", "shared": "0,3-4,6-7"}),
        ((TWO,), {"init": (FOUR,)}, {"i0": "1-2,5-6", "c0": "1,5", "shared": "0,3-4,7"}),
        ((TWO,), {"init": (ONE, TWO)}, {"i0": "1", "i1": "1,5", "c0": "1,5", "shared": "0,2-4,6-7"}),
        ((TWO,), {"sidecars": (ONE,)}, {"s0": "1", "c0": "2,6", "shared": "0,3-5,7"}),
        (
            (ONE,),
            {"sidecars": (TWO,), "init": (TWO,)},
            {"s0": "1,5", "i0": "2,6", "c0": "2", "shared": "0,3-4,7"},
        ),
    ],
)
def test_whole_cpus_of_guaranteed_pods_are_their_own(
    sizes: tuple[Size, ...], others: dict[str, tuple[Size, ...]], expected: dict[str, str]
) -> None:
    assert allocated(POLICY, EVERYTHING, *sizes, **others) == expected


def test_reserved_cpus_are_never_assigned() -> None:
    with pytest.raises(AllocationError) as raised:
        allocated(POLICY, EVERYTHING, ("7", "1Gi"))
    assert (raised.value.reason, str(raised.value)) == (
        "UnexpectedAdmissionError",
        "Allocate failed due to not enough cpus available to satisfy request: requested=7, available=6, "
        "which is unexpected",
    )


def test_only_whole_cores_are_given_out_if_configured() -> None:
    policy = structs.replace(POLICY, options=CpuOptions(full_cores_only=True))
    assert allocated(policy, EVERYTHING, TWO)["c0"] == "1,5"
    with pytest.raises(AllocationError, match="requested 1 cpus not multiple cpus per core = 2"):
        allocated(policy, EVERYTHING, ONE)
    text = "not enough free physical CPUs: available physical CPUs = 6, requested CPUs = 8, CPUs per core = 2"
    with pytest.raises(AllocationError, match=text) as raised:
        allocated(policy, EVERYTHING, ("8", "1Gi"))
    assert raised.value.reason == "SMTAlignmentError"
    # The sibling of a reserved CPU is no whole core either.
    half = structs.replace(policy, reserved=frozenset({0}))
    with pytest.raises(AllocationError, match="available physical CPUs = 6, requested CPUs = 8"):
        allocated(half, EVERYTHING, ("8", "1Gi"))


def test_burstable_and_pod_level_resources_share() -> None:
    pod = guaranteed("p", TWO)
    (container,) = pod.spec.containers
    assert exclusive_count(pod.spec, container) == 2
    own = ResourceRequirements(requests={"cpu": "4"}, limits={"cpu": "4", "memory": "1Gi"})
    assert exclusive_count(structs.replace(pod.spec, resources=own), container) == 0
    free = structs.replace(container, resources=ResourceRequirements(requests={"cpu": "2"}))
    assert exclusive_count(structs.replace(pod.spec, containers=(free,)), free) == 0


@pytest.mark.parametrize(
    ("sizes", "others", "count"),
    [
        ((ONE, TWO), {}, 3),
        ((ONE,), {"init": (FOUR, TWO)}, 4),
        ((ONE,), {"init": (TWO,), "sidecars": (ONE,)}, 3),
        ((TWO,), {"sidecars": (ONE, ONE)}, 4),
        ((SMALL,), {}, 0),
    ],
)
def test_pod_needs_most_cpus_that_run_together(
    sizes: tuple[Size, ...], others: dict[str, tuple[Size, ...]], count: int
) -> None:
    assert pod_exclusive_count(guaranteed("p", *sizes, **others).spec) == count


DUAL = CpuPolicy(DUAL_SOCKET_HT, frozenset({0, 6}))


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (2, [("0", True), ("1", True), ("01", False)]),
        (5, [("1", True), ("01", False)]),
        (7, [("01", True)]),
        (11, []),
    ],
)
def test_hints_name_numa_nodes_with_enough_cpus(count: int, expected: list[tuple[str, bool]]) -> None:
    found = cpu_hints(DUAL, CpuClaims(CpuState(parse_cpus("0-11"))), count)
    assert found["cpu"] == [Hint(frozenset(map(int, nodes)), preferred) for nodes, preferred in expected]
    assert cpu_hints(DUAL, CpuClaims(CpuState(parse_cpus("0-11"))), 0) == {}


def test_hint_is_not_preferred_if_an_empty_machine_could_do_with_fewer_nodes() -> None:
    found = cpu_hints(DUAL, CpuClaims(CpuState(parse_cpus("0-3,6"))), 3)
    assert found["cpu"] == [Hint(frozenset({0, 1}), False)]


def test_socket_alignment_prefers_all_nodes_of_a_socket() -> None:
    policy = CpuPolicy(FOUR_NUMA, frozenset({0}), CpuOptions(by_socket=True))
    found = cpu_hints(policy, CpuClaims(CpuState(parse_cpus("0-31"))), 2)
    preferred = [sorted(hint.nodes or ()) for hint in found["cpu"] if hint.preferred]
    assert preferred == [[0], [1], [2], [3], [0, 1], [2, 3]]
    pod = guaranteed("p", ("10", "1Gi"))
    claims = allocate_cpus(
        policy, CpuClaims(CpuState(parse_cpus("0-31"))), pod, pod.spec.containers[0], frozenset({2})
    )
    assert claims.state.assigned["p"]["c0"] <= FOUR_NUMA.in_sockets({1})


def test_allocation_begins_on_the_nodes_of_the_hint() -> None:
    pod = guaranteed("p", ("4", "1Gi"))
    state = CpuState(parse_cpus("0-11"))
    for nodes, expected in ((frozenset({1}), "1,3,7,9"), (frozenset({0}), "2,4,8,10"), (None, "2,4,8,10")):
        claims = allocate_cpus(DUAL, CpuClaims(state), pod, pod.spec.containers[0], nodes)
        assert format_cpus(claims.state.assigned["p"]["c0"]) == expected


def test_released_cpus_are_shared_again() -> None:
    pod = guaranteed("p", ONE, TWO)
    claims = CpuClaims(EVERYTHING)
    for container in pod.spec.containers:
        claims = allocate_cpus(POLICY, claims, pod, container, None)
    assert has_all_cpus(claims.state, pod)
    assert release_cpus(claims.state, "other") == claims.state
    assert release_cpus(claims.state, "p") == EVERYTHING
    assert not has_all_cpus(EVERYTHING, pod)


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        ({"c0": "2", "c1": "3,7"}, {"c0": "2", "c1": "3,7"}),
        ({"c0": "2"}, {"c0": "2"}),
        ({"c0": "0"}, None),  # reserved
        ({"c0": "2-3"}, None),  # another size
        ({"c0": "2", "c1": "2-3"}, None),  # in both
        ({}, None),
    ],
)
def test_containers_keep_their_cpus_if_the_state_was_lost(
    running: dict[str, str], expected: dict[str, str] | None
) -> None:
    pod = guaranteed("p", ONE, TWO)
    found = adopted_cpus(POLICY, EVERYTHING, pod, {name: parse_cpus(cpus) for name, cpus in running.items()})
    own = found and {name: format_cpus(cpus) for name, cpus in found.assigned["p"].items()}
    assert own == expected


@pytest.mark.parametrize(
    ("strict", "shared", "assigned", "problem"),
    [
        (False, "0-7", {}, None),
        (False, "0,3-7", {"p": {"c": "1-2"}}, None),
        (False, "", {"p": {"c": "1-2"}}, "default cpuset cannot be empty"),
        (False, "1-7", {}, 'not all reserved cpus: "0,4" are present in defaultCpuSet: "1-7"'),
        (False, "0-5", {}, 'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-5"'),
        (False, "0-9", {}, 'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-9"'),
        (
            False,
            "0-7",
            {"p": {"c": "1-2"}},
            'pod: p, container: c cpuset: "1-2" overlaps with default cpuset "0-7"',
        ),
        (True, "1-3,5-7", {}, None),
        (True, "0-7", {}, 'some of strictly reserved cpus: "0,4" are present in defaultCpuSet: "0-7"'),
        (True, "1", {"p": {"c": "2-3,5-7"}}, None),
    ],
)
def test_restored_state_must_fit_the_machine(
    strict: bool, shared: str, assigned: dict[str, dict[str, str]], problem: str | None
) -> None:
    policy = structs.replace(POLICY, options=CpuOptions(strict_reservation=strict))
    own = {uid: {name: parse_cpus(cpus) for name, cpus in held.items()} for uid, held in assigned.items()}
    state = CpuState(parse_cpus(shared), own)
    if problem is None:
        assert checked_state(policy, state) == state
        return
    with pytest.raises(ValueError, match=r".") as raised:
        checked_state(policy, state)
    assert str(raised.value) == problem


def test_first_state_shares_everything_but_strictly_reserved_cpus() -> None:
    assert checked_state(POLICY, CpuState()) == EVERYTHING
    strict = structs.replace(POLICY, options=CpuOptions(strict_reservation=True))
    assert format_cpus(checked_state(strict, CpuState()).shared) == "1-3,5-7"


def test_policy_reserves_the_first_cores() -> None:
    policy = new_policy(SINGLE_SOCKET_HT, frozenset(), 1500, CpuOptions(), "none")
    assert policy.reserved == {0, 4}
    assert new_policy(SINGLE_SOCKET_HT, frozenset({2}), 0, CpuOptions(), "none").reserved == {2}


@pytest.mark.parametrize(
    ("reserved", "milli", "options", "topology_policy", "problem"),
    [
        (
            "",
            0,
            CpuOptions(),
            "none",
            "systemreserved.cpu + kubereserved.cpu to be greater than zero",
        ),
        ("9", 0, CpuOptions(), "none", "unable to reserve the required amount of CPUs"),
        ("", 9000, CpuOptions(), "none", "unable to reserve the required amount of CPUs"),
        (
            "0",
            0,
            CpuOptions(by_socket=True),
            "single-numa-node",
            "incompatible with CPUManager align-by",
        ),
    ],
)
def test_policy_that_cannot_work_is_refused(
    reserved: str, milli: int, options: CpuOptions, topology_policy: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        new_policy(SINGLE_SOCKET_HT, parse_cpus(reserved), milli, options, topology_policy)
    assert problem in str(raised.value)


def test_options_are_booleans_of_known_names() -> None:
    given = {"full-pcpus-only": "true", "align-by-socket": "0", "strict-cpu-reservation": "1"}
    assert parse_options(given, {ALPHA_GATE: True}) == CpuOptions(
        full_cores_only=True, strict_reservation=True
    )
    with pytest.raises(ValueError, match='unknown CPU Manager Policy option: "else"'):
        parse_options({"else": "true"}, {})
    with pytest.raises(ValueError, match='bad value for option "align-by-socket"'):
        parse_options({"align-by-socket": "yes"}, {ALPHA_GATE: True})
    with pytest.raises(ValueError, match='not enabled, but option "align-by-socket" provided'):
        parse_options({"align-by-socket": "true"}, {})

"""Hints by the CPUs of zones. Cases of upstream's ``topologycache_test.go`` and ``utils_test.go``."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from podling.api.core_v1 import Node, NodeCondition, NodeStatus
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointHints, EndpointSlice, ForZone
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.controllers.endpoints import topology_hints as topology
from podling.controllers.endpoints.endpoint_rules import ZONE
from podling.controllers.endpoints.slice_rules import Changes
from podling.controllers.endpoints.topology_hints import Allocation, TopologyHints

KEY = Key("ns", "svc")


def node(zone: str, cpu: str, ready: str = "True", **labels: str) -> Node:
    zones = {ZONE: zone} if zone else {}
    status = NodeStatus(allocatable={"cpu": cpu}, conditions=(NodeCondition(type="Ready", status=ready),))
    return Node(metadata=ObjectMeta(labels={**zones, **labels}), status=status)


CONTROL_PLANE = {"node-role.kubernetes.io/control-plane": ""}


@pytest.mark.parametrize(
    ("nodes", "shares"),
    [
        ([], None),
        ([node("a", "1")], None),
        ([node("a", "1"), node("a", "1")], None),
        ([node("a", "1"), node("b", "1")], {"a": 0.5, "b": 0.5}),
        ([node("a", "1", "False"), node("b", "1")], None),
        ([node("a", "1"), node("b", "1", **CONTROL_PLANE)], None),
        ([node("a", "1"), node("b", "1"), node("b", "1", "False")], {"a": 0.5, "b": 0.5}),
        ([node("a", "1"), node("b", "1"), node("b", "1", **CONTROL_PLANE)], {"a": 0.5, "b": 0.5}),
        (
            [
                *(node("a", "1000m"), node("a", "1000m"), node("a", "1000m"), node("a", "2000m")),
                *(node("b", "3000m"), node("b", "1500m"), node("c", "500m")),
            ],
            {"a": 0.5, "b": 0.45, "c": 0.05},
        ),
        ([node("a", "1"), node("b", "1"), node("", "1")], None),
        ([node("a", "1"), node("b", "1"), node("b", "0")], None),
    ],
)
def test_shares_are_parts_of_the_cpus_of_ready_nodes(
    nodes: list[Node], shares: dict[str, float] | None
) -> None:
    assert topology.shares_of(nodes) == shares


def endpoint(zone: str | None, hint: str | None = None, *, ready: bool | None = True) -> Endpoint:
    hints = None if hint is None else EndpointHints(for_zones=(ForZone(name=hint),) if hint else ())
    return Endpoint(conditions=EndpointConditions(ready=ready), zone=zone, hints=hints)


def slice_of(*endpoints: Endpoint, name: str = "") -> EndpointSlice:
    return EndpointSlice(metadata=ObjectMeta(name=name), address_type="IPv4", endpoints=endpoints)


def in_zones(zones: str) -> EndpointSlice:
    return slice_of(*(endpoint(zone) for zone in zones))


def hinted(slices: Sequence[EndpointSlice]) -> list[str]:
    """Return the zones of the hints in each slice; ``-`` for none."""
    return [
        "".join(each.hints.for_zones[0].name if each.hints else "-" for each in found.endpoints)
        for found in slices
    ]


ADDED = [
    (None, [], [], [], [], topology.NO_NODE_INFO),
    (None, ["a"], [], ["-"], [], topology.NO_NODE_INFO),
    ({"a": 0.3, "b": 0.4, "c": 0.3}, ["ab"], [], ["--"], [], f"{topology.TOO_FEW} (2 endpoints, 3 zones)"),
    ({"a": 1.0}, ["aa"], [], ["--"], [], topology.ONE_ZONE),
    ({"a": 0.45, "b": 0.55}, ["ab"], [], ["ab"], [], topology.HINTS_ENABLED),
    (
        {"a": 0.35, "b": 0.35, "c": 0.3},
        ["ab", "cca"],
        ["aa", "bca"],
        ["bb", "cca"],
        ["aa", "bca"],
        topology.HINTS_ENABLED,
    ),
    ({"a": 0.1, "b": 0.9}, ["ab"], [], ["--"], [], f"{topology.OVERLOADED} (2 endpoints, 2 zones)"),
]  # fmt: skip


@pytest.mark.parametrize(("shares", "create", "update", "created", "updated", "message"), ADDED)
def test_hints_follow_the_shares_of_zones(
    shares: dict[str, float] | None,
    create: list[str],
    update: list[str],
    created: list[str],
    updated: list[str],
    message: str,
) -> None:
    hints = TopologyHints()
    hints.shares = shares
    changes = Changes(create=[in_zones(each) for each in create], update=[in_zones(each) for each in update])
    found, (notice,) = hints.add(KEY, "IPv4", changes)
    assert (hinted(found.create), hinted(found.update)) == (created, updated)
    assert notice.message == f"{message}, addressType: IPv4"
    is_enabled = message == topology.HINTS_ENABLED
    assert notice.reason == ("TopologyAwareHintsEnabled" if is_enabled else "TopologyAwareHintsDisabled")
    assert notice.type == ("Normal" if is_enabled else "Warning")
    assert bool(hints.endpoints_of(KEY)) is is_enabled


def test_hints_are_counted_by_zone() -> None:
    hints = TopologyHints()
    hints.shares = {"a": 0.35, "b": 0.35, "c": 0.3}
    hints.add(KEY, "IPv4", Changes(create=[in_zones("ab"), in_zones("ccaaabca")]))
    assert hints.endpoints_of(KEY) == {"IPv4": {"a": 4, "b": 3, "c": 3}}


def test_endpoints_that_are_not_ready_have_no_hints() -> None:
    hints = TopologyHints()
    hints.shares = {"a": 0.45, "b": 0.55}
    mixed = slice_of(endpoint("a"), endpoint("b"), endpoint("b", "a", ready=False), endpoint("b", ready=None))
    found, _ = hints.add(KEY, "IPv4", Changes(create=[mixed]))
    assert hinted(found.create) == ["ab--"]
    assert hints.endpoints_of(KEY) == {"IPv4": {"a": 1, "b": 1}}


def test_endpoint_without_zone_ends_hints() -> None:
    hints = TopologyHints()
    hints.shares = {"a": 0.5, "b": 0.5}
    hints.add(KEY, "IPv4", Changes(create=[in_zones("ab")]))
    found, (notice,) = hints.add(KEY, "IPv4", Changes(create=[slice_of(endpoint("a"), endpoint(None))]))
    assert hinted(found.create) == ["--"]
    assert notice.message == f"{topology.NO_ZONE}, addressType: IPv4"
    assert hints.endpoints_of(KEY) == {}


def test_annotation_that_is_removed_is_reported_once() -> None:
    hints = TopologyHints()
    hints.shares = {"a": 0.5, "b": 0.5}
    hints.add(KEY, "IPv4", Changes(create=[in_zones("ab")]))
    (notice,) = hints.drop(KEY, "IPv4")
    assert notice.message == "Topology Aware Hints has been disabled, addressType: IPv4"
    assert hints.drop(KEY, "IPv4") == []
    assert len(hints) == 0


def test_all_slices_of_a_service_get_hints_when_it_requests_them() -> None:
    """Case of TestReconcileTopology in endpointslice/reconciler_test.go."""
    hints = TopologyHints()
    hints.shares = dict.fromkeys("abc", 1 / 3)
    zones = ["aacc", "aabbb"]
    found, _ = hints.add(KEY, "IPv4", Changes(unchanged=[in_zones(each) for each in zones]))
    given = "".join(hinted(found.update))
    assert (found.unchanged, sorted(given)) == ([], [*"aaabbbccc"])
    assert sum(own != hint for own, hint in zip("".join(zones), given, strict=True)) == 1


def test_unchanged_slice_with_good_hints_stays_and_others_are_updated() -> None:
    hints = TopologyHints()
    hints.shares = {"a": 0.5, "b": 0.5}
    good = slice_of(endpoint("a", "a"), endpoint("b", "b"), name="good")
    bad = slice_of(endpoint("a", "a"), endpoint("b"), name="bad")
    found, _ = hints.add(KEY, "IPv4", Changes(unchanged=[good, bad]))
    assert (found.unchanged, [each.metadata.name for each in found.update]) == ([good], ["bad"])
    assert hinted(found.update) == ["ab"]


@pytest.mark.parametrize(
    ("desired", "allocated", "giving", "receiving"),
    [
        ({}, {}, {}, {}),
        ({"a": 1.2, "b": 1.1, "c": 1.0}, {"a": 1, "b": 1, "c": 1}, {}, {}),
        ({"a": 5.1, "b": 5.1, "c": 5.8}, {"a": 16}, {"a": 10}, {"b": 5, "c": 5}),
        ({"a": 5.0, "b": 5.6, "c": 5.4}, {"a": 16}, {"a": 11}, {"b": 6, "c": 5}),
        ({"a": 5.0, "b": 5.6, "c": 5.4}, {"b": 8, "c": 8}, {"b": 2, "c": 3}, {"a": 5}),
        ({"a": 5.0, "b": 5.0, "c": 5.0}, {"a": 6, "b": 6, "c": 6}, {}, {}),
        ({"a": -5.0, "b": -5.0, "c": -5.0}, {"a": 6, "b": 6, "c": 6}, {}, {}),
        ({"a": 5.0, "b": 5.0, "c": 5.0}, {"a": -4, "b": -3, "c": -2}, {}, {}),
        ({"a": 5.0, "b": 5.0, "c": 5.0}, {"a": -40, "b": 20, "c": 20}, {"b": 15, "c": 15}, {"a": 30}),
    ],
)
def test_zones_with_too_many_endpoints_give_to_those_with_too_few(
    desired: dict[str, float], allocated: dict[str, int], giving: dict[str, int], receiving: dict[str, int]
) -> None:
    allocations = {zone: Allocation(number) for zone, number in desired.items()}
    assert topology.transfers(allocations, allocated) == (giving, receiving)


@pytest.mark.parametrize(
    ("zones", "giving", "receiving", "change"),
    [
        ("", {}, {}, {}),
        ("a", {"a": 1}, {"b": 1}, {"a": -1, "b": 1}),
        ("aaa", {"a": 2}, {"b": 1, "c": 1}, {"a": -2, "b": 1, "c": 1}),
    ],
)
def test_hints_are_redistributed(
    zones: str, giving: dict[str, int], receiving: dict[str, int], change: dict[str, int]
) -> None:
    _, found = topology.redistributed([in_zones(zones)], giving, receiving)
    assert found == change


@pytest.mark.parametrize(
    ("endpoints", "maxima", "allocated", "wanted"),
    [
        ((), {}, {}, {}),
        ((endpoint("a", "a"),), {"a": 3}, {"a": 1}, {"a": 1}),
        ((endpoint("a", "a"), endpoint("a", "a", ready=False)), {"a": 3}, {"a": 1}, {"a": 1}),
        (
            (endpoint("a", "a"), endpoint("a", "b"), endpoint("b", "b")),
            {"a": 3, "b": 3, "c": 3},
            {"a": 1, "b": 1, "c": 1},
            {"a": 1, "b": 2},
        ),
        ((endpoint("a", "gone"),), {"a": 3}, {"a": 1}, None),
        ((endpoint("a"),), {"a": 3}, {}, None),
        ((endpoint("a", ""),), {"a": 3}, {}, None),
        ((endpoint("a", "a"), endpoint("a", "a")), {"a": 2}, {"a": 1}, None),
    ],
)
def test_hints_of_unchanged_slices_are_counted_or_refused(
    endpoints: tuple[Endpoint, ...],
    maxima: dict[str, int],
    allocated: dict[str, int],
    wanted: dict[str, int] | None,
) -> None:
    allocations = {zone: Allocation(0, 0, number) for zone, number in maxima.items()}
    assert topology.hints_by_zone(slice_of(*endpoints), allocated, allocations) == wanted


@pytest.mark.parametrize(
    ("endpoints", "shares", "wanted"),
    [
        ({}, None, False),
        ({"a": 1}, None, True),
        ({"a": 1, "b": 1}, {"a": 0.5, "b": 0.5}, False),
        ({"a": 2}, {"a": 0.5, "b": 0.5}, True),
        ({"a": 5, "b": 4}, {"a": 0.5, "b": 0.5}, False),
        ({"a": 6, "b": 3}, {"a": 0.5, "b": 0.5}, True),
    ],
)
def test_service_is_overloaded_where_a_zone_has_too_few_endpoints(
    endpoints: dict[str, int], shares: dict[str, float] | None, wanted: bool
) -> None:
    assert topology.is_overloaded(endpoints, shares) is wanted


# Test_checkNodeTopologyDistribution: zone, CPUs and readiness of nodes; the endpoints of a Service with hints
EVEN = [node("b", "2"), node("b", "2"), node("c", "2"), node("c", "2")]
UNEVEN = [node("a", "2"), node("b", "1"), node("c", "100m")]
DISTRIBUTIONS: list[tuple[list[Node], dict[str, int], bool]] = [
    ([], {}, False),
    ([node("a", "100m"), node("b", "1"), node("c", "2")], {"a": 1, "b": 2, "c": 3}, True),
    ([node("a", "100m", "False"), node("b", "1"), node("c", "2")], {"a": 1, "b": 2, "c": 3}, True),
    (EVEN, {"b": 5, "c": 4}, False),
    ([*EVEN[:1], node("", "2"), *EVEN[2:]], {"b": 5, "c": 4}, True),
    ([*EVEN[:1], node("b", "0"), *EVEN[2:]], {"b": 5, "c": 4}, True),
    (EVEN, {"b": 6, "c": 4}, True),
    (UNEVEN, {"a": 20, "b": 10, "c": 1}, False),
    (UNEVEN, {"a": 20, "b": 10, "c": 0}, True),
]


@pytest.mark.parametrize(("nodes", "endpoints", "wanted"), DISTRIBUTIONS)
def test_nodes_that_changed_overload_a_service(
    nodes: list[Node], endpoints: dict[str, int], wanted: bool
) -> None:
    assert topology.is_overloaded(endpoints, topology.shares_of(nodes)) is wanted

"""The entries that lead to other machines' pods, from the Node objects."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api.core_v1 import Node, NodeAddress, NodeSpec, NodeStatus
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.network_ranges import ROUTES, VXLAN
from podling.network.overlay.overlay_plan import (
    ForwardingEntry,
    Neighbour,
    Peer,
    Plan,
    Route,
    Tunnel,
    hardware_address,
    internal_ip,
    overhead,
    peers_of,
    plan_of,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def node(name: str, address: str, *blocks: str, age: int = 0) -> Node:
    addresses = [NodeAddress(type="InternalIP", address=address)] if address else []
    addresses.append(NodeAddress(type="Hostname", address=name))
    created = START - timedelta(seconds=age)
    return Node(
        metadata=ObjectMeta(name=name, creation_timestamp=created),
        spec=NodeSpec(pod_cidrs=blocks),
        status=NodeStatus(addresses=tuple(addresses)),
    )


def plan(name: str, *nodes: Node, mode: str = VXLAN) -> Plan | None:
    return plan_of(name, {each.metadata.name or "": each for each in nodes}, mode)


A = node("a", "10.0.0.1", "10.88.1.0/24")
B = node("b", "10.0.0.2", "10.88.2.0/24")


def test_tunnel_leads_to_every_block_of_a_peer() -> None:
    own, peer = ip_address("10.0.0.1"), ip_address("10.0.0.2")
    block, gateway = ip_network("10.88.2.0/24"), ip_address("10.88.2.0")
    assert plan("a", A, B) == Plan(
        tunnel=Tunnel(own, bytes.fromhex("0a590a000001"), IPv4Address("10.88.1.0")),
        routes=frozenset({Route(block, gateway, ip_address("10.88.1.1"))}),
        neighbours=frozenset({Neighbour(gateway, bytes.fromhex("0a590a000002"))}),
        forwarding=frozenset({ForwardingEntry(bytes.fromhex("0a590a000002"), peer)}),
        peers=(Peer(peer, (block,), ("b",)),),
        own_blocks=(ip_network("10.88.1.0/24"),),
    )


def test_direct_routes_lead_to_the_machine_itself() -> None:
    found = plan("a", A, B, mode=ROUTES)
    assert found is not None
    block = ip_network("10.88.2.0/24")
    assert found.routes == {Route(block, ip_address("10.0.0.2"), ip_address("10.88.1.1"))}
    assert (found.tunnel, found.neighbours, found.forwarding) == (None, frozenset(), frozenset())


def test_direct_routes_are_made_for_the_family_of_the_machines_only() -> None:
    both = node("b", "10.0.0.2", "10.88.2.0/24", "fd00:88:0:2::/64")
    found = plan("a", A, both, mode=ROUTES)
    assert found is not None
    assert {route.block.version for route in found.routes} == {4}


def test_tunnel_carries_both_families() -> None:
    own = node("a", "10.0.0.1", "10.88.1.0/24", "fd00:88:0:1::/64")
    found = plan("a", own, node("b", "10.0.0.2", "10.88.2.0/24", "fd00:88:0:2::/64"))
    assert found is not None
    assert {(str(route.block), str(route.source)) for route in found.routes} == {
        ("10.88.2.0/24", "10.88.1.1"),
        ("fd00:88:0:2::/64", "fd00:88:0:1::1"),
    }
    assert found.families == {4, 6}


@pytest.mark.parametrize(
    "others",
    [
        [],
        [node("b", "", "10.88.2.0/24")],
        [node("b", "10.0.0.2")],
        [node("b", "127.0.0.1", "10.88.2.0/24")],
        [node("b", "0.0.0.0", "10.88.2.0/24")],
        [node("b", "nonsense", "10.88.2.0/24")],
        [node("b", "fd00::2", "10.88.2.0/24")],
        [node("b", "10.0.0.2", "nonsense")],
        [node("b", "10.0.0.1", "10.88.2.0/24")],
    ],
)
def test_nothing_is_made_without_a_machine_that_can_be_reached(others: list[Node]) -> None:
    found = plan("a", A, *others)
    assert found is not None
    assert (found.tunnel, found.routes, found.peers) == (None, frozenset(), ())


def test_first_node_of_a_machine_keeps_the_entries_for_all() -> None:
    second = node("a-2", "10.0.0.1", "10.88.3.0/24")
    found = plan("a", A, second, B)
    assert found is not None
    assert found.own_blocks == (ip_network("10.88.1.0/24"), ip_network("10.88.3.0/24"))
    assert plan("a-2", A, second, B) is None
    assert plan("a-2", second, B) is not None


@pytest.mark.parametrize("own", [None, node("a", "", "10.88.1.0/24"), node("a", "127.0.0.1")])
def test_nothing_is_changed_before_the_own_address_is_known(own: Node | None) -> None:
    assert plan("a", *([own] if own else []), B) is None


def test_nodes_of_one_machine_are_one_peer() -> None:
    nodes = [A, B, node("b-2", "10.0.0.2", "10.88.3.0/24")]
    (peer,) = peers_of(nodes, ip_address("10.0.0.1"))
    assert (peer.nodes, [str(block) for block in peer.blocks]) == (
        ("b", "b-2"),
        ["10.88.2.0/24", "10.88.3.0/24"],
    )


def test_block_of_two_nodes_belongs_to_the_older_one() -> None:
    thief = node("c", "10.0.0.3", "10.88.2.0/23", age=-10)
    peers = peers_of([thief, A, B], ip_address("10.0.0.1"))
    assert [str(peer.address) for peer in peers] == ["10.0.0.2"]
    thief = node("c", "10.0.0.3", "10.88.1.0/24", age=-10)
    assert [peer.nodes for peer in peers_of([thief, A, B], ip_address("10.0.0.1"))] == [("b",)]


@pytest.mark.parametrize(
    ("mode", "address", "bytes_"),
    [(VXLAN, "10.0.0.1", 50), (VXLAN, "fd00::1", 70), (ROUTES, "10.0.0.1", 0), (ROUTES, "fd00::1", 0)],
)
def test_tunnels_make_packets_longer(mode: str, address: str, bytes_: int) -> None:
    assert overhead(mode, address) == bytes_


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 15)), min_size=1, max_size=10),
    st.sampled_from([VXLAN, ROUTES]),
)
def test_plans_of_all_machines_fit_together(placed: list[tuple[int, int]], mode: str) -> None:
    nodes = {
        f"n{number}": node(f"n{number}", f"10.0.0.{machine}", f"10.88.{block}.0/24", age=-number)
        for number, (machine, block) in enumerate(placed)
    }
    plans = {name: found for name in nodes if (found := plan_of(name, nodes, mode)) is not None}
    owners = {internal_ip(nodes[name]): found for name, found in plans.items()}
    assert len(owners) == len(plans) == len({machine for machine, _ in placed})
    for found in plans.values():
        routed = [route.block for route in found.routes]
        assert len(routed) == len(set(routed)), "a block has one route"
        for peer in found.peers:
            other = owners[peer.address]
            assert set(peer.blocks) <= set(other.own_blocks)
            if mode == VXLAN:
                assert other.tunnel is None or other.tunnel.hardware == hardware_address(peer.address)
                assert ForwardingEntry(hardware_address(peer.address), peer.address) in found.forwarding
        gateways = {route.gateway for route in found.routes}
        assert mode == ROUTES or gateways == {each.address for each in found.neighbours}

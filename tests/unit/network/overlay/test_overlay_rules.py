"""The rules that admit only known peers to the network of the pods."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from podling.network.overlay.overlay_plan import Peer, Plan, Tunnel, hardware_address
from podling.network.overlay.overlay_rules import overlay_table, removal, ruleset

OWN = ip_address("10.0.0.1")
PEER = Peer(ip_address("10.0.0.2"), (ip_network("10.88.2.0/24"), ip_network("fd00:88:0:2::/64")), ("b",))
OWN_BLOCKS = (ip_network("10.88.1.0/24"),)


def rules(*, tunnel: bool = True, peer: Peer = PEER) -> list[str]:
    device = Tunnel(OWN, hardware_address(OWN)) if tunnel else None
    plan = Plan(tunnel=device, peers=(peer,), own_blocks=OWN_BLOCKS)
    return [line.strip() for line in ruleset("podling_x", "pvx-1", plan).splitlines()]


def test_table_is_replaced_in_one_transaction() -> None:
    name = overlay_table("podling_x")
    assert rules()[:3] == [f"table inet {name} {{}}", f"delete table inet {name}", f"table inet {name} {{"]
    assert removal("podling_x").splitlines() == rules()[:2]


def test_packets_from_the_tunnel_have_a_source_of_their_sender() -> None:
    mac = "0a:59:0a:00:00:02"
    assert f'iifname "pvx-1" ether saddr . ip saddr != {{ {mac} . 10.88.2.0/24 }} drop' in rules()
    assert f'iifname "pvx-1" ether saddr . ip6 saddr != {{ {mac} . fd00:88:0:2::/64 }} drop' in rules()


def test_tunnel_refuses_a_family_that_no_peer_has() -> None:
    assert 'iifname "pvx-1" meta nfproto ipv6 drop' in rules(peer=Peer(PEER.address, PEER.blocks[:1], ("b",)))


def test_sources_in_peers_blocks_come_by_the_way_to_the_peer() -> None:
    assert 'ip saddr { 10.88.2.0/24 } iifname != "pvx-1" drop' in rules()
    assert "ip saddr { 10.88.2.0/24 } fib saddr . iif oif missing drop" in rules(tunnel=False)


def test_tunnel_packets_of_strangers_and_of_pods_are_dropped() -> None:
    assert "ip saddr != { 10.0.0.2 } udp dport 8472 @th,96,24 88 drop" in rules()
    assert "meta nfproto ipv6 udp dport 8472 @th,96,24 88 drop" in rules()
    to_nodes = "ip saddr { 10.88.1.0/24 } ip daddr { 10.0.0.1, 10.0.0.2 } udp dport 8472 drop"
    assert rules().count(to_nodes) == 2, "forwarded, and to this machine"


def test_direct_routes_need_no_rules_for_tunnels() -> None:
    assert not [line for line in rules(tunnel=False) if "8472" in line or "pvx" in line]

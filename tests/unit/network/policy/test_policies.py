"""Network policies are read as the API documents them."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api.networking_v1 import IPBlock, NetworkPolicy, NetworkPolicyPort
from podling.machinery.selectors import EVERYTHING, NOTHING, from_labels
from podling.network.policy.policies import (
    AddressRange,
    Policy,
    PolicyRule,
    PortChoice,
    policy_of,
    port_choices,
    ranges_of,
)
from podling.network.policy.values import Selection


def read(**spec: Any) -> Policy:
    body = {"metadata": {"name": "p", "namespace": "x"}, "spec": {"podSelector": {}, **spec}}
    return policy_of(msgspec.convert(body, NetworkPolicy))


@pytest.mark.parametrize(
    ("spec", "ingress", "egress"),
    [
        ({}, (), None),
        ({"ingress": [{}]}, (PolicyRule(anywhere=True),), None),
        ({"egress": [{}]}, (), (PolicyRule(anywhere=True),)),
        ({"policyTypes": ["Egress"], "ingress": [{}]}, None, ()),
        ({"policyTypes": ["Ingress", "Egress"]}, (), ()),
    ],
)
def test_types_follow_from_rules_where_they_are_absent(
    spec: dict[str, Any], ingress: Any, egress: Any
) -> None:
    policy = read(**spec)
    assert (policy.ingress, policy.egress) == (ingress, egress)


@pytest.mark.parametrize(
    ("peer", "selection"),
    [
        ({"podSelector": {}}, Selection(namespace="x")),
        ({"namespaceSelector": {}}, Selection()),
        (
            {"podSelector": {"matchLabels": {"a": "b"}}},
            Selection(namespace="x", pods=from_labels({"a": "b"})),
        ),
        (
            {"namespaceSelector": {"matchLabels": {"c": "d"}}, "podSelector": {"matchLabels": {"a": "b"}}},
            Selection(namespaces=from_labels({"c": "d"}), pods=from_labels({"a": "b"})),
        ),
        (
            {"podSelector": {"matchExpressions": [{"key": "a", "operator": "Unknown"}]}},
            Selection(namespace="x", pods=NOTHING),
        ),
    ],
)
def test_peer_selects_pods_of_its_own_namespace_unless_it_selects_namespaces(
    peer: dict[str, Any], selection: Selection
) -> None:
    (rule,) = read(ingress=[{"from": [peer]}]).ingress or ()
    assert rule == PolicyRule(selections=(selection,))
    assert EVERYTHING.empty


def test_peer_that_selects_nothing_opens_nothing() -> None:
    (rule,) = read(ingress=[{"from": [{}]}]).ingress or ()
    assert rule == PolicyRule()


def port(
    number: int | str | None = None, protocol: str | None = None, end: int | None = None
) -> NetworkPolicyPort:
    return NetworkPolicyPort(port=number, protocol=protocol, end_port=end)


@pytest.mark.parametrize(
    ("ports", "choices"),
    [
        ([], [PortChoice()]),
        ([port(80)], [PortChoice(protocol="TCP", ranges=((80, 80),))]),
        ([port(protocol="SCTP")], [PortChoice(protocol="SCTP")]),
        ([port(80), port()], [PortChoice(protocol="TCP")]),
        (
            [port(90, end=100), port(80), port(81), port(95, end=110), port(53, "UDP")],
            [
                PortChoice(protocol="TCP", ranges=((80, 81), (90, 110))),
                PortChoice(protocol="UDP", ranges=((53, 53),)),
            ],
        ),
        (
            [port("web"), port("web"), port("web", "UDP")],
            [PortChoice(protocol="TCP", name="web"), PortChoice(protocol="UDP", name="web")],
        ),
    ],
)
def test_ports_of_a_protocol_are_joined(ports: list[NetworkPolicyPort], choices: list[PortChoice]) -> None:
    assert list(port_choices(ports)) == choices


def block(cidr: str, *holes: str) -> IPBlock:
    return IPBlock(cidr=cidr, except_=holes)


@pytest.mark.parametrize(
    "blocks",
    [
        (block("10.0.0.0/33"),),
        (block("10.0.0.0/8", "nonsense"),),
        (block("10.0.0.0/24", "10.0.0.0/24"),),
    ],
)
def test_block_without_readable_addresses_opens_nothing(blocks: tuple[IPBlock, ...]) -> None:
    assert ranges_of(blocks) == ()


def test_old_spellings_of_blocks_are_read() -> None:
    assert ranges_of([block("010.0.0.0/32")]) == (AddressRange(4, 10 << 24, 10 << 24),)


networks = st.builds(
    lambda first, prefix: str(ip_network((f"10.0.0.{first}", prefix), strict=False)),
    st.integers(0, 255),
    st.integers(24, 32),
)


@given(
    st.lists(
        st.builds(lambda cidr, holes: block(cidr, *holes), networks, st.lists(networks, max_size=3)),
        max_size=3,
    )
)
def test_ranges_hold_what_any_block_holds_without_its_exceptions(blocks: list[IPBlock]) -> None:
    ranges = ranges_of(blocks)
    assert list(ranges) == sorted(ranges)
    for last in range(256):
        address = ip_address(f"10.0.0.{last}")
        wanted = any(
            address in ip_network(each.cidr) and not any(address in ip_network(hole) for hole in each.except_)
            for each in blocks
        )
        assert wanted == any(each.first <= int(address) <= each.last for each in ranges)

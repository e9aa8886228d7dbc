"""Chains for the cluster's DNS, which runs on the node without a pod, and names of chains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from podling.api.networking_v1 import NetworkPolicy
from podling.network.policy.policies import policy_of
from podling.network.policy.tables import Tables
from podling.network.policy.values import NodeFacts, PolicyPod
from tests.support.policy_reading import Packet, compile_tables, passes

DNS = "10.88.0.1"
POD = "10.88.0.2"
FACTS = NodeFacts(families=(4,), dns=(DNS,))
KUBE_SYSTEM = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
KUBE_DNS = {**KUBE_SYSTEM, "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}
PORTS = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
NAMESPACES: dict[str, Mapping[str, str]] = {
    name: {"kubernetes.io/metadata.name": name} for name in ("x", "kube-system")
}


def tables(*rules: dict[str, Any], namespaces: Mapping[str, Mapping[str, str]] = NAMESPACES) -> Tables:
    """Return the tables with a pod whose only policy has these egress rules."""
    body = {
        "metadata": {"name": "p", "namespace": "x"},
        "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": list(rules)},
    }
    policy = policy_of(msgspec.convert(body, NetworkPolicy))
    pod = PolicyPod(key="pod", namespace="x", addresses=(POD,), local=True)
    return compile_tables([policy], [pod], namespaces, FACTS)


@pytest.mark.parametrize(
    ("rule", "opened"),
    [
        ({"to": [KUBE_DNS], "ports": PORTS}, {("UDP", 53), ("TCP", 53)}),
        ({"to": [KUBE_DNS]}, {("UDP", 53), ("TCP", 53), ("TCP", 9153)}),
        ({"to": [KUBE_SYSTEM], "ports": PORTS[:1]}, {("UDP", 53)}),
        ({"to": [{"namespaceSelector": {}}], "ports": PORTS}, {("UDP", 53), ("TCP", 53)}),
        ({"to": [KUBE_DNS], "ports": [{"port": "dns", "protocol": "UDP"}]}, {("UDP", 53)}),
        ({"to": [KUBE_DNS], "ports": [{"port": 50, "endPort": 60}]}, {("TCP", 53)}),
        ({"ports": PORTS[:1]}, {("UDP", 53)}),
        ({"ports": [{"port": "dns-tcp"}]}, {("TCP", 53)}),
        ({"to": [{"ipBlock": {"cidr": f"{DNS}/32"}}], "ports": PORTS}, {("UDP", 53), ("TCP", 53)}),
        ({"to": [{"ipBlock": {"cidr": "10.88.0.0/24"}}], "ports": [{"port": "dns-tcp"}]}, {("TCP", 53)}),
        ({"to": [{"ipBlock": {"cidr": "10.99.0.0/24"}}], "ports": [{"port": "dns-tcp"}]}, set()),
        ({"to": [{"podSelector": {}}]}, set()),
        ({"to": [{**KUBE_SYSTEM, "podSelector": {"matchLabels": {"app": "other"}}}]}, set()),
        ({"to": [KUBE_DNS], "ports": [{"port": 6443}]}, set()),
    ],
)
def test_rule_that_selects_the_dns_pods_opens_dns_and_no_other_port_of_the_node(
    rule: dict[str, Any], opened: set[tuple[str, int]]
) -> None:
    made = tables(rule)
    every = [(protocol, port) for protocol in ("TCP", "UDP") for port in (52, 53, 9153, 10250, 6443)]
    found = {each for each in every if passes(made, Packet(POD, DNS, *each), to_node=True)}
    assert found == opened


def test_dns_is_selected_by_labels_of_its_namespace_only_once_they_are_known() -> None:
    query = Packet(POD, DNS, "UDP", 53)
    assert not passes(tables({"to": [KUBE_DNS]}, namespaces={}), query, to_node=True)
    assert passes(tables({"to": [KUBE_DNS]}), query, to_node=True)


def test_rule_for_everything_opens_the_node() -> None:
    assert passes(tables({}), Packet(POD, DNS, "TCP", 6443), to_node=True)
    assert not passes(tables(), Packet(POD, DNS, "TCP", 6443), to_node=True)

"""Network policies between real pods, from every position: upstream's truth tables and recipes.

Upstream: ``test/e2e/network/netpol/network_policy.go``, whose cases these are, and the recipes of "Network
Policies" in the documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clusters import RealCluster
from tests.support.policy_cluster import (
    OUTSIDE,
    PODS,
    UDP,
    Allowed,
    PolicyCluster,
    labelled,
    policy,
    policy_cluster,
)

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]


@pytest.fixture(scope="module")
def world(cluster: RealCluster) -> Iterator[PolicyCluster]:
    with policy_cluster(cluster) as made:
        yield made


def space(name: str) -> str:
    """Return the namespace of a pod; of the host and the outside their names."""
    return name.partition("/")[0]


A = labelled(pod="a")
B = labelled(pod="b")
NOT_X = {"matchExpressions": [{"key": "ns", "operator": "NotIn", "values": ["x"]}]}
ONLY_Y = {"matchExpressions": [{"key": "ns", "operator": "In", "values": ["y"]}]}
TCP_80 = {"protocol": "TCP", "port": 80}
NAMED = "kubernetes.io/metadata.name"


def from_(*peers: dict[str, Any], ports: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    return [{"from": list(peers), **({"ports": ports} if ports else {})}]


def to(*peers: dict[str, Any], ports: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    return [{"to": list(peers), **({"ports": ports} if ports else {})}]


def into_a(*sources: str) -> Allowed:
    """Only these may reach x/a; everything else is open."""
    return lambda source, name: name != "x/a" or source in sources


def out_of_a(*names: str) -> Allowed:
    """x/a may reach only these; everything else is open."""
    return lambda source, name: source != "x/a" or name in names


IN = ["Ingress"]
OUT = ["Egress"]
CASES: dict[str, tuple[list[dict[str, Any]], Allowed]] = {
    "deny all ingress": (
        [policy("p", policyTypes=IN)],
        lambda source, name: space(name) != "x",
    ),
    "deny all egress": (
        [policy("p", policyTypes=OUT)],
        lambda source, name: space(source) != "x",
    ),
    "deny all": (
        [policy("p", policyTypes=[*IN, *OUT])],
        lambda source, name: "x" not in (space(source), space(name)),
    ),
    "allow all ingress beside deny all": (
        [policy("p", policyTypes=IN), policy("q", ingress=[{}])],
        lambda source, name: True,
    ),
    "allow all egress beside deny all": (
        [policy("p", policyTypes=OUT), policy("q", policyTypes=OUT, egress=[{}])],
        lambda source, name: True,
    ),
    "pods of the same namespace": (
        [policy("p", podSelector=A, ingress=from_({"podSelector": B}))],
        into_a("x/b"),
    ),
    "all pods of the same namespace": (
        [policy("p", ingress=from_({"podSelector": {}}))],
        lambda source, name: space(name) != "x" or space(source) == "x",
    ),
    "ingress for one target beside deny all": (
        [
            policy("p", policyTypes=IN),
            policy("q", podSelector=A, ingress=from_({"podSelector": {}, "namespaceSelector": {}})),
        ],
        lambda source, name: space(name) != "x" or (name == "x/a" and source in PODS),
    ),
    "pods of all namespaces": (
        [policy("p", podSelector=A, ingress=from_({"namespaceSelector": {}}))],
        into_a(*PODS),
    ),
    "another namespace by label": (
        [policy("p", podSelector=A, ingress=from_({"namespaceSelector": labelled(ns="y")}))],
        into_a("y/a", "y/b", "y/c"),
    ),
    "another namespace by name": (
        [policy("p", podSelector=A, ingress=from_({"namespaceSelector": labelled(**{NAMED: "y"})}))],
        into_a("y/a", "y/b", "y/c"),
    ),
    "namespaces by expression": (
        [policy("p", podSelector=A, ingress=from_({"namespaceSelector": ONLY_Y}))],
        into_a("y/a", "y/b", "y/c"),
    ),
    "two peers": (
        [policy("p", podSelector=A, ingress=from_({"namespaceSelector": NOT_X}, {"podSelector": B}))],
        into_a("x/b", *(name for name in PODS if space(name) != "x")),
    ),
    "both selectors in one peer": (
        [policy("p", podSelector=A, ingress=from_({"namespaceSelector": NOT_X, "podSelector": B}))],
        into_a("y/b", "z/b"),
    ),
    "overlapping policies": (
        [
            policy("p", podSelector=A, ingress=from_({"podSelector": B})),
            policy(
                "q",
                podSelector={"matchExpressions": [{"key": "pod", "operator": "In", "values": ["a", "b"]}]},
                ingress=from_({"namespaceSelector": labelled(ns="z"), "podSelector": labelled(pod="c")}),
            ),
        ],
        lambda source, name: {"x/a": source in ("x/b", "z/c"), "x/b": source == "z/c"}.get(name, True),
    ),
    "a port for some and another for others": (
        [
            policy("p", podSelector=A, ingress=from_({"podSelector": B}, ports=[TCP_80])),
            policy("q", podSelector=A, ingress=from_({"podSelector": {}}, ports=[{"port": 81}])),
        ],
        into_a("x/b"),
    ),
    "named port of the destination": (
        [policy("p", podSelector=A, ingress=from_({"podSelector": B}, ports=[{"port": "serve-80-tcp"}]))],
        into_a("x/b"),
    ),
    "unknown named port": (
        [policy("p", podSelector=A, ingress=from_({"podSelector": B}, ports=[{"port": "other"}]))],
        into_a(),
    ),
    "named port of another protocol": (
        [policy("p", podSelector=A, ingress=from_({"podSelector": B}, ports=[{"port": "serve-80-udp"}]))],
        into_a(),
    ),
    "named port of egress": (
        [
            policy(
                "p",
                podSelector=A,
                policyTypes=OUT,
                egress=to({"namespaceSelector": labelled(ns="y")}, ports=[{"port": "serve-80-tcp"}]),
            )
        ],
        out_of_a("y/a", "y/b", "y/c"),
    ),
    "port range": (
        [policy("p", podSelector=A, ingress=from_({"podSelector": B}, ports=[{"port": 79, "endPort": 80}]))],
        into_a("x/b"),
    ),
    "port range beside the port": (
        [policy("p", podSelector=A, ingress=from_({"podSelector": B}, ports=[{"port": 81, "endPort": 90}]))],
        into_a(),
    ),
    "only another protocol": (
        [policy("p", podSelector=A, ingress=[{"ports": [{"protocol": "UDP"}]}])],
        into_a(),
    ),
    "only SCTP": (
        [policy("p", podSelector=A, ingress=[{"ports": [{"protocol": "SCTP", "port": 80}]}])],
        into_a(),
    ),
    "egress to both selectors in one peer": (
        [
            policy(
                "p",
                podSelector=A,
                policyTypes=OUT,
                egress=to({"namespaceSelector": labelled(ns="y"), "podSelector": B}),
            )
        ],
        out_of_a("y/b"),
    ),
    "egress and ingress must both allow": (
        [
            policy("p", podSelector=A, policyTypes=OUT, egress=to({"namespaceSelector": labelled(ns="y")})),
            policy("q", "y", podSelector=A, ingress=from_({"podSelector": B})),
        ],
        lambda source, name: (source != "x/a" or space(name) == "y") and (name != "y/a" or source == "y/b"),
    ),
    "IP blocks select what selectors do not": (
        [policy("p", podSelector=A, ingress=from_({"ipBlock": {"cidr": "198.51.100.0/24"}}))],
        into_a(OUTSIDE),
    ),
    "IP block with an exception": (
        [
            policy(
                "p",
                podSelector=A,
                ingress=from_({"ipBlock": {"cidr": "0.0.0.0/0", "except": ["198.51.100.0/30"]}}),
            )
        ],
        into_a(*PODS),
    ),
    "exception of one block in another": (
        [
            policy(
                "p",
                podSelector=A,
                ingress=from_(
                    {"ipBlock": {"cidr": "198.51.100.0/24", "except": ["198.51.100.0/30"]}},
                    {"ipBlock": {"cidr": "198.51.100.2/32"}},
                ),
            )
        ],
        into_a(OUTSIDE),
    ),
    "types without rules": (
        [policy("p", podSelector=A, policyTypes=OUT, ingress=from_({"podSelector": B}))],
        out_of_a(),
    ),
    "no pod selected": (
        [policy("p", podSelector=labelled(pod="none"), policyTypes=[*IN, *OUT])],
        lambda source, name: True,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_everything_that_must_be_closed_is_closed(world: PolicyCluster, case: str) -> None:
    manifests, allowed = CASES[case]
    with world.policies(*manifests):
        world.check(allowed)


def test_everything_is_open_without_policies(world: PolicyCluster) -> None:
    world.settle()
    world.check(lambda source, name: True)
    world.check(lambda source, name: True, protocol=UDP)


def test_datagrams_are_filtered(world: PolicyCluster) -> None:
    ports = [{"protocol": "UDP", "port": 80}]
    with world.policies(policy("p", podSelector=A, ingress=from_({"podSelector": B}, ports=ports))):
        world.check(into_a("x/b"), protocol=UDP)
        world.check(into_a(), protocol=UDP, port=81)
        world.check(into_a())

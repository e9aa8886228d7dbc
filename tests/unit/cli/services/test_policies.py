"""Explanations of Services whose pods NetworkPolicies isolate."""

from __future__ import annotations

from typing import Any

import pytest

from podling.cli.services.policies import peer_text
from tests.support.ailing_services import ask, pod, policy, service, slice_of

HTTP = {"port": 8080, "protocol": "TCP"}
FRONT = {"podSelector": {"matchLabels": {"app": "front"}}}


def denying(*policies: Any) -> Any:
    return ask(service(), [pod()], [slice_of(True)], policies=policies)


@pytest.mark.parametrize(
    "ingress",
    [
        [],
        [{"ports": [{"port": 9090}]}],
        [{"ports": [{"port": 8080, "protocol": "UDP"}]}],
        [{"ports": [{"port": "x"}]}],
    ],
)
def test_policy_that_allows_no_peer_on_the_port_is_named(ingress: list[Any]) -> None:
    answer = denying(policy("deny", podSelector={"matchLabels": {"app": "web"}}, ingress=ingress))
    assert (answer.area, answer.reason, answer.healthy) == ("policy", "NetworkPolicy", False)
    assert "NetworkPolicy deny isolates pod web-1, and no rule allows its port 8080/TCP" in answer.text
    assert "kubectl edit networkpolicy deny -n shop" in answer.advice


@pytest.mark.parametrize(
    "ingress",
    [
        [{}],
        [{"ports": [HTTP]}],
        [{"ports": [{"port": 8000, "endPort": 8100}]}],
        [{"ports": [{"port": "http"}]}],
        [{"ports": [{}]}],
    ],
)
def test_policy_that_allows_the_port_leaves_service_healthy(ingress: list[Any]) -> None:
    answer = denying(policy("allow", podSelector={}, ingress=ingress))
    assert answer.healthy
    assert "Not every client" not in answer.text


def test_policies_add_up() -> None:
    both = policy("deny", podSelector={}), policy("allow", podSelector={}, ingress=[{"ports": [HTTP]}])
    assert denying(*both).healthy


@pytest.mark.parametrize(
    "other",
    [
        policy("egress", podSelector={}, policyTypes=["Egress"]),
        policy("other", podSelector={"matchLabels": {"app": "db"}}),
    ],
)
def test_policies_about_others_do_not_count(other: Any) -> None:
    assert denying(other).healthy


def test_healthy_service_names_the_peers_that_policies_admit() -> None:
    answer = denying(policy("front", podSelector={}, ingress=[{"from": [FRONT], "ports": [HTTP]}]))
    assert answer.healthy
    assert answer.text.endswith(
        "Not every client may connect, though: NetworkPolicy front admits to port 80/TCP only pods "
        "app=front of its namespace."
    )
    assert answer.evidence[-1].name == "networkpolicy front"


@pytest.mark.parametrize(
    ("peer", "text"),
    [
        (
            {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}},
            "addresses in 10.0.0.0/8 without 10.1.0.0/16",
        ),
        ({"namespaceSelector": {}}, "every pod of every namespace"),
        (
            {"namespaceSelector": {"matchLabels": {"team": "a"}}} | FRONT,
            "pods app=front of namespaces team=a",
        ),
        (
            {"podSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}]}},
            "pods a In (b,c) of its namespace",
        ),
    ],
)
def test_peers_are_described_in_words(peer: dict[str, Any], text: str) -> None:
    found = policy("p", podSelector={}, ingress=[{"from": [peer]}]).spec.ingress[0].from_[0]
    assert peer_text(found) == text

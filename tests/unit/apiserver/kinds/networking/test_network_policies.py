"""Tests of the rules of NetworkPolicies."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.networking_v1 import NetworkPolicy
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import Cause, KindRow, forbidden, invalid, required, unsupported
from tests.support.manifests import NOW, created, creation_causes, obj, rules

VALID: dict[type[Any], dict[str, Any]] = {
    NetworkPolicy: {"metadata": {"name": "x", "namespace": "default"}, "spec": {"podSelector": {}}},
}


@pytest.mark.parametrize(("kind", "plain"), VALID.items())
def test_valid_network_policy_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


def from_peer(peer: str) -> str:
    return f"spec: {{ingress: [{{from: [{peer}]}}]}}"


def on_port(port: str) -> str:
    return f"spec: {{egress: [{{ports: [{port}]}}]}}"


MUST_BE_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
INVALID: list[KindRow] = [
    (
        NetworkPolicy,
        "spec: {policyTypes: [Ingress, Outgress]}",
        [unsupported("spec.policyTypes[1]", "Outgress", "Ingress", "Egress")],
    ),
    (
        NetworkPolicy,
        "spec: {policyTypes: [Ingress, Egress, Ingress]}",
        [
            invalid(
                "spec.policyTypes",
                '["Ingress","Egress","Ingress"]',
                "may not specify more than two policyTypes",
            )
        ],
    ),
    (NetworkPolicy, from_peer("{}"), [required("spec.ingress[0].from[0]", "must specify a peer")]),
    (
        NetworkPolicy,
        from_peer("{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}"),
        [forbidden("spec.ingress[0].from[0]", "may not specify both ipBlock and another peer")],
    ),
    (NetworkPolicy, from_peer("{ipBlock: {cidr: ''}}"), [required("spec.ingress[0].from[0].ipBlock.cidr")]),
    (
        NetworkPolicy,
        from_peer("{ipBlock: {cidr: 10.0.0.0}}"),
        [invalid("spec.ingress[0].from[0].ipBlock.cidr", '"10.0.0.0"', MUST_BE_CIDR)],
    ),
    (
        NetworkPolicy,
        from_peer("{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16, 10.0.0.0/8, 11.0.0.0/16]}}"),
        [
            invalid(
                f"spec.ingress[0].from[0].ipBlock.except[{at}]",
                f'"{block}"',
                "must be a strict subset of `cidr`",
            )
            for at, block in ((1, "10.0.0.0/8"), (2, "11.0.0.0/16"))
        ],
    ),
    (
        NetworkPolicy,
        on_port("{protocol: ICMP}"),
        [unsupported("spec.egress[0].ports[0].protocol", "ICMP", "TCP", "UDP", "SCTP")],
    ),
    (
        NetworkPolicy,
        on_port("{endPort: 90}"),
        [
            invalid(
                "spec.egress[0].ports[0].endPort", "90", "may not be specified when `port` is not specified"
            )
        ],
    ),
    (
        NetworkPolicy,
        on_port("{port: http, endPort: 90}"),
        [invalid("spec.egress[0].ports[0].endPort", "90", "may not be specified when `port` is non-numeric")],
    ),
    (
        NetworkPolicy,
        on_port("{port: 91, endPort: 90}"),
        [invalid("spec.egress[0].ports[0].endPort", "91", "must be greater than or equal to `port`")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_network_policy_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


NEW_OBJECTS: list[KindRow] = [
    (
        NetworkPolicy,
        "spec: {ingress: [{from: [{}]}]}",
        [required("spec.ingress[0].from[0]", "must specify a peer")],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_network_policy_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


ROW = tuple[type[Any], str, list[str]]
WARNINGS: list[ROW] = [
    (
        NetworkPolicy,
        "spec: {ingress: [{from: [{ipBlock: {cidr: '2001:DB8::/32', except: ['2001:DB8::/64']}}]}]}",
        [
            f'spec.ingress[0].from[0].ipBlock.{field}: IPv6 CIDR value "{given}" should be in RFC 5952 '
            f'canonical format ("{given.lower()}")'
            for field, given in (("cidr", "2001:DB8::/32"), ("except[0]", "2001:DB8::/64"))
        ],
    ),
]


def warnings_of(thing: Any, old: Any = None) -> list[str]:
    return rules(type(thing)).warnings(thing, old, Context(NOW))


@pytest.mark.parametrize(("kind", "text", "expected"), WARNINGS)
def test_warnings_about_network_policy_are_returned(kind: type[Any], text: str, expected: list[str]) -> None:
    assert warnings_of(created(obj(kind, text))) == expected

"""Tests of the warnings about IP addresses and CIDRs."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Service
from podling.api.networking_v1 import Ingress
from podling.apiserver.kinds.common.address_warnings import cidr_warnings, ip_warnings
from podling.machinery.fields import Path
from tests.support.manifests import obj, rules

LATER = "will be considered invalid in a future Kubernetes release: use"


def test_load_balancer_address_with_leading_zero_warns() -> None:
    text = "status: {loadBalancer: {ingress: [{hostname: a}, {ip: 010.0.0.1}]}}"
    expected = [f'status.loadBalancer.ingress[1].ip: non-standard IP address "010.0.0.1" {LATER} "10.0.0.1"']
    for kind in (Service, Ingress):
        assert rules(kind).status_warnings(obj(kind, text)) == expected


BLOCKS: list[tuple[str, list[str]]] = [
    ("192.12.2.0/24", []),
    (
        "192.012.2.0/24",
        [f'f: non-standard CIDR value "192.012.2.0/24" {LATER} "192.12.2.0/24"'],
    ),
    ("192.12.2.0/024", [f'f: non-standard CIDR value "192.12.2.0/024" {LATER} "192.12.2.0/24"']),
    (
        "::ffff:192.12.2.0/120",
        [f'f: non-standard CIDR value "::ffff:192.12.2.0/120" {LATER} "192.12.2.0/24"'],
    ),
    (
        "192.12.2.8/24",
        [
            'f: CIDR value "192.12.2.8/24" is ambiguous in this context (should be "192.12.2.0/24" or '
            '"192.12.2.8/32"?)'
        ],
    ),
    ("none", []),
]


@pytest.mark.parametrize(("block", "expected"), BLOCKS)
def test_ambiguous_or_odd_cidr_warns(block: str, expected: list[str]) -> None:
    assert cidr_warnings(Path("f"), block) == expected


def test_ipv4_mapped_address_warns() -> None:
    assert ip_warnings(Path("f"), "::ffff:192.12.2.2") == [
        f'f: non-standard IP address "::ffff:192.12.2.2" {LATER} "192.12.2.2"'
    ]

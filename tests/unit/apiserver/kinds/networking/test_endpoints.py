"""Tests of the rules of Endpoints."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Endpoints
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import SUBDOMAIN_TEXT, Cause, KindRow, invalid, required, unsupported
from tests.support.manifests import NOW, created, creation_causes, obj, rules

IP_TEXT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
LOCAL = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
PORT_TEXT = "must be between 1 and 65535, inclusive"
ADDRESS, PORT, POINT = "subsets[0].addresses[0]", "subsets[0].ports[0]", "endpoints[0]"
INVALID: list[KindRow] = [
    (Endpoints, "", []),
    (
        Endpoints,
        "subsets: [{ports: [{port: 80}]}]",
        [required("subsets[0]", "must specify `addresses` or `notReadyAddresses`")],
    ),
    (
        Endpoints,
        "subsets: [{addresses: [{ip: there, nodeName: A}]}]",
        [
            invalid(f"{ADDRESS}.ip", '"there"', IP_TEXT),
            invalid(f"{ADDRESS}.nodeName", '"A"', SUBDOMAIN_TEXT),
            invalid(f"{ADDRESS}.ip", '"there"', "must be a valid IP address"),
        ],
    ),
    (
        Endpoints,
        "subsets: [{addresses: [{ip: 169.254.1.1}]}]",
        [invalid(f"{ADDRESS}.ip", '"169.254.1.1"', LOCAL)],
    ),
    (
        Endpoints,
        "subsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 0}, {name: a, port: 1, protocol: X}]}]",
        [
            required(f"{PORT}.name"),
            invalid(f"{PORT}.port", "0", PORT_TEXT),
            unsupported("subsets[0].ports[1].protocol", "X", "SCTP", "TCP", "UDP"),
        ],
    ),
]
METADATA: dict[str, Any] = {"name": "x", "namespace": "default"}
VALID: dict[type[Any], dict[str, Any]] = {
    Endpoints: {
        "metadata": METADATA,
        "subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}],
    },
}


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_endpoints_is_refused_with_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


NEW_OBJECTS: list[KindRow] = [
    (
        Endpoints,
        "subsets: [{addresses: [{ip: nowhere}], ports: [{port: 0}]}]",
        [
            invalid(
                "subsets[0].addresses[0].ip",
                '"nowhere"',
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ),
            invalid("subsets[0].addresses[0].ip", '"nowhere"', "must be a valid IP address"),
            invalid("subsets[0].ports[0].port", "0", "must be between 1 and 65535, inclusive"),
        ],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_endpoints_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        Endpoints,
        "subsets: [{addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.2}], ports: [{port: 80}, {port: 81}]}]",
        ["x", "10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more...", "5m"],
    ),
    (Endpoints, "subsets: [{notReadyAddresses: [{ip: 10.0.0.1}]}]", ["x", "", "5m"]),
    (Endpoints, "", ["x", "<none>", "5m"]),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_endpoints_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW)) == expected


ROW = tuple[type[Any], str, list[str]]
LATER = "will be considered invalid in a future Kubernetes release: use"
WARNINGS: list[ROW] = [
    (
        Endpoints,
        "subsets: [{addresses: [{ip: 010.0.0.1}], notReadyAddresses: [{ip: 10.0.0.02}]}]",
        [
            f'subsets[0].addresses[0].ip: non-standard IP address "010.0.0.1" {LATER} "10.0.0.1"',
            f'subsets[0].notReadyAddresses[0].ip: non-standard IP address "10.0.0.02" {LATER} "10.0.0.2"',
        ],
    ),
    (
        Endpoints,
        "{metadata: {labels: {endpoints.kubernetes.io/managed-by: endpoint-controller}}, "
        "subsets: [{addresses: [{ip: 010.0.0.1}]}]}",
        [],
    ),
]


def warnings_of(thing: Any, old: Any = None) -> list[str]:
    return rules(type(thing)).warnings(thing, old, Context(NOW))


@pytest.mark.parametrize(("kind", "text", "expected"), WARNINGS)
def test_warnings_about_endpoints_are_returned(kind: type[Any], text: str, expected: list[str]) -> None:
    assert warnings_of(created(obj(kind, text))) == expected

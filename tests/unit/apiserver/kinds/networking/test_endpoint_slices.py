"""Tests of the rules of EndpointSlices."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.discovery_v1 import EndpointSlice
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import (
    SUBDOMAIN_TEXT,
    Cause,
    KindRow,
    duplicate,
    invalid,
    required,
    too_many,
    unsupported,
)
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules


def endpoint(text: str) -> str:
    return f"endpoints: [{{addresses: [10.0.0.1], {text}}}]"


IP_TEXT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
ZONES = ", ".join(f"{{name: z{number}}}" for number in range(9))
ADDRESS, PORT, POINT = "subsets[0].addresses[0]", "subsets[0].ports[0]", "endpoints[0]"
INVALID: list[KindRow] = [
    (EndpointSlice, "", []),
    (EndpointSlice, "addressType: ''", [required("addressType")]),
    (EndpointSlice, "addressType: IP", [unsupported("addressType", "IP", "FQDN", "IPv4", "IPv6")]),
    (
        EndpointSlice,
        "endpoints: [{addresses: []}]",
        [required(f"{POINT}.addresses", "must contain at least 1 address")],
    ),
    (
        EndpointSlice,
        "endpoints: [{addresses: ['2001:db8::1', 0.0.0.0]}]",
        [
            invalid(f"{POINT}.addresses[0]", '"2001:db8::1"', "must be an IPv4 address"),
            invalid(f"{POINT}.addresses[1]", '"0.0.0.0"', "may not be unspecified (0.0.0.0)"),
        ],
    ),
    (
        EndpointSlice,
        endpoint("hints: {forZones: [{name: a}, {name: a}], forNodes: [{name: A}]}"),
        [
            duplicate(f"{POINT}.hints.forZones[1].name", '"a"'),
            invalid(f"{POINT}.hints.forNodes[0].name", '"A"', SUBDOMAIN_TEXT),
        ],
    ),
    (
        EndpointSlice,
        endpoint(f"hints: {{forZones: [{ZONES}]}}"),
        [too_many(f"{POINT}.hints.forZones", 9, 8)],
    ),
    (
        EndpointSlice,
        "endpoints: [{addresses: [here, 010.0.0.1]}]",
        [
            invalid(f"{POINT}.addresses[0]", '"here"', IP_TEXT),
            invalid(f"{POINT}.addresses[0]", '"here"', "must be a valid IP address"),
            invalid(f"{POINT}.addresses[1]", '"010.0.0.1"', "must not have leading 0s"),
        ],
    ),
    (
        EndpointSlice,
        "{addressType: FQDN, endpoints: [{addresses: [a.example.com., '', a, a_b]}]}",
        [
            required(f"{POINT}.addresses[1]"),
            invalid(
                f"{POINT}.addresses[2]",
                '"a"',
                "should be a domain with at least two segments separated by dots",
            ),
            invalid(f"{POINT}.addresses[3]", '"a_b"', SUBDOMAIN_TEXT),
        ],
    ),
    (EndpointSlice, "ports: [{port: 80}, {port: 81}]", [duplicate("ports[1].name", '""')]),
    (EndpointSlice, "ports: [{protocol: X}]", [unsupported("ports[0].protocol", "X", "SCTP", "TCP", "UDP")]),
]
METADATA: dict[str, Any] = {"name": "x", "namespace": "default"}
VALID: dict[type[Any], dict[str, Any]] = {
    EndpointSlice: {
        "metadata": METADATA,
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"]}],
        "ports": [{"port": 80}],
    },
}


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_endpoint_slice_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


@pytest.mark.parametrize(
    ("kind", "text", "subresource", "expected"),
    [
        (
            EndpointSlice,
            "{addressType: FQDN, endpoints: []}",
            "",
            [invalid("addressType", '"FQDN"', "field is immutable")],
        ),
    ],
)
def test_change_of_endpoint_slice_is_validated(
    kind: type[Any], text: str, subresource: str, expected: list[Cause]
) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old, subresource) == expected


NEW_OBJECTS: list[KindRow] = [
    (
        EndpointSlice,
        "addressType: IPv6\nendpoints: [{addresses: [10.0.0.1]}]",
        [invalid("endpoints[0].addresses[0]", '"10.0.0.1"', "must be an IPv6 address")],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_endpoint_slice_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        EndpointSlice,
        "addressType: IPv4\nports: [{port: 80}]\nendpoints: [{addresses: [10.0.0.1]}]",
        ["x", "IPv4", "80", "10.0.0.1", "5m"],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_endpoint_slice_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW)) == expected


def test_generation_of_endpoint_slice_counts_content() -> None:
    old = created(obj(EndpointSlice, f"{AGED}\naddressType: IPv4"))
    assert old.metadata.generation == 1
    own, context = rules(EndpointSlice), Context(NOW)
    assert own.prepare_update(old, old, context).metadata.generation == 1
    changed = own.default(obj(EndpointSlice, f"{AGED}\naddressType: IPv4\nports: [{{port: 80}}]"))
    assert own.prepare_update(changed, old, context).metadata.generation == 2
    labelled = own.default(obj(EndpointSlice, f"{AGED}\naddressType: IPv4\nmetadata: {{labels: {{a: b}}}}"))
    assert own.prepare_update(labelled, old, context).metadata.generation == 2


def test_deprecated_topology_of_endpoint_cannot_be_written() -> None:
    def with_topology(address: str) -> EndpointSlice:
        points = f"endpoints: [{{addresses: [{address}], deprecatedTopology: {{a: b}}}}]"
        made: EndpointSlice = obj(EndpointSlice, f"{AGED}\naddressType: IPv4\n{points}")
        return made

    made = created(with_topology("10.0.0.1"))
    assert made.endpoints[0].deprecated_topology == {}
    stored, own, context = with_topology("10.0.0.1"), rules(EndpointSlice), Context(NOW)
    assert own.prepare_update(stored, stored, context).endpoints[0].deprecated_topology == {"a": "b"}
    changed = with_topology("10.0.0.2")
    assert own.prepare_update(changed, stored, context).endpoints[0].deprecated_topology == {}


ROW = tuple[type[Any], str, list[str]]
LATER = "will be considered invalid in a future Kubernetes release: use"
WARNINGS: list[ROW] = [
    (
        EndpointSlice,
        "{addressType: IPv4, endpoints: [{addresses: [10.0.0.1, 010.0.0.1]}]}",
        [f'endpoints[0].addresses[1]: non-standard IP address "010.0.0.1" {LATER} "10.0.0.1"'],
    ),
    (
        EndpointSlice,
        "{addressType: FQDN, endpoints: [{addresses: [a.example.com]}]}",
        ["spec.addressType: FQDN endpoints are deprecated"],
    ),
]


def warnings_of(thing: Any, old: Any = None) -> list[str]:
    return rules(type(thing)).warnings(thing, old, Context(NOW))


@pytest.mark.parametrize(("kind", "text", "expected"), WARNINGS)
def test_warnings_about_endpoint_slice_are_returned(kind: type[Any], text: str, expected: list[str]) -> None:
    assert warnings_of(created(obj(kind, text))) == expected


CELLS: list[tuple[type[Any], str, list[Any]]] = [
    (
        EndpointSlice,
        "addressType: IPv4\nports: [{name: a}, {}, {port: 80}]",
        ["x", "IPv4", "a,*,80", "<unset>", "5m"],
    ),
]
AGED_IN_CLUSTER = "metadata: {name: x, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "given", "expected"), CELLS)
def test_cells_of_endpoint_slice_follow_kubernetes(kind: type[Any], given: str, expected: list[Any]) -> None:
    thing = obj(
        kind,
        given if "metadata" in given else f"{AGED_IN_CLUSTER}\n{given}" if given != "{}" else AGED_IN_CLUSTER,
    )
    assert list(rules(kind).row(thing, NOW))[: len(expected)] == expected

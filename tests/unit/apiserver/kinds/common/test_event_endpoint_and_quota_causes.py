"""What is wrong with events of either group, endpoints, quotas and the finalizers of namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api import events_v1
from podling.api.core_v1 import Endpoints, Event, Namespace, ResourceQuota
from podling.api.discovery_v1 import EndpointSlice
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import (
    SUBDOMAIN_TEXT,
    Cause,
    KindRow,
    causes,
    duplicate,
    invalid,
    required,
    too_many,
    unsupported,
)
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

META: dict[str, Any] = {"name": "x", "namespace": "default"}
NEW_STYLE: dict[str, Any] = {
    "eventTime": "2026-01-01T12:00:00.000000Z",
    "reportingComponent": "example.com/controller",
    "reportingInstance": "controller-1",
    "action": "Binding",
    "reason": "Scheduled",
    "type": "Normal",
}
VALID: dict[type[Any], dict[str, Any]] = {
    Event: {"metadata": META, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}},
    Endpoints: {
        "metadata": META,
        "subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}],
    },
    EndpointSlice: {
        "metadata": META,
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"]}],
        "ports": [{"port": 80}],
    },
    ResourceQuota: {"metadata": META, "spec": {"hard": {"pods": "1"}}},
    Namespace: {"metadata": {"name": "x"}},
}
IP_TEXT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
PORT_TEXT = "must be between 1 and 65535, inclusive"
LOCAL = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
ADDRESS, PORT, POINT = "subsets[0].addresses[0]", "subsets[0].ports[0]", "endpoints[0]"
SCOPES, SELECTED = "spec.scopes", "spec.scopeSelector.matchExpressions"
EMPTY_NAME = (
    "name part must be non-empty",
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
)
ACTIVE = "may only be 'Active' if `deletionTimestamp` is empty"
NO_SCOPE = "unsupported scope applied to resource"
LONG = "a" * 129
ZONES = ", ".join(f"{{name: z{number}}}" for number in range(9))


def selecting(expression: str) -> str:
    return f"spec: {{scopeSelector: {{matchExpressions: [{{{expression}}}]}}}}"


def endpoint(text: str) -> str:
    return f"endpoints: [{{addresses: [10.0.0.1], {text}}}]"


ROWS: list[KindRow] = [
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
    (ResourceQuota, "", []),
    (
        ResourceQuota,
        "spec: {scopes: [Terminating, NotTerminating, Some]}",
        [invalid(SCOPES, '["Terminating","NotTerminating","Some"]', text) for text in (
            "unsupported scope", "conflicting scopes"
        )],
    ),
    (
        ResourceQuota,
        "spec: {hard: {services: 1}, scopes: [BestEffort]}",
        [invalid(SCOPES, '["BestEffort"]', NO_SCOPE)],
    ),
    (
        ResourceQuota,
        selecting("scopeName: Terminating, operator: In, values: [a]"),
        [
            invalid(
                f"{SELECTED}.operator",
                '"In"',
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
            )
        ],
    ),
    (
        ResourceQuota,
        selecting("scopeName: PriorityClass, operator: In"),
        [
            required(
                f"{SELECTED}.values",
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )
        ],
    ),
    (
        ResourceQuota,
        selecting("scopeName: PriorityClass, operator: Exists, values: [a]"),
        [
            invalid(
                f"{SELECTED}.values",
                '["a"]',
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )
        ],
    ),
    (
        ResourceQuota,
        selecting("scopeName: PriorityClass, operator: Is"),
        [invalid(f"{SELECTED}.operator", '"Is"', "not a valid selector operator")],
    ),
    (
        Namespace,
        "spec: {finalizers: [mine]}",
        [
            invalid(
                "spec.finalizers",
                '"mine"',
                "name is neither a standard finalizer name nor is it fully qualified",
            )
        ],
    ),
    (
        Event,
        "involvedObject: {namespace: other}",
        [invalid("involvedObject.namespace", '"other"', "does not match event.namespace")],
    ),
    (
        Event,
        "eventTime: '2026-01-01T12:00:00.000000Z'",
        [
            required("reportingComponent"),
            *[invalid("reportingComponent", '""', text) for text in EMPTY_NAME],
            required("reportingInstance"),
            required("action"),
            required("reason"),
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


def new_event(text: str) -> Event:
    made: Event = obj(Event, text, {**VALID[Event], **NEW_STYLE})
    return made


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("eventTime: null", [required("eventTime")]),
        ("type: Bad", [invalid("type", '""', "has invalid value: Bad")]),
        (f"action: {LONG}", [invalid("action", '""', "can have at most 128 characters")]),
        (f"message: {'m' * 1025}", [invalid("message", '""', "can have at most 1024 characters")]),
        ("count: 1", [invalid("count", '""', "needs to be unset")]),
        ("source: {component: c}", [invalid("source", '""', "needs to be unset")]),
        (
            "series: {count: 1}",
            [invalid("series.count", '""', "should be at least 2"), required("series.lastObservedTime")],
        ),
    ],
)
def test_events_of_the_newer_group(text: str, expected: list[Cause]) -> None:
    own = rules_of_the_newer_group()
    assert causes(own.validate(new_event(text), Context(NOW))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("series: {count: 2, lastObservedTime: '2026-01-01T12:00:00.000000Z'}", []),
        ("reason: Other", [invalid("reason", '"Other"', "field is immutable")]),
        ("type: Warning", [invalid("type", '"Warning"', "field is immutable")]),
    ],
)
def test_newer_events_only_change_their_series(text: str, expected: list[Cause]) -> None:
    own = rules_of_the_newer_group()
    assert causes(own.validate_update(new_event(text), new_event(""), Context(NOW))) == expected


def rules_of_the_newer_group() -> Any:
    return rules(events_v1.Event)


@pytest.mark.parametrize(
    ("kind", "text", "subresource", "expected"),
    [
        (
            EndpointSlice,
            "{addressType: FQDN, endpoints: []}",
            "",
            [invalid("addressType", '"FQDN"', "field is immutable")],
        ),
        (
            ResourceQuota,
            "spec: {scopes: [Terminating]}",
            "",
            [invalid(SCOPES, '["Terminating"]', "field is immutable")],
        ),
        (
            ResourceQuota,
            "status: {hard: {gpus: 1}}",
            "status",
            [
                invalid("status.hard[gpus]", '"gpus"', "must be a standard resource type or fully qualified"),
                invalid("status.hard[gpus]", '"gpus"', "must be a standard resource for quota"),
            ],
        ),
        (Namespace, "spec: {finalizers: [mine]}", "", []),
        (
            Namespace,
            "spec: {finalizers: [mine]}",
            "finalize",
            [
                invalid(
                    "spec.finalizers[0]",
                    '"mine"',
                    "name is neither a standard finalizer name nor is it fully qualified",
                )
            ],
        ),
        (
            Namespace,
            "status: {phase: Terminating}",
            "status",
            [
                invalid(
                    "status.Phase", '"Terminating"', "may only be 'Active' if `deletionTimestamp` is empty"
                )
            ],
        ),
    ],
)
def test_changes(kind: type[Any], text: str, subresource: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old, subresource) == expected

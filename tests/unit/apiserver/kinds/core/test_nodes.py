"""Tests of the rules of Nodes."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Node
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import (
    SUBDOMAIN_TEXT,
    Cause,
    KindRow,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

NAMED = "metadata: {name: x, namespace: default}"
NEW_OBJECTS: list[KindRow] = [
    (
        Node,
        f"{NAMED}\nspec: {{taints: [{{key: a, effect: Never}}, {{key: b, effect: NoSchedule}}, "
        "{key: b, effect: NoSchedule}]}",
        [
            unsupported("metadata.taints[0].effect", "Never", "NoSchedule", "PreferNoSchedule", "NoExecute"),
            duplicate(
                "metadata.taints[2]",
                '{"effect":"NoSchedule","key":"b"}: taints must be unique by key and effect pair',
            ),
        ],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_node_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text))) == expected


@pytest.mark.parametrize(
    ("kind", "before", "after", "expected"),
    [
        (
            Node,
            "spec: {podCIDRs: [10.0.0.0/24]}",
            "spec: {podCIDRs: [10.0.1.0/24]}",
            [forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')],
        ),
        (Node, "", "spec: {podCIDRs: [10.0.1.0/24], unschedulable: true}", []),
        (
            Node,
            "",
            "spec: {podCIDRs: [10.0.1.1/24]}",
            [invalid("spec.podCIDRs[0]", '"10.0.1.1/24"', "must not have bits set beyond the prefix length")],
        ),
        (
            Node,
            "",
            "spec: {configSource: {configMap: {uid: u, name: A, namespace: default}}}\n"
            "status: {config: {active: {}}}",
            [
                forbidden("spec.configSource.configMap.uid", "uid must not be set in spec"),
                invalid("spec.configSource.configMap.name", '"A"', SUBDOMAIN_TEXT),
                required("spec.configSource.configMap.kubeletConfigKey", "kubeletConfigKey must be set"),
            ],
        ),
    ],
)
def test_change_of_node_is_validated(kind: type[Any], before: str, after: str, expected: list[Cause]) -> None:
    old = created(obj(kind, f"{NAMED}\n{before}"))
    assert change_causes(obj(kind, f"{NAMED}\n{after}"), old) == expected


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        Node,
        "",
        ["x", "Unknown", "<none>", "5m", "", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"],
    ),
    (
        Node,
        "spec: {unschedulable: true}\nstatus: {conditions: [{type: Ready, status: 'False'}]}",
        ["x", "NotReady,SchedulingDisabled"],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_node_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW))[: len(expected)] == expected


@pytest.mark.parametrize(
    ("name", "valid"), [("node-1.example.com", True), ("Node_1", False), ("a" * 254, False)]
)
def test_name_of_node_is_a_dns_subdomain(name: str, valid: bool) -> None:
    assert (not rules(Node).name_errors(name)) == valid


def test_allocatable_of_node_defaults_to_capacity() -> None:
    node = rules(Node).default(obj(Node, "status: {capacity: {cpu: 4}}"))
    assert node.status.allocatable == {"cpu": "4"}


@pytest.mark.parametrize(
    ("given", "block", "blocks"),
    [
        ("podCIDR: 10.0.0.0/24", "10.0.0.0/24", ("10.0.0.0/24",)),
        ("podCIDRs: [10.0.0.0/24, 'fd00::/64']", "10.0.0.0/24", ("10.0.0.0/24", "fd00::/64")),
        ("podCIDR: 10.0.1.0/24, podCIDRs: [10.0.0.0/24, 'fd00::/64']", "10.0.1.0/24", ("10.0.1.0/24",)),
        ("unschedulable: true", "", ()),
    ],
)
def test_first_pod_cidr_of_node_is_in_both_fields(given: str, block: str, blocks: tuple[str, ...]) -> None:
    spec = rules(Node).default(obj(Node, f"spec: {{{given}}}")).spec
    assert (spec.pod_cidr, spec.pod_cidrs) == (block, blocks)


def test_row_of_ready_node_shows_its_state() -> None:
    text = (
        "metadata: {name: n1, creationTimestamp: '2026-01-01T11:55:00Z', labels: "
        "{node-role.kubernetes.io/control-plane: '', kubernetes.io/role: edge}}\n"
        "status: {conditions: [{type: Ready, status: 'True'}], "
        "addresses: [{type: InternalIP, address: 10.0.0.1}], "
        "nodeInfo: {kubeletVersion: v1.36.0, osImage: Debian, kernelVersion: '6.1', containerRuntimeVersion: podling://1}}"
    )
    assert list(rules(Node).row(obj(Node, text), NOW)) == [
        "n1", "Ready", "control-plane,edge", "5m", "v1.36.0", "10.0.0.1", "<none>", "Debian", "6.1", "podling://1"
    ]  # fmt: skip


ROW = tuple[type[Any], str, list[str]]
WARNINGS: list[ROW] = [
    (
        Node,
        "spec: {externalID: x, configSource: {configMap: {}}, podCIDRs: ['2001:DB8::/64']}",
        [
            "spec.configSource: the feature is removed",
            "spec.externalID: this field is deprecated, and is unused by Kubernetes",
            'spec.podCIDRs[0]: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format '
            '("2001:db8::/64")',
        ],
    ),
]


def warnings_of(thing: Any, old: Any = None) -> list[str]:
    return rules(type(thing)).warnings(thing, old, Context(NOW))


@pytest.mark.parametrize(("kind", "text", "expected"), WARNINGS)
def test_warnings_about_node_are_returned(kind: type[Any], text: str, expected: list[str]) -> None:
    assert warnings_of(created(obj(kind, text))) == expected

"""Nodes, namespaces, configuration, events and services: what is refused, and what their tables say."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import ConfigMap, Event, Namespace, Node, Secret, Service
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.kinds.common.base import Context
from podling.machinery.encoding import codec
from tests.support.causes import (
    SUBDOMAIN_TEXT,
    Cause,
    KindRow,
    causes,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

META = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"
NAMED = "metadata: {name: x, namespace: default}"
SERVICE = "metadata: {name: x, namespace: default}\nspec: {clusterIP: 10.96.0.9, ports: [{port: 80}]"

CAUSES: list[KindRow] = [
    (ConfigMap, f"{NAMED}\ndata: {{a.txt: x, B_-.: y}}", []),
    (
        ConfigMap,
        f"{NAMED}\ndata: {{'a b': x}}",
        [
            invalid(
                "data[a b]",
                '"a b"',
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
                "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                "'[-._a-zA-Z0-9]+')",
            )
        ],
    ),
    (
        ConfigMap,
        f"{NAMED}\ndata: {{a: x}}\nbinaryData: {{a: eA==}}",
        [invalid("data[a]", '"a"', "duplicate of key present in binaryData")],
    ),
    (
        Secret,
        f"{NAMED}\ntype: kubernetes.io/tls\ndata: {{tls.crt: eA==}}",
        [required("data[tls.key]")],
    ),
    (
        Secret,
        f"{NAMED}\ntype: kubernetes.io/dockerconfigjson\ndata: {{.dockerconfigjson: eA==}}",
        [
            invalid(
                "data[.dockerconfigjson]",
                '"<secret contents redacted>"',
                "invalid character 'x' looking for beginning of value",
            )
        ],
    ),
    (
        Secret,
        f"{NAMED}\ntype: kubernetes.io/dockercfg\nstringData: {{.dockercfg: '[]'}}",
        [
            invalid(
                "data[.dockercfg]",
                '"<secret contents redacted>"',
                "json: cannot unmarshal array into Go value of type map[string]interface {}",
            )
        ],
    ),
    (
        Secret,
        f"{NAMED}\ntype: kubernetes.io/basic-auth",
        [required("data[username]"), required("data[password]")],
    ),
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
    (
        Event,
        f"{NAMED}\ninvolvedObject: {{kind: Pod, namespace: other}}",
        [invalid("involvedObject.namespace", '"other"', "does not match event.namespace")],
    ),
    (Event, f"{NAMED}\ninvolvedObject: {{kind: Node, name: n1}}", []),
    (Service, f"{SERVICE}}}", []),
    (Service, NAMED, [required("spec.ports")]),
    (
        Service,
        f"{SERVICE}, type: Magic}}",
        [unsupported("spec.type", "Magic", "ClusterIP", "ExternalName", "LoadBalancer", "NodePort")],
    ),
    (
        Service,
        f"{NAMED}\nspec: {{ports: [{{port: 80}}, {{port: 80, name: b}}]}}",
        [
            required("spec.ports[0].name"),
            duplicate("spec.ports[1]", '{"port":80,"protocol":"TCP"}'),
        ],
    ),
    (
        Service,
        f"{NAMED}\nspec: {{ports: [{{port: 80, nodePort: 30000}}]}}",
        [forbidden("spec.ports[0].nodePort", "may not be used when `type` is 'ClusterIP'")],
    ),
    (
        Service,
        f"{NAMED}\nspec: {{type: ExternalName}}",
        [required("spec.externalName")],
    ),
    (
        Service,
        f"{SERVICE}, sessionAffinity: ClientIP, sessionAffinityConfig: {{clientIP: {{timeoutSeconds: 0}}}}}}",
        [
            invalid(
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
                "0",
                "must be greater than 0 and less than 86400",
            )
        ],
    ),
    (
        Service,
        f"{SERVICE}, externalIPs: [127.0.0.1]}}",
        [
            invalid(
                "spec.externalIPs[0]",
                '"127.0.0.1"',
                "may not be in the loopback range (127.0.0.0/8, ::1/128)",
            )
        ],
    ),
    (
        Service,
        f"{SERVICE}, externalTrafficPolicy: Local}}",
        [
            invalid(
                "spec.externalTrafficPolicy", '"Local"', "may only be set for externally-accessible services"
            )
        ],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CAUSES)
def test_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text))) == expected


@pytest.mark.parametrize(
    ("kind", "before", "after", "expected"),
    [
        (
            ConfigMap,
            "immutable: true\ndata: {a: x}",
            "immutable: false\ndata: {a: y}",
            [
                forbidden("immutable", "field is immutable when `immutable` is set"),
                forbidden("data", "field is immutable when `immutable` is set"),
            ],
        ),
        (
            Secret,
            "type: Opaque",
            "type: other",
            [invalid("type", '"other"', "field is immutable")],
        ),
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
def test_what_may_not_change(kind: type[Any], before: str, after: str, expected: list[Cause]) -> None:
    old = created(obj(kind, f"{NAMED}\n{before}"))
    assert change_causes(obj(kind, f"{NAMED}\n{after}"), old) == expected


def test_a_services_defaults_that_depend_on_others() -> None:
    config = "sessionAffinityConfig: {clientIP: {timeoutSeconds: 5}}"
    sticky = obj(Service, f"{SERVICE}, sessionAffinity: ClientIP, {config}}}")
    assert rules(Service).default(sticky).spec.session_affinity_config == sticky.spec.session_affinity_config
    loose = obj(Service, f"{SERVICE}, {config}}}")
    assert rules(Service).default(loose).spec.session_affinity_config is None
    status = "status: {loadBalancer: {ingress: [{ip: 10.0.0.1}, {hostname: a.b}]}}"
    balanced = rules(Service).default(obj(Service, f"{SERVICE}, type: LoadBalancer}}\n{status}"))
    assert [each.ip_mode for each in balanced.status.load_balancer.ingress] == ["VIP", None]


def test_configuration_is_one_mebibyte_at_most() -> None:
    full = ConfigMap(metadata=ObjectMeta(name="x", namespace="default"), data={"a": "x" * 2**20})
    assert creation_causes(created(full)) == []
    over = created(structs.replace(full, data={**full.data, "b": "y"}))
    assert creation_causes(over) == [
        ("[]", "FieldValueTooLong", "Too long: may not be more than 1048576 bytes")
    ]


def test_string_data_is_merged_and_gone() -> None:
    secret = created(obj(Secret, f"{NAMED}\ndata: {{a: b2xk}}\nstringData: {{a: new, b: more}}"))
    assert codec.to_plain(secret)["data"] == {"a": "bmV3", "b": "bW9yZQ=="}
    assert (secret.string_data, secret.type) == ({}, "Opaque")


def test_a_namespace_begins_active_with_its_finalizer_and_label() -> None:
    namespace = created(obj(Namespace, "metadata: {name: team}\nspec: {finalizers: [example.com/x]}"))
    assert namespace.status.phase == "Active"
    assert namespace.spec.finalizers == ("example.com/x", "kubernetes")
    assert namespace.metadata.labels == {"kubernetes.io/metadata.name": "team"}


def test_only_finalize_changes_a_namespaces_finalizers() -> None:
    own, old = rules(Namespace), created(obj(Namespace, "metadata: {name: team}"))
    emptied = obj(Namespace, "metadata: {name: team}")
    assert own.prepare_update(emptied, old, Context(NOW)).spec.finalizers == ("kubernetes",)
    finalized = own.prepare_update(emptied, old, Context(NOW, subresource="finalize"))
    assert finalized.spec.finalizers == ()
    assert finalized.status.phase == "Active"
    assert own.has_other_finalizers(old)
    assert not own.has_other_finalizers(finalized)
    assert own.mark_deleted(old).status.phase == "Terminating"


def test_a_namespace_terminates_only_when_it_is_deleted() -> None:
    old = created(obj(Namespace, "metadata: {name: team}"))
    new = obj(Namespace, "metadata: {name: team}\nstatus: {phase: Terminating}")
    assert causes(rules(Namespace).validate_update(new, old, Context(NOW, subresource="status"))) == [
        invalid("status.Phase", '"Terminating"', "may only be 'Active' if `deletionTimestamp` is empty")
    ]


@pytest.mark.parametrize(
    ("name", "valid"), [("node-1.example.com", True), ("Node_1", False), ("a" * 254, False)]
)
def test_names_of_nodes_are_dns_subdomains(name: str, valid: bool) -> None:
    assert (not rules(Node).name_errors(name)) == valid


def test_allocatable_defaults_to_capacity() -> None:
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
def test_a_nodes_first_block_of_addresses_stands_in_two_fields(
    given: str, block: str, blocks: tuple[str, ...]
) -> None:
    spec = rules(Node).default(obj(Node, f"spec: {{{given}}}")).spec
    assert (spec.pod_cidr, spec.pod_cidrs) == (block, blocks)


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (Namespace, "status: {phase: Active}", ["x", "Active", "5m"]),
    (ConfigMap, "data: {a: x}\nbinaryData: {b: eA==}", ["x", 2, "5m"]),
    (Secret, "type: Opaque\ndata: {a: eA==}", ["x", "Opaque", 1, "5m"]),
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
    (
        Service,
        "spec: {type: NodePort, clusterIPs: [10.96.0.9], ports: [{port: 80, nodePort: 30080, protocol: TCP}, "
        "{port: 53, protocol: UDP}], selector: {b: c, a: b}}",
        ["x", "NodePort", "10.96.0.9", "<none>", "80:30080/TCP,53/UDP", "5m", "a=b,b=c"],
    ),
    (
        Service,
        "spec: {type: LoadBalancer, ports: [{port: 80, protocol: TCP}]}",
        ["x", "LoadBalancer", "<none>", "<pending>", "80/TCP", "5m", "<none>"],
    ),
    (
        Event,
        "type: Warning\nreason: BackOff\nmessage: ' too bad '\ncount: 3\n"
        "involvedObject: {kind: Pod, name: p, fieldPath: 'spec.containers{a}'}\n"
        "source: {component: kubelet, host: n1}\n"
        "firstTimestamp: '2026-01-01T11:00:00Z'\nlastTimestamp: '2026-01-01T11:59:30Z'",
        ["30s", "Warning", "BackOff", "pod/p", "spec.containers{a}", "kubelet, n1", "too bad", "60m", 3, "x"],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_rows(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{META}\n{text}"), NOW))[: len(expected)] == expected


def test_the_row_of_a_working_node() -> None:
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


def test_an_event_reads_the_same_in_both_groups() -> None:
    from podling.api import events_v1
    from podling.apiserver.kinds.common.views import shown_form
    from podling.machinery.scheme import resource_of

    text = "message: hello\ncount: 2\ninvolvedObject: {kind: Pod, name: p}"
    event = obj(Event, f"{META}\n{text}")
    viewed = resource_of(events_v1.Event)
    shown = shown_form(viewed, event)
    assert isinstance(shown, events_v1.Event)
    assert rules(events_v1.Event).row(shown, NOW) == rules(Event).row(event, NOW)


def test_events_are_found_by_what_they_are_about() -> None:
    text = (
        f"{NAMED}\ninvolvedObject: {{kind: Pod, name: p, uid: u1}}\nreason: R\nsource: {{component: kubelet}}"
    )
    found = rules(Event).selectable_fields(obj(Event, text))
    assert (found["involvedObject.name"], found["involvedObject.uid"]) == ("p", "u1")
    assert (found["reason"], found["source"]) == ("R", "kubelet")

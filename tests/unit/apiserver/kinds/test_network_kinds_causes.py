"""What is wrong with ingresses and their classes, network policies, and the addresses of Services."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.networking_v1 import Ingress, IngressClass, IPAddress, NetworkPolicy, ServiceCIDR
from podling.machinery.encoding import codec
from tests.support.causes import (
    SUBDOMAIN_TEXT,
    Cause,
    KindRow,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from tests.support.manifests import change_causes, created, creation_causes, obj, rules

VALID: dict[type[Any], dict[str, Any]] = {
    Ingress: {
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
    },
    IngressClass: {"metadata": {"name": "x"}, "spec": {"controller": "example.com/nginx"}},
    NetworkPolicy: {"metadata": {"name": "x", "namespace": "default"}, "spec": {"podSelector": {}}},
    ServiceCIDR: {"metadata": {"name": "x"}, "spec": {"cidrs": ["10.0.0.0/16"]}},
    IPAddress: {
        "metadata": {"name": "10.0.0.1"},
        "spec": {"parentRef": {"resource": "services", "name": "web", "namespace": "default"}},
    },
}
B, P0 = "spec.defaultBackend", "spec.rules[0].http.paths[0]"
BACKEND = "backend: {service: {name: web, port: {number: 80}}}"
NO_IP = "must be a DNS name, not an IP address"
MUST_BE_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def routed(path: str) -> str:
    return f"spec: {{rules: [{{http: {{paths: [{{{path}, {BACKEND}}}]}}}}]}}"


def from_peer(peer: str) -> str:
    return f"spec: {{ingress: [{{from: [{peer}]}}]}}"


def on_port(port: str) -> str:
    return f"spec: {{egress: [{{ports: [{port}]}}]}}"


INGRESSES: list[KindRow] = [
    (
        Ingress,
        "spec: {defaultBackend: null}",
        [invalid("spec", "[]", "either `defaultBackend` or `rules` must be specified")],
    ),
    (
        Ingress,
        "spec: {defaultBackend: {service: null}}",
        [invalid(B, '""', "resource or service backend is required")],
    ),
    (
        Ingress,
        "spec: {defaultBackend: {resource: {kind: Bucket, name: b}}}",
        [invalid(B, '""', "cannot set both resource and service backends")],
    ),
    (
        Ingress,
        "spec: {defaultBackend: {service: null, resource: {kind: '', name: a/b}}}",
        [
            required(f"{B}.resource.kind", "kind is required"),
            invalid(f"{B}.resource.name", '"a/b"', "may not contain '/'"),
        ],
    ),
    (
        Ingress,
        "spec: {defaultBackend: {service: {name: '', port: {number: 0}}}}",
        [required(f"{B}.service.name"), required(B, "port name or number is required")],
    ),
    (
        Ingress,
        "spec: {defaultBackend: {service: {port: {name: http}}}}",
        [invalid(B, '""', "cannot set both port name & port number")],
    ),
    (
        Ingress,
        "spec: {defaultBackend: {service: {port: {number: 70000}}}}",
        [invalid(f"{B}.service.port.number", "70000", "must be between 1 and 65535, inclusive")],
    ),
    (
        Ingress,
        "spec: {rules: [{host: 10.0.0.1}]}",
        [invalid("spec.rules[0].host", '"10.0.0.1"', NO_IP)],
    ),
    (
        Ingress,
        "spec: {rules: [{http: {paths: []}}]}",
        [required("spec.rules[0].http.paths")],
    ),
    (Ingress, routed("path: /"), [required(f"{P0}.pathType", "pathType must be specified")]),
    (
        Ingress,
        routed("path: a, pathType: Regex"),
        [unsupported(f"{P0}.pathType", "Regex", "Exact", "ImplementationSpecific", "Prefix")],
    ),
    (
        Ingress,
        routed("path: a//b/.., pathType: Prefix"),
        [
            invalid(f"{P0}.path", '"a//b/.."', "must be an absolute path"),
            invalid(f"{P0}.path", '"a//b/.."', "must not contain '//'"),
            invalid(f"{P0}.path", '"a//b/.."', "cannot end with '/..'"),
        ],
    ),
    (Ingress, routed("pathType: ImplementationSpecific"), []),
    (
        Ingress,
        "spec: {tls: [{hosts: [a_b], secretName: S}]}",
        [
            invalid("spec.tls[0].hosts[0]", '"a_b"', SUBDOMAIN_TEXT),
            invalid("spec.tls[0].secretName", '"S"', SUBDOMAIN_TEXT),
        ],
    ),
    (
        Ingress,
        "{metadata: {annotations: {kubernetes.io/ingress.class: a}}, spec: {ingressClassName: a}}",
        [],
    ),
    (
        Ingress,
        "{metadata: {annotations: {kubernetes.io/ingress.class: a}}, spec: {ingressClassName: b}}",
        [
            invalid(
                "annotations.kubernetes.io/ingress.class",
                '"a"',
                "must match `ingressClassName` when both are specified",
            )
        ],
    ),
]

CLASSES: list[KindRow] = [
    (IngressClass, "spec: {controller: ''}", [required("spec.controller")]),
    (
        IngressClass,
        "spec: {controller: nginx}",
        [invalid("spec.controller", '"nginx"', 'must be a domain-prefixed path (such as "acme.io/foo")')],
    ),
    (
        IngressClass,
        f"spec: {{controller: example.com/{'a' * 250}}}",
        [too_long("spec.controller", 250)],
    ),
    (
        IngressClass,
        "spec: {parameters: {kind: K, name: n, namespace: default}}",
        [forbidden("spec.parameters.namespace", "`parameters.scope` is set to 'Cluster'")],
    ),
    (
        IngressClass,
        "spec: {parameters: {kind: K, name: n, scope: Namespace}}",
        [required("spec.parameters.namespace", "`parameters.scope` is set to 'Namespace'")],
    ),
    (
        IngressClass,
        "spec: {parameters: {kind: K, name: n, scope: Galaxy}}",
        [unsupported("spec.parameters.scope", "Galaxy", "Cluster", "Namespace")],
    ),
]

POLICIES: list[KindRow] = [
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

ADDRESSES: list[KindRow] = [
    (ServiceCIDR, "spec: {cidrs: []}", [required("spec.cidrs", "at least one CIDR required")]),
    (
        ServiceCIDR,
        "spec: {cidrs: [10.0.0.0/16, 10.1.0.0/16]}",
        [
            invalid(
                "spec.cidrs",
                '{"cidrs":["10.0.0.0/16","10.1.0.0/16"]}',
                "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
            )
        ],
    ),
    (ServiceCIDR, "spec: {cidrs: [everywhere]}", [invalid("spec.cidrs[0]", '"everywhere"', MUST_BE_CIDR)]),
    (IPAddress, "spec: {parentRef: null}", [required("spec.parentRef")]),
    (
        IPAddress,
        "spec: {parentRef: {name: '', namespace: a/b}}",
        [
            required("spec.parentRef.name"),
            invalid("spec.parentRef.namespace", '"a/b"', "may not contain '/'"),
        ],
    ),
]


@pytest.mark.parametrize(("kind", "plain"), VALID.items())
def test_the_valid_ones_are(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


@pytest.mark.parametrize(("kind", "text", "expected"), [*INGRESSES, *CLASSES, *POLICIES, *ADDRESSES])
def test_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            IngressClass,
            "spec: {controller: example.com/haproxy}",
            [invalid("spec.controller", '"example.com/haproxy"', "field is immutable")],
        ),
        (
            ServiceCIDR,
            "spec: {cidrs: [10.1.0.0/16]}",
            [invalid("spec.cidrs[0]", '"10.1.0.0/16"', "field is immutable")],
        ),
        (ServiceCIDR, "spec: {cidrs: [10.0.0.0/16, '2001:db8::/64']}", []),
        (ServiceCIDR, "spec: {cidrs: []}", [invalid("spec.cidrs", "[]", "field is immutable")]),
        (
            IPAddress,
            "spec: {parentRef: {name: other}}",
            [
                invalid(
                    "spec.parentRef",
                    '{"name":"other","namespace":"default","resource":"services"}',
                    "field is immutable",
                )
            ],
        ),
    ],
)
def test_changes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


def test_a_wrong_secret_name_of_old_may_stay() -> None:
    old = obj(Ingress, "spec: {tls: [{secretName: Old_Name}]}", VALID[Ingress])
    new = obj(Ingress, "spec: {tls: [{secretName: Other_Name}], ingressClassName: a}", VALID[Ingress])
    assert change_causes(new, old) == []


def test_where_an_ingress_is_reached() -> None:
    old = created(obj(Ingress, "", VALID[Ingress]))
    status = "status: {loadBalancer: {ingress: [{ip: nowhere, hostname: 10.0.0.1}]}}"
    point = "status.loadBalancer.ingress[0]"
    assert change_causes(obj(Ingress, status, VALID[Ingress]), old, "status") == [
        invalid(f"{point}.ip", '"nowhere"', "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        invalid(f"{point}.hostname", '"10.0.0.1"', NO_IP),
    ]


def test_an_address_is_named_after_itself() -> None:
    assert rules(IPAddress).name_errors("10.0.0.1") == []
    assert rules(IPAddress).name_errors("web") != []


def test_parameters_are_of_the_cluster_by_default() -> None:
    made = created(obj(IngressClass, "spec: {parameters: {kind: K, name: n}}", VALID[IngressClass]))
    assert codec.to_plain(made.spec.parameters) == {"kind": "K", "name": "n", "scope": "Cluster"}

"""Tests of the validation of Services."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Service
from tests.support.causes import (
    LABEL_TEXT,
    SUBDOMAIN_TEXT,
    Cause,
    KindRow,
    Row,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from tests.support.manifests import change_causes, created, creation_causes, obj

NAMED = "metadata: {name: x, namespace: default}"
SERVICE = "metadata: {name: x, namespace: default}\nspec: {clusterIP: 10.96.0.9, ports: [{port: 80}]"
NEW_OBJECTS: list[KindRow] = [
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


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_service_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text))) == expected


BALANCER = "type: LoadBalancer"
NO_ADDRESS = "clusterIP: null"
NAMES = f"type: ExternalName, externalName: example.com, {NO_ADDRESS}"
IP_TEXT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
LOOPBACK = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
FOR_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
OUTSIDE = "may only be set for externally-accessible services"
IPS, FAMILIES = "spec.clusterIPs", "spec.ipFamilies"
CREATED: list[Row] = [
    ("", []),
    (BALANCER, []),
    (NAMES, []),
    ("clusterIP: None, ports: null", []),
    ("ports: []", [required("spec.ports")]),
    (
        "type: Other",
        [unsupported("spec.type", "Other", "ClusterIP", "ExternalName", "LoadBalancer", "NodePort")],
    ),
    (
        "type: NodePort, clusterIP: None",
        [invalid(f"{IPS}[0]", '"None"', "may not be set to 'None' for NodePort services")],
    ),
    (f"type: ExternalName, {NO_ADDRESS}", [required("spec.externalName")]),
    (
        f"type: ExternalName, externalName: a_b., {NO_ADDRESS}",
        [invalid("spec.externalName", '"a_b"', SUBDOMAIN_TEXT)],
    ),
    (
        "ports: [{port: 80}, {name: A, port: 0, targetPort: 1, protocol: HTTP}]",
        [
            required("spec.ports[0].name"),
            invalid("spec.ports[1].name", '"A"', LABEL_TEXT),
            invalid("spec.ports[1].port", "0", "must be between 1 and 65535, inclusive"),
            unsupported("spec.ports[1].protocol", "HTTP", "SCTP", "TCP", "UDP"),
        ],
    ),
    (
        "ports: [{name: a, port: 80}, {name: a, port: 80}]",
        [
            duplicate("spec.ports[1].name", '"a"'),
            duplicate("spec.ports[1]", '{"port":80,"protocol":"TCP"}'),
        ],
    ),
    (
        "ports: [{port: 80, nodePort: 30000}]",
        [forbidden("spec.ports[0].nodePort", "may not be used when `type` is 'ClusterIP'")],
    ),
    (
        "type: NodePort, ports: [{name: a, port: 80, nodePort: 30000}, {name: b, port: 81, nodePort: 30000}]",
        [duplicate("spec.ports[1].nodePort", "30000")],
    ),
    ("sessionAffinity: Always", [unsupported("spec.sessionAffinity", "Always", "ClientIP", "None")]),
    (
        "sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 90000}}",
        [
            invalid(
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
                "90000",
                "must be greater than 0 and less than 86400",
            )
        ],
    ),
    (
        "externalIPs: [here, 127.0.0.1]",
        [
            invalid("spec.externalIPs[0]", '"here"', IP_TEXT),
            invalid(
                "spec.externalIPs[1]",
                '"127.0.0.1"',
                LOOPBACK,
            ),
        ],
    ),
    (
        "loadBalancerSourceRanges: [10.0.0.0/8], allocateLoadBalancerNodePorts: true, loadBalancerClass: a/b",
        [
            forbidden("spec.LoadBalancerSourceRanges", FOR_BALANCERS),
            forbidden("spec.allocateLoadBalancerNodePorts", FOR_BALANCERS),
            forbidden("spec.loadBalancerClass", FOR_BALANCERS),
        ],
    ),
    (
        f"{BALANCER}, loadBalancerSourceRanges: [all]",
        [
            invalid(
                "spec.LoadBalancerSourceRanges[0]",
                '"all"',
                "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            )
        ],
    ),
    (
        "externalTrafficPolicy: Local",
        [invalid("spec.externalTrafficPolicy", '"Local"', OUTSIDE)],
    ),
    (
        "healthCheckNodePort: 30000",
        [
            invalid(
                "spec.healthCheckNodePort",
                "30000",
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
            )
        ],
    ),
    ("internalTrafficPolicy: All", [unsupported("spec.internalTrafficPolicy", "All", "Cluster", "Local")]),
    (
        "trafficDistribution: Near",
        [unsupported("spec.trafficDistribution", "Near", "PreferClose", "PreferSameNode", "PreferSameZone")],
    ),
]
BASE: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"ports": [{"port": 80}], "clusterIP": "10.96.0.7"},
}


@pytest.mark.parametrize(("text", "expected"), CREATED)
def test_invalid_service_is_refused_with_causes(text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(Service, f"spec: {{{text}}}", BASE))) == expected


ONCE = "may not change once set"
CHANGED: list[tuple[str, str, list[Cause]]] = [
    (
        f"{BALANCER}, loadBalancerClass: a/b",
        f"{BALANCER}, loadBalancerClass: a/c",
        [invalid("spec.loadBalancerClass", '"a/c"', ONCE)],
    ),
    (f"{BALANCER}, loadBalancerClass: a/b", "", []),
    (
        f"{BALANCER}, externalTrafficPolicy: Local, healthCheckNodePort: 30001",
        f"{BALANCER}, externalTrafficPolicy: Local, healthCheckNodePort: 30002",
        [forbidden("spec.healthCheckNodePort", "field is immutable")],
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), CHANGED)
def test_change_of_service_is_validated(before: str, after: str, expected: list[Cause]) -> None:
    old = created(obj(Service, f"spec: {{{before}}}", BASE))
    assert change_causes(obj(Service, f"spec: {{{after}}}", BASE), old) == expected


SOURCES = "service.beta.kubernetes.io/load-balancer-source-ranges"
NOTED: list[tuple[str, str, list[Cause]]] = [
    (
        "service.kubernetes.io/topology-mode: Auto, service.kubernetes.io/topology-aware-hints: disabled",
        "",
        [
            invalid(
                "metadata.annotations[service.kubernetes.io/topology-mode]",
                '"Auto"',
                "must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified",
            )
        ],
    ),
    (f"{SOURCES}: 10.0.0.0/8", "", [forbidden(f"metadata.annotations[{SOURCES}]", FOR_BALANCERS)]),
    (
        f"{SOURCES}: '10.0.0.0/8, all'",
        BALANCER,
        [
            invalid(
                f"metadata.annotations[{SOURCES}]",
                '"all"',
                "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            )
        ],
    ),
]


@pytest.mark.parametrize(("annotations", "text", "expected"), NOTED)
def test_annotations_of_service_are_validated(annotations: str, text: str, expected: list[Cause]) -> None:
    noted = f"metadata: {{annotations: {{{annotations}}}}}\nspec: {{{text}}}"
    assert creation_causes(created(obj(Service, noted, BASE))) == expected


def test_invalid_addresses_of_stored_service_stay_valid() -> None:
    stored = (
        f"spec: {{{BALANCER}, clusterIP: 010.96.0.7, clusterIPs: [010.96.0.7], externalIPs: [010.0.0.1], "
        "loadBalancerSourceRanges: [10.0.0.1/8]}\n"
        "status: {loadBalancer: {ingress: [{ip: 010.0.0.2, ipMode: VIP}]}}"
    )
    old = obj(Service, stored, BASE)
    assert change_causes(obj(Service, f"{stored}\nmetadata: {{labels: {{a: b}}}}", BASE), old) == []
    assert change_causes(old, old, "status") == []
    more = stored.replace("[010.0.0.1]", "[010.0.0.1, 010.0.0.3]")
    assert change_causes(obj(Service, more, BASE), old) == [
        invalid("spec.externalIPs[1]", '"010.0.0.3"', "must not have leading 0s")
    ]


NO_IP = "may not be specified when `ip` is not set"
POINT = "status.loadBalancer.ingress[0]"


@pytest.mark.parametrize(
    ("kind", "point", "expected"),
    [
        (BALANCER, "ip: 10.0.0.1, ipMode: VIP", []),
        (
            "",
            "ip: 10.0.0.1",
            [forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")],
        ),
        (BALANCER, "ipMode: VIP", [forbidden(f"{POINT}.ipMode", NO_IP)]),
        (BALANCER, "ip: 10.0.0.1, ipMode: X", [unsupported(f"{POINT}.ipMode", "X", "Proxy", "VIP")]),
        (
            BALANCER,
            "hostname: 10.0.0.1",
            [invalid(f"{POINT}.hostname", '"10.0.0.1"', "must be a DNS name, not an IP address")],
        ),
    ],
)
def test_load_balancer_status_of_service_is_validated(kind: str, point: str, expected: list[Cause]) -> None:
    old = created(obj(Service, f"spec: {{{kind}}}", BASE))
    text = f"spec: {{{kind}}}\nstatus: {{loadBalancer: {{ingress: [{{{point}}}]}}}}"
    assert change_causes(obj(Service, text, BASE), old, "status") == expected

"""What is wrong with Services, and what of them may not change."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Service
from tests.support.causes import (
    LABEL_TEXT,
    SUBDOMAIN_TEXT,
    Cause,
    Row,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from tests.support.manifests import change_causes, created, creation_causes, obj

BASE: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"ports": [{"port": 80}], "clusterIP": "10.96.0.7"},
}
NO_ADDRESS = "clusterIP: null"
BALANCER = "type: LoadBalancer"
NAMES = f"type: ExternalName, externalName: example.com, {NO_ADDRESS}"
IP_TEXT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
IPS, FAMILIES = "spec.clusterIPs", "spec.ipFamilies"
ONCE = "may not change once set"
RELEASE = "must be set to 'SingleStack' when releasing the secondary {}"
FOR_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
LOOPBACK = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
OUTSIDE = "may only be set for externally-accessible services"
NO_IP = "may not be specified when `ip` is not set"
SOURCES = "service.beta.kubernetes.io/load-balancer-source-ranges"
POINT = "status.loadBalancer.ingress[0]"

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
        f"{NAMES}, clusterIPs: [10.96.0.7], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack",
        [
            forbidden(IPS, "may not be set for ExternalName services"),
            forbidden(FAMILIES, "may not be set for ExternalName services"),
            forbidden("spec.ipFamilyPolicy", "may not be set for ExternalName services"),
        ],
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
        "ipFamilies: [IPv5, IPv4, IPv4]",
        [unsupported(f"{FAMILIES}[0]", "IPv5", "IPv4", "IPv6"), duplicate(f"{FAMILIES}[2]", '"IPv4"')],
    ),
    (
        "ipFamilies: [IPv6]",
        [invalid(f"{IPS}[0]", '"10.96.0.7"', "expected an IPv6 value as indicated by `ipFamilies[0]`")],
    ),
    (
        "ipFamilyPolicy: Both",
        [unsupported("spec.ipFamilyPolicy", "Both", "PreferDualStack", "RequireDualStack", "SingleStack")],
    ),
    (
        "clusterIPs: [10.96.0.8]",
        [invalid(IPS, '["10.96.0.8"]', "first value must match `clusterIP`")],
    ),
    (
        "clusterIPs: [10.96.0.7, None, '2001:db8::1']",
        [
            invalid(f"{IPS}[1]", '"None"', IP_TEXT),
            invalid(IPS, '["10.96.0.7","None","2001:db8::1"]', "may only hold up to 2 values"),
        ],
    ),
    (
        "clusterIPs: [10.96.0.7, 10.96.0.8]",
        [invalid(IPS, '["10.96.0.7","10.96.0.8"]', "may specify no more than one IP for each IP family")],
    ),
    (
        "clusterIP: None, clusterIPs: [None, 10.96.0.8]",
        [invalid(IPS, '["None","10.96.0.8"]', "'None' must be the first and only value")],
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
def test_annotations(annotations: str, text: str, expected: list[Cause]) -> None:
    noted = f"metadata: {{annotations: {{{annotations}}}}}\nspec: {{{text}}}"
    assert creation_causes(created(obj(Service, noted, BASE))) == expected


@pytest.mark.parametrize(("text", "expected"), CREATED)
def test_causes(text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(Service, f"spec: {{{text}}}", BASE))) == expected


CHANGED: list[tuple[str, str, list[Cause]]] = [
    ("", "clusterIP: 10.96.0.8", [invalid(f"{IPS}[0]", '["10.96.0.8"]', ONCE)]),
    ("", NAMES, []),
    ("ipFamilies: [IPv4]", "ipFamilies: [IPv6], clusterIP: '2001:db8::1'", [
        invalid(f"{IPS}[0]", '["2001:db8::1"]', ONCE),
        invalid(f"{FAMILIES}[0]", '["IPv6"]', ONCE),
    ]),
    (
        "clusterIP: None, ipFamilies: [IPv4]",
        "clusterIP: None, ipFamilies: [IPv6]",
        [],
    ),
    (
        "clusterIPs: [10.96.0.7, '2001:db8::1'], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: RequireDualStack",
        "clusterIPs: [10.96.0.7], ipFamilies: [IPv4], ipFamilyPolicy: RequireDualStack",
        [
            invalid("spec.ipFamilyPolicy", '"RequireDualStack"', RELEASE.format("clusterIP")),
            invalid("spec.ipFamilyPolicy", '"RequireDualStack"', RELEASE.format("ipFamily")),
        ],
    ),
    (
        "clusterIPs: [10.96.0.7, '2001:db8::1'], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: RequireDualStack",
        "clusterIPs: [10.96.0.7, '2001:db8::1'], ipFamilies: [IPv6], ipFamilyPolicy: SingleStack",
        [
            invalid(f"{FAMILIES}[0]", '["10.96.0.7","2001:db8::1"]', ONCE),
            invalid(f"{IPS}[0]", '"10.96.0.7"', "expected an IPv6 value as indicated by `ipFamilies[0]`"),
        ],
    ),
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
]  # fmt: skip


def test_addresses_that_were_stored_before_the_rules_may_stay() -> None:
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


@pytest.mark.parametrize(("before", "after", "expected"), CHANGED)
def test_changes(before: str, after: str, expected: list[Cause]) -> None:
    old = created(obj(Service, f"spec: {{{before}}}", BASE))
    assert change_causes(obj(Service, f"spec: {{{after}}}", BASE), old) == expected


@pytest.mark.parametrize(
    ("kind", "point", "expected"),
    [
        (BALANCER, "ip: 10.0.0.1, ipMode: VIP", []),
        ("", "ip: 10.0.0.1", [forbidden(
            "status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'"
        )]),
        (BALANCER, "ipMode: VIP", [forbidden(f"{POINT}.ipMode", NO_IP)]),
        (BALANCER, "ip: 10.0.0.1, ipMode: X", [unsupported(f"{POINT}.ipMode", "X", "Proxy", "VIP")]),
        (BALANCER, "hostname: 10.0.0.1", [
            invalid(f"{POINT}.hostname", '"10.0.0.1"', "must be a DNS name, not an IP address")
        ]),
    ],
)  # fmt: skip
def test_where_a_load_balancer_answers(kind: str, point: str, expected: list[Cause]) -> None:
    old = created(obj(Service, f"spec: {{{kind}}}", BASE))
    text = f"spec: {{{kind}}}\nstatus: {{loadBalancer: {{ingress: [{{{point}}}]}}}}"
    assert change_causes(obj(Service, text, BASE), old, "status") == expected

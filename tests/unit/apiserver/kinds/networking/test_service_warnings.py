"""Tests of the warnings about Services."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Service
from podling.apiserver.kinds.networking.service_warnings import service_warnings
from tests.support.manifests import created, obj

LATER = "will be considered invalid in a future Kubernetes release: use"
SERVICES: list[tuple[str, list[str]]] = [
    ("clusterIP: 10.96.0.7", []),
    (
        "externalIPs: [192.0.2.1]",
        ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
    ),
    (
        "clusterIP: None, externalIPs: [192.0.2.1], loadBalancerIP: 192.0.2.2, sessionAffinity: ClientIP",
        [
            "spec.loadBalancerIP is ignored for headless services",
            "spec.externalIPs is ignored for headless services",
            "spec.SessionAffinity is ignored for headless services",
        ],
    ),
    (
        "type: ExternalName, externalName: a.example.com, externalIPs: [192.0.2.1]",
        ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
    ),
    ("externalName: a.example.com", ['spec.externalName is ignored when spec.type is not "ExternalName"']),
    (
        "trafficDistribution: PreferClose",
        ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
    ),
    ("trafficDistribution: PreferSameZone", []),
    (
        "type: LoadBalancer, loadBalancerIP: 192.0.2.02, loadBalancerSourceRanges: ['2001:DB8::/32']",
        [
            f'spec.loadBalancerIP: non-standard IP address "192.0.2.02" {LATER} "192.0.2.2"',
            'spec.loadBalancerSourceRanges[0]: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 '
            'canonical format ("2001:db8::/32")',
        ],
    ),
    (
        "clusterIP: '2001:db8:0::7', ipFamilies: [IPv6]",
        [
            'spec.clusterIPs[0]: IPv6 address "2001:db8:0::7" should be in RFC 5952 canonical format '
            '("2001:db8::7")'
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), SERVICES)
def test_fields_of_service_without_effect_warn(text: str, expected: list[str]) -> None:
    service = created(obj(Service, f"spec: {{ports: [{{port: 80}}], {text}}}"))
    assert list(service_warnings(service)) == expected


def test_deprecated_annotation_of_service_warns() -> None:
    text = "metadata: {annotations: {service.kubernetes.io/topology-aware-hints: Auto}}"
    assert list(service_warnings(created(obj(Service, text)))) == [
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
        "service.kubernetes.io/topology-mode instead"
    ]

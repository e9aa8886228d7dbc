"""Warnings about a Service's fields that have no effect or will be removed.

Upstream: ``GetWarningsForService`` in ``pkg/api/service/warnings.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from podling.api.core_v1 import Service, ServiceSpec
from podling.apiserver.kinds.common.address_warnings import cidr_warnings, ip_warnings
from podling.apiserver.kinds.networking.service_addresses import EXTERNAL_NAME, HEADLESS
from podling.apiserver.kinds.networking.service_validation import SPEC, TOPOLOGY_HINTS, TOPOLOGY_MODE


def service_warnings(service: Service) -> Iterator[str]:
    spec = service.spec
    headless = spec.type == "ClusterIP" and spec.cluster_ip == HEADLESS
    if TOPOLOGY_HINTS in service.metadata.annotations:
        yield f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"
    if spec.cluster_ip and spec.cluster_ip != HEADLESS:
        for position, address in enumerate(spec.cluster_ips):
            yield from ip_warnings(SPEC.child("clusterIPs").index(position), address)
    if headless:
        yield from _headless_warnings(spec)
    for position, address in enumerate(spec.external_ips):
        yield from ip_warnings(SPEC.child("externalIPs").index(position), address)
    named = spec.type == EXTERNAL_NAME
    if spec.external_ips and not headless and not named:
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if spec.load_balancer_ip:
        yield from ip_warnings(SPEC.child("loadBalancerIP"), spec.load_balancer_ip)
    for position, block in enumerate(spec.load_balancer_source_ranges):
        yield from cidr_warnings(SPEC.child("loadBalancerSourceRanges").index(position), block)
    if named and spec.external_ips:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if not named and spec.external_name:
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.traffic_distribution == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _headless_warnings(spec: ServiceSpec) -> Iterator[str]:
    """Yield warnings about fields that have no effect on a headless Service."""
    if spec.load_balancer_ip:
        yield "spec.loadBalancerIP is ignored for headless services"
    if spec.external_ips:
        yield "spec.externalIPs is ignored for headless services"
    if spec.session_affinity != "None":
        yield "spec.SessionAffinity is ignored for headless services"

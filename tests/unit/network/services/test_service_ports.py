"""Services as the proxy sees them. Cases: ``TestServiceToServiceMap`` of ``pkg/proxy``."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest

from podling.api.core_v1 import ClientIPConfig, LoadBalancerIngress, ServicePort, SessionAffinityConfig
from podling.network.services.service_ports import FamilyRecord, PortRecord, ServiceRecord, record_of
from tests.support.service_packets import service

IPV4, IPV6 = "10.0.0.1", "2001:db8:85a3::8a2e:370:7334"
OUTSIDE4, OUTSIDE6 = "8.8.8.8", "2001:db8:85a3::8a2e:370:7335"
RANGE4, RANGE6 = "0.0.0.0/1", "2001:db8::/32"
OUTSIDE = {"external_ips": (OUTSIDE4, OUTSIDE6), "ingress": (OUTSIDE4, OUTSIDE6)}
RANGES = {"load_balancer_source_ranges": (RANGE4, RANGE6)}


def packed(*texts: str) -> tuple[bytes, ...]:
    return tuple(ip_address(text).packed for text in texts)


def family(name: str, own: str, outside: tuple[str, ...] = (), ranges: tuple[str, ...] = ()) -> FamilyRecord:
    """Return the addresses of one family; ``outside`` are those of both ways from outside."""
    return FamilyRecord(name, ip_address(own).packed, packed(*outside), packed(*outside), ranges)


def proxied(cluster_ip: str = IPV4, **wish: Any) -> ServiceRecord:
    found = record_of(service(cluster_ip=cluster_ip, **wish))
    assert found is not None
    return found


NOT_PROXIED = [
    {"cluster_ip": "None"},
    {"cluster_ip": "None", "ports": (ServicePort(name="sip", protocol="SCTP", port=7777),)},
    {"cluster_ip": "None", "ports": ()},
    {"cluster_ip": ""},
    {"cluster_ip": "172.16.55.4", "type": "ExternalName", "external_name": "foo2.bar.com"},
    {"labels": {"service.kubernetes.io/service-proxy-name": "another"}},
    {"labels": {"service.kubernetes.io/headless": ""}},
]


@pytest.mark.parametrize("wish", NOT_PROXIED)
def test_service_without_an_address_of_this_proxy_has_no_record(wish: dict[str, Any]) -> None:
    assert record_of(service(**wish)) is None


def test_ports_keep_their_order_protocols_and_node_ports() -> None:
    ports = (
        ServicePort(name="port1", protocol="UDP", port=345, node_port=678),
        ServicePort(name="port2", protocol="TCP", port=344, node_port=677),
    )
    assert proxied(type="NodePort", ports=ports).ports == (
        PortRecord("port1", "UDP", 345, 678),
        PortRecord("port2", "TCP", 344, 677),
    )


MODES = [(None, ("10.1.2.4",)), ("VIP", ("10.1.2.4",)), ("Proxy", ())]


@pytest.mark.parametrize(("mode", "vips"), MODES)
def test_mode_of_a_load_balancers_address_decides(mode: str | None, vips: tuple[str, ...]) -> None:
    found = proxied(type="LoadBalancer", ingress=(LoadBalancerIngress(ip="10.1.2.4", ip_mode=mode),))
    assert found.families[0].load_balancer_vips == packed(*vips)


def test_host_names_of_load_balancers_are_no_addresses() -> None:
    found = proxied(type="LoadBalancer", ingress=(LoadBalancerIngress(hostname="lb.example"),))
    assert found.families[0].load_balancer_vips == ()


FAMILIES = [
    (
        {"cluster_ip": IPV4, **OUTSIDE, **RANGES},
        [family("ip", IPV4, (OUTSIDE4,), (RANGE4,))],
    ),
    (
        {"cluster_ip": IPV6, **OUTSIDE, **RANGES},
        [family("ip6", IPV6, (OUTSIDE6,), (RANGE6,))],
    ),
    (
        {"cluster_ip": IPV6, "cluster_ips": (IPV6, IPV4), **OUTSIDE, **RANGES},
        [
            family("ip", IPV4, (OUTSIDE4,), (RANGE4,)),
            family("ip6", IPV6, (OUTSIDE6,), (RANGE6,)),
        ],
    ),
    (
        {"cluster_ip": IPV4, "load_balancer_source_ranges": (" 10.1.2.0/28", "10.1.2.77/28 ", "none")},
        [family("ip", IPV4, ranges=("10.1.2.0/28", "10.1.2.64/28"))],
    ),
]


@pytest.mark.parametrize(("wish", "families"), FAMILIES)
def test_each_family_has_its_own_addresses(wish: dict[str, Any], families: list[FamilyRecord]) -> None:
    assert list(proxied(**wish).families) == families


POLICIES = [
    # type, external policy, external addresses, is local, port of the health check
    ("LoadBalancer", "Local", (), True, 345),
    ("LoadBalancer", "Cluster", (), False, 0),
    ("NodePort", "Local", (), True, 0),
    ("ClusterIP", "Local", (), False, 0),
    ("ClusterIP", "Local", (OUTSIDE4,), True, 0),
]


@pytest.mark.parametrize(("kind", "policy", "external_ips", "is_local", "check"), POLICIES)
def test_external_policy_needs_a_way_from_outside(
    kind: str, policy: str, external_ips: tuple[str, ...], is_local: bool, check: int
) -> None:
    found = proxied(
        type=kind, external_traffic_policy=policy, external_ips=external_ips, health_check_node_port=345
    )
    assert (found.external_local, found.health_check_port) == (is_local, check)


AFFINITIES = [
    ("None", None, 0),
    ("ClientIP", None, 10800),
    ("ClientIP", SessionAffinityConfig(), 10800),
    ("ClientIP", SessionAffinityConfig(client_ip=ClientIPConfig(timeout_seconds=7)), 7),
]


@pytest.mark.parametrize(("affinity", "config", "seconds"), AFFINITIES)
def test_affinity_lasts_three_hours_or_as_long_as_its_settings_say(
    affinity: str, config: SessionAffinityConfig | None, seconds: int
) -> None:
    assert proxied(session_affinity=affinity, session_affinity_config=config).affinity_seconds == seconds

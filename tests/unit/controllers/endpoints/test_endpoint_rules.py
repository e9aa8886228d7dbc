"""Endpoints of pods: addresses, ports, conditions and hints."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    Container,
    ContainerPort,
    Pod,
    PodIP,
    Service,
    ServicePort,
)
from podling.api.discovery_v1 import Endpoint
from podling.controllers.endpoints import endpoint_rules as rules
from podling.sim.loop import EPOCH
from tests.unit.controllers.endpoints.services import NODES, running_pod, service


def only_endpoint(of: Service, held: Pod) -> Endpoint:
    ((_, endpoints),) = rules.desired(of, [held], NODES).items()
    (endpoint,) = endpoints.values()
    return endpoint


def test_endpoint_names_its_address_node_zone_and_pod() -> None:
    endpoint = only_endpoint(service(), running_pod("p"))
    assert endpoint.addresses == ("10.0.0.1",)
    assert (endpoint.node_name, endpoint.zone, endpoint.hostname) == ("n1", "a", None)
    assert endpoint.target_ref is not None
    assert (endpoint.target_ref.kind, endpoint.target_ref.name) == ("Pod", "p")


@pytest.mark.parametrize(
    ("ready", "deleting", "published", "conditions"),
    [
        (True, False, False, (True, True, False)),
        (False, False, False, (False, False, False)),
        (True, True, False, (False, True, True)),
        (False, False, True, (True, False, False)),
    ],
)
def test_conditions_of_an_endpoint(
    ready: bool, deleting: bool, published: bool, conditions: tuple[bool, bool, bool]
) -> None:
    held = running_pod("p", ready=ready)
    if deleting:
        held = structs.replace(held, metadata=structs.replace(held.metadata, deletion_timestamp=EPOCH))
    found = only_endpoint(service(publish_not_ready_addresses=published), held).conditions
    assert (found.ready, found.serving, found.terminating) == conditions


def test_a_host_name_counts_in_the_services_subdomain_only() -> None:
    assert only_endpoint(service(), running_pod("p", hostname="db-0", subdomain="web")).hostname == "db-0"
    assert only_endpoint(service(), running_pod("p", hostname="db-0", subdomain="other")).hostname is None


@pytest.mark.parametrize(
    ("distribution", "zones", "nodes"),
    [(None, (), ()), ("PreferClose", ("a",), ()), ("PreferSameNode", ("a",), ("n1",))],
)
def test_hints_follow_the_traffic_distribution(
    distribution: str | None, zones: tuple[str, ...], nodes: tuple[str, ...]
) -> None:
    hints = only_endpoint(service(traffic_distribution=distribution), running_pod("p")).hints
    assert tuple(each.name for each in hints.for_zones) == zones if hints else zones == ()
    assert tuple(each.name for each in hints.for_nodes) == nodes if hints else nodes == ()


@pytest.mark.parametrize(("policy", "numbers"), [("", []), ("Always", [8080])])
def test_named_ports_of_init_containers_are_left_out(policy: str, numbers: list[int]) -> None:
    """Those of sidecars count."""
    held = running_pod("p", ready=True)
    setup = Container(
        name="setup",
        image="x",
        restart_policy=policy,
        ports=(ContainerPort(name="admin", container_port=8080, protocol="TCP"),),
    )
    subject = structs.replace(held, spec=structs.replace(held.spec, init_containers=(setup,)))
    wanted = service(ServicePort(name="a", port=80, target_port="admin", protocol="TCP"))
    assert [port.port for port in rules.ports_of(wanted, subject)] == numbers


def test_named_ports_are_found_in_the_pod() -> None:
    port = ServicePort(name="web", port=80, target_port="http", protocol="TCP")
    one = Container(name="a", ports=(ContainerPort(name="http", container_port=8080, protocol="TCP"),))
    other = Container(name="a", ports=(ContainerPort(name="http", container_port=9090, protocol="TCP"),))
    pods = [
        running_pod("p1", containers=(one,)),
        running_pod("p2", "10.0.0.2", containers=(other,)),
        running_pod("p3", "10.0.0.3"),
    ]
    found = {
        tuple(each.port for each in ports): [key[0][0] for key in endpoints]
        for (_, ports), endpoints in rules.desired(service(port), pods, NODES).items()
    }
    assert found == {(8080,): ["10.0.0.1"], (9090,): ["10.0.0.2"], (): ["10.0.0.3"]}


def test_both_address_families_have_slices_of_their_own() -> None:
    held = running_pod("p")
    status = structs.replace(held.status, pod_ips=(PodIP(ip="10.0.0.1"), PodIP(ip="fd00::1")))
    both = service(ip_families=("IPv4", "IPv6"))
    found = rules.desired(both, [structs.replace(held, status=status)], NODES)
    assert {type_: [key[0] for key in endpoints] for (type_, _), endpoints in found.items()} == {
        "IPv4": [("10.0.0.1",)],
        "IPv6": [("fd00::1",)],
    }


FAMILIES: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"ip_families": ("IPv4",)}, ("IPv4",)),
    ({"ip_families": ("IPv6",)}, ("IPv6",)),
    ({"ip_families": ("IPv6", "IPv4")}, ("IPv6", "IPv4")),
    ({"cluster_ip": "10.96.0.7"}, ("IPv4",)),
    ({"cluster_ip": "fd00::7"}, ("IPv6",)),
    ({"cluster_ip": "None"}, ("IPv4", "IPv6")),
]


@pytest.mark.parametrize(("spec", "wanted"), FAMILIES)
def test_families_follow_from_the_address_of_an_older_service(
    spec: dict[str, Any], wanted: tuple[str, ...]
) -> None:
    assert rules.address_types(service(**spec)) == wanted


PODS = [
    (("10.0.0.1",), ("IPv4", "IPv6"), {"IPv4": [("10.0.0.1",)], "IPv6": []}),
    (("fd00::1", "10.0.0.1"), ("IPv4",), {"IPv4": [("10.0.0.1",)]}),
    (("10.0.0.1",), ("IPv6",), {"IPv6": []}),
    (("10.0.0.1", "fd00::1"), ("IPv6", "IPv4"), {"IPv4": [("10.0.0.1",)], "IPv6": [("fd00::1",)]}),
]


@pytest.mark.parametrize(("ips", "families", "wanted"), PODS)
def test_pod_serves_in_the_families_that_it_has(
    ips: tuple[str, ...], families: tuple[str, ...], wanted: dict[str, list[tuple[str, ...]]]
) -> None:
    held = running_pod("p")
    status = structs.replace(held.status, pod_ip=ips[0], pod_ips=tuple(PodIP(ip=ip) for ip in ips))
    found = rules.desired(service(ip_families=families), [structs.replace(held, status=status)], NODES)
    assert {type_: [key[0] for key in endpoints] for (type_, _), endpoints in found.items()} == wanted

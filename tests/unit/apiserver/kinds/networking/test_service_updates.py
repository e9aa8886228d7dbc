"""Tests of the values that Service updates keep and clear."""

from __future__ import annotations

from msgspec import structs

from podling.api.core_v1 import ServicePort, ServiceSpec
from podling.apiserver.kinds.networking.service_updates import clear_unused_fields, with_allocated

V4 = "10.96.0.7"
HTTP, DNS = ServicePort(name="http", port=80), ServicePort(name="dns", port=53)


def spec(type: str = "ClusterIP", **more: object) -> ServiceSpec:
    return ServiceSpec(type=type, cluster_ip=V4, cluster_ips=(V4,), **more)  # type: ignore[arg-type]


def test_update_keeps_allocated_addresses_it_omits() -> None:
    old = spec(ip_families=("IPv4",), ip_family_policy="SingleStack")
    assert with_allocated(ServiceSpec(type="ClusterIP"), old) == old
    external = ServiceSpec(type="ExternalName", external_name="example.com")
    assert with_allocated(external, old) == external


def test_client_of_older_field_sets_both_address_fields() -> None:
    new = ServiceSpec(type="ClusterIP", cluster_ip="10.96.0.8", cluster_ips=(V4,))
    assert with_allocated(new, spec()).cluster_ips == ("10.96.0.8",)


def test_update_keeps_node_ports_by_port_name() -> None:
    old = spec("NodePort", ports=(ServicePort(name="http", port=80, node_port=30080),))
    ports = with_allocated(spec("LoadBalancer", ports=(DNS, HTTP)), old).ports
    assert [(port.name, port.node_port) for port in ports] == [("dns", 0), ("http", 30080)]


def test_node_port_of_another_port_is_not_kept() -> None:
    old = spec("NodePort", ports=(ServicePort(name="http", port=80, node_port=30080),))
    taken = ServicePort(name="dns", port=53, node_port=30080)
    ports = with_allocated(spec("NodePort", ports=(HTTP, taken)), old).ports
    assert [port.node_port for port in ports] == [0, 30080]


def test_change_of_type_clears_fields_of_the_old_type() -> None:
    balancer = spec(
        "LoadBalancer",
        ports=(ServicePort(name="http", port=80, node_port=30080),),
        external_traffic_policy="Local",
        health_check_node_port=30001,
        load_balancer_class="a.io/b",
        allocate_load_balancer_node_ports=True,
    )
    new = clear_unused_fields(structs.replace(balancer, type="ClusterIP"), balancer)
    assert (new.external_traffic_policy, new.health_check_node_port, new.load_balancer_class) == ("", 0, None)
    assert (new.ports[0].node_port, new.allocate_load_balancer_node_ports) == (0, None)
    assert new.cluster_ips == (V4,)


def test_external_name_clears_addresses() -> None:
    old = spec(ip_families=("IPv4",), ip_family_policy="SingleStack")
    new = clear_unused_fields(structs.replace(old, type="ExternalName"), old)
    assert (new.cluster_ip, new.cluster_ips, new.ip_families, new.ip_family_policy) == ("", (), (), None)

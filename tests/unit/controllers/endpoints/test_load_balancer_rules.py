"""The addresses of Services of type LoadBalancer, decided from nodes, endpoints and other Services."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from podling.api.core_v1 import (
    Container,
    ContainerPort,
    DaemonEndpoint,
    LoadBalancerIngress,
    LoadBalancerStatus,
    Node,
    NodeAddress,
    NodeCondition,
    NodeDaemonEndpoints,
    NodeSpec,
    NodeStatus,
    Pod,
    PodSpec,
    PodStatus,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
    Taint,
)
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.endpoints import load_balancer_rules as rules
from podling.controllers.endpoints.load_balancer_rules import Placement, Point
from podling.sim.loop import EPOCH


def balancer(name: str, *ports: int, age: int = 0, holds: tuple[str, ...] = (), **spec: Any) -> Service:
    spec.setdefault("type", "LoadBalancer")
    return Service(
        metadata=ObjectMeta(
            name=name, namespace="default", uid=name, creation_timestamp=EPOCH - timedelta(seconds=age)
        ),
        spec=ServiceSpec(ports=tuple(ServicePort(port=p, protocol="TCP") for p in ports or (80,)), **spec),
        status=ServiceStatus(
            load_balancer=LoadBalancerStatus(ingress=tuple(LoadBalancerIngress(ip=ip) for ip in holds))
        ),
    )


def node(
    name: str = "n1",
    ready: str = "True",
    *addresses: tuple[str, str],
    labels: tuple[str, ...] = (),
    **spec: Any,
) -> Node:
    found = addresses or (("InternalIP", "10.0.0.1"), ("Hostname", name))
    return Node(
        metadata=ObjectMeta(name=name, labels=dict.fromkeys(labels, "")),
        spec=NodeSpec(**spec),
        status=NodeStatus(
            addresses=tuple(NodeAddress(type=type_, address=address) for type_, address in found),
            conditions=(NodeCondition(type="Ready", status=ready),) if ready else (),
            daemon_endpoints=NodeDaemonEndpoints(kubelet_endpoint=DaemonEndpoint(port=10250)),
        ),
    )


POINTS = (Point("n1", "10.0.0.1"), Point("n2", "10.0.0.2"))


@pytest.mark.parametrize(
    ("spec", "ours"),
    [
        ({}, True),
        ({"load_balancer_class": "podling.local/nodes"}, True),
        ({"load_balancer_class": "metallb.io/metallb"}, False),
        ({"type": "ClusterIP"}, False),
        ({"type": "NodePort"}, False),
    ],
)
def test_only_services_without_class_or_of_own_class_are_served(spec: dict[str, Any], ours: bool) -> None:
    assert rules.is_ours(balancer("web", **spec)) is ours
    assert rules.is_foreign(balancer("web", **spec)) is (
        spec.get("load_balancer_class") == "metallb.io/metallb"
    )


@pytest.mark.parametrize(
    ("each", "serves"),
    [
        (node(), True),
        (node("n1", "False"), False),
        (node("n1", "Unknown"), False),
        (node("n1", ""), False),
        (node(labels=(rules.EXCLUDE_LABEL,)), False),
        (node(unschedulable=True), True),
        (node(taints=(Taint(key=rules.TO_BE_DELETED, effect="NoSchedule"),)), False),
    ],
)
def test_nodes_that_serve_are_ready_and_not_excluded(each: Node, serves: bool) -> None:
    assert rules.serves(each) is serves


def place(
    service: Service, *points: Point, used: dict[rules.Place, str] | None = None, **others: Any
) -> Placement:
    return rules.place([service], others.get("local", {}), points or POINTS, used or {})[
        service.metadata.uid or ""
    ]


def test_service_gets_every_address_that_serves_as_vip() -> None:
    found = place(balancer("web"))
    assert found.addresses == ("10.0.0.1", "10.0.0.2")
    assert [(each.ip, each.ip_mode) for each in found.ingress] == [("10.0.0.1", "VIP"), ("10.0.0.2", "VIP")]


def test_external_addresses_take_precedence_over_internal_ones() -> None:
    points = (*POINTS, Point("n2", "192.0.2.2", external=True))
    assert place(balancer("web"), *points).addresses == ("192.0.2.2",)
    assert place(balancer("web"), *points, local={"web": frozenset({"n1"})}).addresses == ("10.0.0.1",)


def test_local_traffic_policy_needs_node_with_endpoint() -> None:
    service = balancer("web", external_traffic_policy="Local")
    assert place(service, local={"web": frozenset({"n2"})}).addresses == ("10.0.0.2",)
    assert place(service, local={"web": frozenset()}) == Placement()


def test_addresses_are_of_service_families_in_its_order() -> None:
    points = (*POINTS[:1], Point("n1", "fd00::1"))
    assert place(balancer("a", ip_families=("IPv6",)), *points).addresses == ("fd00::1",)
    assert place(balancer("a", ip_families=("IPv6", "IPv4")), *points).addresses == ("fd00::1", "10.0.0.1")
    assert place(balancer("a", ip_families=("IPv4",)), Point("n1", "fd00::1")) == Placement()


def test_requested_address_is_given_or_named_as_obstacle() -> None:
    assert place(balancer("web", load_balancer_ip="10.0.0.2")).addresses == ("10.0.0.2",)
    found = place(balancer("web", load_balancer_ip="10.9.9.9"))
    assert found == Placement((), "no available node has the address 10.9.9.9 of spec.loadBalancerIP")


def test_addresses_whose_port_is_used_are_left_out() -> None:
    used = {("10.0.0.1", ("TCP", 80)): "Pod default/proxy"}
    assert place(balancer("web"), used=used).addresses == ("10.0.0.2",)
    found = place(balancer("web"), POINTS[0], used=used)
    assert found == Placement((), "port 80/TCP of 10.0.0.1 is used by Pod default/proxy")
    udp = {("10.0.0.1", ("UDP", 80)): "Pod default/proxy"}
    assert place(balancer("web"), POINTS[0], used=udp).addresses == ("10.0.0.1",)


def test_node_port_of_another_service_is_used_and_the_own_is_not() -> None:
    port = ServicePort(port=30080, node_port=30080)
    web = balancer("web")
    web = structs.replace(web, spec=structs.replace(web.spec, ports=(port,)))
    other = structs.replace(web, metadata=ObjectMeta(name="other", namespace="default", uid="other"))
    own = rules.node_port_places([web], POINTS)
    assert place(web, used=own).addresses
    taken = place(web, used=rules.node_port_places([other], POINTS))
    assert "is used by the node port of Service default/other" in taken.obstacle


def test_ports_of_kubelet_pods_and_api_server_are_used() -> None:
    ports = (ContainerPort(container_port=80, host_port=80), ContainerPort(container_port=1))
    taking = Pod(
        metadata=ObjectMeta(name="proxy", namespace="default"),
        spec=PodSpec(containers=(Container(name="c", ports=ports),)),
    )
    elsewhere = Pod(
        metadata=ObjectMeta(name="other", namespace="default"),
        spec=PodSpec(
            containers=(
                Container(
                    name="c", ports=(ContainerPort(container_port=1, host_port=81, host_ip="127.0.0.1"),)
                ),
            )
        ),
    )
    ended = Pod(metadata=ObjectMeta(name="done"), spec=taking.spec, status=PodStatus(phase="Succeeded"))
    api = EndpointSlice(
        endpoints=(Endpoint(addresses=("10.0.0.1", "10.7.7.7")),), ports=(EndpointPort(port=6443),)
    )
    assert rules.used_places(node(), [taking, elsewhere, ended], [api]) == {
        ("10.0.0.1", ("TCP", 10250)): "the kubelet",
        ("10.0.0.1", ("TCP", 80)): "Pod default/proxy",
        ("10.0.0.1", ("TCP", 6443)): "the API server",
    }


def test_service_with_address_keeps_it_from_older_service() -> None:
    first, second = balancer("first", age=10), balancer("second", age=20, holds=("10.0.0.1",))
    found = rules.place([first, second], {}, POINTS[:1], {})
    assert found["second"].addresses == ("10.0.0.1",)
    assert found["first"].obstacle == "port 80/TCP of 10.0.0.1 is used by Service default/second"


def test_service_that_waits_claims_none_of_its_ports() -> None:
    services = [balancer("a", 80, age=3), balancer("b", 80, 443, age=2), balancer("c", 443, age=1)]
    found = rules.place(services, {}, POINTS[:1], {})
    assert (found["a"].addresses, found["c"].addresses) == (("10.0.0.1",), ("10.0.0.1",))
    assert found["b"].obstacle == "port 80/TCP of 10.0.0.1 is used by Service default/a"


@given(
    st.lists(
        st.tuples(st.sets(st.integers(1, 4), min_size=1), st.integers(0, 5), st.booleans()),
        min_size=1,
        max_size=6,
    )
)
def test_no_port_of_an_address_belongs_to_two_services(drawn: list[tuple[set[int], int, bool]]) -> None:
    services = [
        balancer(f"s{number}", *sorted(ports), age=age, holds=("10.0.0.1",) if holds else ())
        for number, (ports, age, holds) in enumerate(drawn)
    ]
    found = rules.place(services, {}, POINTS, {})
    held = [
        (address, port)
        for service in services
        for address in found[service.metadata.uid or ""].addresses
        for port in rules.ports_of(service)
    ]
    assert len(held) == len(set(held))
    assert all(bool(each.addresses) != bool(each.obstacle) for each in found.values())
    assert any(each.addresses for each in found.values())
    assert found == rules.place(list(reversed(services)), {}, POINTS, {})


def test_nodes_with_ready_endpoints() -> None:
    def endpoint(name: str | None, ready: bool | None) -> Endpoint:
        return Endpoint(addresses=("10.1.0.1",), node_name=name, conditions=EndpointConditions(ready=ready))

    endpoints = (endpoint("n1", True), endpoint("n2", False), endpoint("n3", None), endpoint(None, True))
    assert rules.ready_nodes([EndpointSlice(endpoints=endpoints)]) == {"n1", "n3"}


def test_changes_of_spec_have_upstream_events() -> None:
    old = balancer("web", load_balancer_source_ranges=("10.0.0.0/8",), external_traffic_policy="Cluster")
    new = balancer(
        "web", load_balancer_source_ranges=("10.0.0.0/8", "1.2.3.4/32"), external_traffic_policy="Local"
    )
    assert rules.spec_changes(old, new) == [
        ("LoadBalancerSourceRanges", "[10.0.0.0/8] -> [10.0.0.0/8 1.2.3.4/32]"),
        ("ExternalTrafficPolicy", "Cluster -> Local"),
    ]
    assert rules.spec_changes(old, balancer("web", type="NodePort")) == [("Type", "LoadBalancer -> NodePort")]

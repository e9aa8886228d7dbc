"""The ways of packets to Services. Upstream's cases: ``pkg/proxy/nftables/proxier_test.go``."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    ClientIPConfig,
    LoadBalancerIngress,
    Service,
    ServicePort,
    SessionAffinityConfig,
)
from podling.api.discovery_v1 import EndpointSlice
from podling.network.services.base_rules import HAIRPINS
from podling.network.services.rules import Spread
from tests.support.service_packets import (
    DROPPED,
    NODE_ADDRESS,
    NODE_VIEW,
    PASSED,
    REJECTED,
    Outcome,
    ending,
    endpoint,
    endpoint_slice,
    rules_of,
    sent_to,
    service,
    table_of,
    trace,
)

POD = "10.180.0.9"
OUTSIDE = "203.0.113.9"
CLUSTER_IP = "172.30.0.41"
EXTERNAL_IP = "192.168.99.11"
VIP = "5.6.7.8"
HERE, THERE = "10.180.0.3", "10.181.0.4"
BOTH = endpoint_slice(endpoint(HERE, "here"), endpoint(THERE, "there"))
LOCAL_ONLY = endpoint_slice(endpoint(HERE, "here"))
REMOTE_ONLY = endpoint_slice(endpoint(THERE, "there"))
NONE = endpoint_slice()
NODE_PORT = (ServicePort(name="p80", protocol="TCP", port=80, node_port=3001),)


def all_kinds(**wish: object) -> Service:
    """Return a Service with every kind of address."""
    kinds = {
        "type": "LoadBalancer",
        "ports": NODE_PORT,
        "external_ips": (EXTERNAL_IP,),
        "ingress": (VIP,),
        "external_traffic_policy": "Cluster",
    }
    return service(**{**kinds, **wish})  # type: ignore[arg-type]


EVERYWHERE = {"cluster IP": (CLUSTER_IP, 80), "external IP": (EXTERNAL_IP, 80), "VIP": (VIP, 80)}
EXTERNAL = {
    "external IP": (EXTERNAL_IP, 80),
    "VIP": (VIP, 80),
    "node port": (NODE_ADDRESS, 3001),
}
H, T = f"{HERE}:80", f"{THERE}:80"


@pytest.mark.parametrize("source", [POD, NODE_ADDRESS, OUTSIDE])
def test_cluster_ip_leads_to_every_ready_endpoint(source: str) -> None:
    unready = endpoint("10.180.0.5", "here", ready=False)
    table = table_of(service(), endpoint_slice(endpoint(HERE, "here"), endpoint(THERE, "there"), unready))
    masqueraded = source != POD
    assert trace(table, source, CLUSTER_IP, 80) == sent_to(H, T, masqueraded=masqueraded)


def test_packets_beside_the_port_or_protocol_are_rejected() -> None:
    table = table_of(service(), BOTH)
    assert trace(table, POD, CLUSTER_IP, 81) == REJECTED
    assert trace(table, POD, CLUSTER_IP, 80, protocol="UDP") == REJECTED
    assert trace(table, POD, "172.30.0.42", 80) == PASSED


def test_connection_to_itself_gets_the_address_of_the_node() -> None:
    table = table_of(service(), LOCAL_ONLY)
    assert trace(table, HERE, CLUSTER_IP, 80) == sent_to(H, masqueraded=True)
    assert trace(table, POD, CLUSTER_IP, 80) == sent_to(H)


@pytest.mark.parametrize("address", EXTERNAL.values(), ids=EXTERNAL)
@pytest.mark.parametrize("source", [POD, NODE_ADDRESS, OUTSIDE])
def test_external_addresses_lead_to_every_endpoint_with_the_nodes_address(
    source: str, address: tuple[str, int]
) -> None:
    assert trace(table_of(all_kinds(), BOTH), source, *address) == sent_to(H, T, masqueraded=True)


def test_connection_to_itself_is_recognised_where_the_addresses_of_pods_are_unknown() -> None:
    unknown = structs.replace(NODE_VIEW, subnets={})
    elements = rules_of(service(), BOTH, view=unknown).elements
    assert [each.key for each in elements if each.set == HAIRPINS] == [ip_address(HERE).packed * 2]


def test_node_port_is_answered_on_no_loopback_and_no_other_address() -> None:
    table = table_of(all_kinds(), BOTH)
    assert trace(table, "127.0.0.1", "127.0.0.1", 3001) == PASSED
    assert trace(table, POD, "192.168.0.3", 3001) == PASSED


@pytest.mark.parametrize("address", [*EVERYWHERE.values(), (NODE_ADDRESS, 3001)])
@pytest.mark.parametrize("policy", ["Cluster", "Local"])
def test_service_without_endpoints_refuses(address: tuple[str, int], policy: str) -> None:
    table = table_of(all_kinds(external_traffic_policy=policy, internal_traffic_policy=policy), NONE)
    for source in (POD, NODE_ADDRESS, OUTSIDE):
        assert trace(table, source, *address) == REJECTED


LOCAL_POLICY = [
    # slices, source, outcome
    (BOTH, OUTSIDE, sent_to(H)),
    (BOTH, POD, sent_to(H, T)),
    (BOTH, NODE_ADDRESS, sent_to(H, T, masqueraded=True)),
    (REMOTE_ONLY, OUTSIDE, DROPPED),
    (REMOTE_ONLY, POD, sent_to(T)),
    (REMOTE_ONLY, NODE_ADDRESS, sent_to(T, masqueraded=True)),
    (endpoint_slice(ending(HERE, "here"), endpoint(THERE, "there")), OUTSIDE, sent_to(H)),
    (endpoint_slice(ending(HERE, "here"), endpoint(THERE, "there")), POD, sent_to(T)),
]


@pytest.mark.parametrize("address", EXTERNAL.values(), ids=EXTERNAL)
@pytest.mark.parametrize(("slices", "source", "outcome"), LOCAL_POLICY)
def test_external_policy_local(
    address: tuple[str, int], slices: EndpointSlice, source: str, outcome: Outcome
) -> None:
    table = table_of(all_kinds(external_traffic_policy="Local"), slices)
    assert trace(table, source, *address) == outcome


@pytest.mark.parametrize(
    ("slices", "outcome"),
    [(BOTH, sent_to(H)), (REMOTE_ONLY, DROPPED), (LOCAL_ONLY, sent_to(H)), (NONE, REJECTED)],
)
def test_internal_policy_local(slices: EndpointSlice, outcome: Outcome) -> None:
    table = table_of(service(internal_traffic_policy="Local"), slices)
    assert trace(table, POD, CLUSTER_IP, 80) == outcome


def test_internal_policy_local_leaves_external_addresses_alone() -> None:
    table = table_of(all_kinds(internal_traffic_policy="Local"), REMOTE_ONLY)
    assert trace(table, POD, CLUSTER_IP, 80) == DROPPED
    assert trace(table, OUTSIDE, VIP, 80) == sent_to(T, masqueraded=True)


@pytest.mark.parametrize(
    ("slices", "targets"),
    [
        ((endpoint(HERE, "here"), ending(THERE, "there")), {H}),
        ((ending(HERE, "here"), ending(THERE, "there")), {H, T}),
        ((ending(HERE, "here"), endpoint(THERE, "there", ready=False, terminating=True, serving=False)), {H}),
    ],
)
def test_terminating_endpoints_serve_while_no_ready_one_is_left(slices: tuple, targets: set[str]) -> None:  # type: ignore[type-arg]
    outcome = trace(table_of(service(), endpoint_slice(*slices)), POD, CLUSTER_IP, 80)
    assert outcome == sent_to(*targets)


def test_load_balancer_of_mode_proxy_is_left_alone() -> None:
    ingress = (LoadBalancerIngress(ip=VIP, ip_mode="Proxy"), LoadBalancerIngress(ip="5.6.7.9", ip_mode="VIP"))
    table = table_of(all_kinds(ingress=ingress), BOTH)
    assert trace(table, OUTSIDE, VIP, 80) == PASSED
    assert trace(table, OUTSIDE, "5.6.7.9", 80) == sent_to(H, T, masqueraded=True)


@pytest.mark.parametrize(
    ("source", "address", "outcome"),
    [
        ("203.0.113.25", VIP, sent_to(H, T, masqueraded=True)),
        (OUTSIDE, VIP, DROPPED),
        (POD, VIP, DROPPED),
        (OUTSIDE, EXTERNAL_IP, sent_to(H, T, masqueraded=True)),
        (OUTSIDE, CLUSTER_IP, sent_to(H, T, masqueraded=True)),
    ],
)
def test_source_ranges_filter_the_load_balancers_address_only(
    source: str, address: str, outcome: Outcome
) -> None:
    table = table_of(all_kinds(load_balancer_source_ranges=(" 203.0.113.16/28",)), BOTH)
    assert trace(table, source, address, 80) == outcome


def test_source_ranges_do_not_filter_node_ports() -> None:
    table = table_of(all_kinds(load_balancer_source_ranges=("203.0.113.16/28",)), BOTH)
    assert trace(table, OUTSIDE, NODE_ADDRESS, 3001) == sent_to(H, T, masqueraded=True)


def test_node_within_the_source_ranges_may_use_the_load_balancers_address_as_its_own() -> None:
    within = table_of(all_kinds(load_balancer_source_ranges=(f"{NODE_ADDRESS}/32",)), BOTH)
    assert trace(within, VIP, VIP, 80).verdict == "sent"
    without = table_of(all_kinds(load_balancer_source_ranges=("203.0.113.16/28",)), BOTH)
    assert trace(without, VIP, VIP, 80) == DROPPED


def sticky() -> Service:
    config = SessionAffinityConfig(client_ip=ClientIPConfig(timeout_seconds=600))
    return service(session_affinity="ClientIP", session_affinity_config=config)


def test_affinity_sends_a_known_client_to_its_endpoint() -> None:
    rules = rules_of(sticky(), BOTH)
    assert set(rules.memories.values()) == {600}
    (memory,) = (name for name in rules.memories if HERE in name)
    table = table_of(sticky(), BOTH)
    assert trace(table, POD, CLUSTER_IP, 80) == sent_to(H, T)
    assert trace(table, POD, CLUSTER_IP, 80, known=frozenset((memory,))) == sent_to(H)


def test_memory_goes_with_its_endpoint() -> None:
    assert all(THERE not in name for name in rules_of(sticky(), LOCAL_ONLY).memories)


@pytest.mark.parametrize(
    "found",
    [
        service(cluster_ip="None"),
        service(cluster_ip=""),
        service(type="ExternalName", cluster_ip="", external_name="x.example"),
        service(labels={"service.kubernetes.io/service-proxy-name": "other"}),
        service(labels={"service.kubernetes.io/headless": ""}),
    ],
)
def test_service_that_is_not_proxied_has_no_rules(found: Service) -> None:
    assert rules_of(found, BOTH) == type(rules_of(found))()


def test_protocols_have_keys_of_their_own() -> None:
    ports = tuple(ServicePort(name=name, protocol=name.upper(), port=53) for name in ("tcp", "udp", "sctp"))
    slices = structs.replace(
        endpoint_slice(endpoint(HERE, "here")),
        ports=tuple(structs.replace(BOTH.ports[0], name=each.name, protocol=each.protocol) for each in ports),
    )
    rules = rules_of(service(ports=ports), slices)
    spreads = [rule for chain in rules.chains.values() for rule in chain if isinstance(rule, Spread)]
    assert {spread.protocol for spread in spreads} == {6, 17, 132}
    table = table_of(service(ports=ports), slices)
    for port in ports:
        assert trace(table, POD, CLUSTER_IP, 53, protocol=port.protocol) == sent_to(H)


def test_both_families_have_rules_of_their_own() -> None:
    view = structs.replace(NODE_VIEW, subnets={"ip": "10.180.0.0/24", "ip6": "fd00:10:180::/64"})
    dual = service(
        cluster_ips=(CLUSTER_IP, "fd00:172:30::41"),
        ip_families=("IPv4", "IPv6"),
        external_ips=("2001:db8::1",),
    )
    slices = (LOCAL_ONLY, endpoint_slice(endpoint("fd00:10:180::3", "here"), family="IPv6"))
    first = table_of(dual, *slices, view=view)
    assert trace(first, POD, CLUSTER_IP, 80, view=view) == sent_to(H)
    second = table_of(dual, *slices, view=view, family="ip6")
    to = sent_to("[fd00:10:180::3]:80")
    assert trace(second, "fd00:10:180::9", "fd00:172:30::41", 80, view=view) == to
    assert trace(second, "fd00:10:180::9", "2001:db8::1", 80, view=view).masqueraded


def test_chains_have_the_names_of_kube_proxy() -> None:
    found = service("svc1", ports=NODE_PORT, type="NodePort", external_traffic_policy="Local")
    found = structs.replace(found, metadata=structs.replace(found.metadata, namespace="ns1"))
    rules = rules_of(found, LOCAL_ONLY)
    assert set(rules.chains) == {
        f"{kind}-ULMVA6XW-ns1/svc1/tcp/p80" for kind in ("service", "local", "external")
    }

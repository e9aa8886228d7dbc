"""Stale UDP connections: the cases of ``pkg/proxy/conntrack/cleanup_test.go``."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from msgspec import structs

from podling.api.core_v1 import ServicePort
from podling.api.discovery_v1 import Endpoint, EndpointPort
from podling.network.conntrack import Flow
from podling.network.services import service_ports
from podling.network.services.endpoint_slices import slice_record
from podling.network.services.udp_flows import UdpService, stale, udp_service, without_endpoints
from tests.support.service_packets import ending, endpoint, endpoint_slice, service


def end(address: str, port: int) -> bytes:
    return ip_address(address).packed + port.to_bytes(2, "big")


def flow(destination: str, port: int, answers_from: str, answer_port: int) -> Flow:
    return Flow(end(destination, port), end(answers_from, answer_port), b"")


def served(*endpoints: Endpoint) -> UdpService:
    found = service(
        ports=(ServicePort(name="dns", protocol="UDP", port=53, node_port=30053),),
        type="LoadBalancer",
        external_ips=("192.0.2.5",),
        ingress=("192.0.2.6",),
    )
    slices = structs.replace(
        endpoint_slice(*endpoints), ports=(EndpointPort(name="dns", protocol="UDP", port=5353),)
    )
    record = service_ports.record_of(found)
    assert record is not None
    return udp_service(record, [slice_record(slices)], "ip")


SERVED = served(endpoint("10.0.0.1"), ending("10.0.0.2"), endpoint("10.0.0.3", ready=False, serving=False))


@pytest.mark.parametrize(
    ("found", "is_stale"),
    [
        (flow("172.30.0.41", 53, "10.0.0.1", 5353), False),
        (flow("172.30.0.41", 53, "10.0.0.2", 5353), False),  # still serves
        (flow("172.30.0.41", 53, "10.0.0.3", 5353), True),
        (flow("172.30.0.41", 53, "10.0.0.9", 5353), True),
        (flow("172.30.0.41", 53, "10.0.0.1", 5354), True),  # the target port changed
        (flow("172.30.0.41", 53, "172.30.0.41", 53), True),  # began without endpoints
        (flow("172.30.0.41", 54, "10.0.0.9", 5353), False),
        (flow("192.0.2.5", 53, "10.0.0.9", 5353), True),
        (flow("192.0.2.6", 53, "10.0.0.9", 5353), True),
        (flow("192.168.0.2", 30053, "10.0.0.9", 5353), True),
        (flow("192.168.0.2", 30053, "10.0.0.1", 5353), False),
        (flow("8.8.8.8", 53, "8.8.8.8", 53), False),
    ],
)
def test_connection_that_no_serving_endpoint_answers_is_stale(found: Flow, is_stale: bool) -> None:
    assert stale([found], [SERVED]) == ([found] if is_stale else [])


def test_all_connections_of_a_deleted_service_are_stale() -> None:
    found = flow("172.30.0.41", 53, "10.0.0.1", 5353)
    assert stale([found], [without_endpoints(SERVED)]) == [found]


def test_address_that_another_service_has_now_follows_that_one() -> None:
    found = flow("172.30.0.41", 53, "10.0.0.1", 5353)
    assert stale([found], [without_endpoints(SERVED), SERVED]) == []


def test_service_without_udp_concerns_no_connection() -> None:
    record = service_ports.record_of(service())
    assert record is not None
    assert not udp_service(record, [slice_record(endpoint_slice(endpoint("10.0.0.1")))], "ip")

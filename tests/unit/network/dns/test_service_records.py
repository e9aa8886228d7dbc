"""Records from Services and EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterable

from podling.api.core_v1 import Service, ServicePort, ServiceSpec
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.network.dns import service_records
from podling.network.dns.records import (
    Address,
    Endpoints,
    Port,
    encode_records,
)
from podling.network.dns.service_records import SliceRecords, slice_records
from tests.support.dns_records import ServiceRecords, decode_records

METADATA = ObjectMeta(namespace="shop", name="web")
PORTS = (ServicePort(name="http", port=80, protocol="TCP"),)


def service(**spec: object) -> Service:
    return Service(metadata=METADATA, spec=ServiceSpec(**spec))  # type: ignore[arg-type]


def slice_of(*endpoints: Endpoint, ports: tuple[EndpointPort, ...] = ()) -> SliceRecords:
    return slice_records(EndpointSlice(address_type="IPv4", endpoints=endpoints, ports=ports))


def records_of(service: Service, slices: Iterable[SliceRecords]) -> ServiceRecords:
    return decode_records(encode_records(service_records.records_of(service, slices)))


def endpoint(ip: str, *, ready: bool | None = None, hostname: str | None = None) -> Endpoint:
    return Endpoint(addresses=(ip,), conditions=EndpointConditions(ready=ready), hostname=hostname)


def test_cluster_ip_service_has_addresses_and_ports() -> None:
    records = records_of(service(cluster_ips=("10.96.0.7", "fd00::7"), ports=PORTS), ())
    wanted = ServiceRecords("shop", "web", ("10.96.0.7", "fd00::7"), ports=(Port("http", "tcp", 80),))
    assert records == wanted
    assert not records.headless


def test_service_of_an_old_client_has_its_one_address() -> None:
    assert records_of(service(cluster_ip="10.96.0.7", ports=PORTS), ()).cluster_ips == ("10.96.0.7",)


def test_headless_service_has_no_address_of_its_own() -> None:
    for spec in ({"cluster_ip": "None"}, {"cluster_ips": ("None",), "cluster_ip": "None"}):
        records = records_of(service(**spec), ())
        assert records.headless
        assert records.ports == (Port("", "", -1),)


def test_external_name_is_nothing_but_a_name() -> None:
    found = records_of(service(type="ExternalName", external_name="example.org", ports=PORTS), ())
    assert found == ServiceRecords("shop", "web", external_name="example.org")
    assert not found.headless


def test_endpoints_that_are_not_ready_are_left_out() -> None:
    found = slice_of(
        endpoint("10.0.0.1"),
        endpoint("10.0.0.2", ready=True, hostname="web-1"),
        endpoint("10.0.0.3", ready=False, hostname="web-2"),
        ports=(EndpointPort(name="http", port=8080, protocol="TCP"), EndpointPort(name="any")),
    )
    idle = slice_of(endpoint("10.0.0.4", ready=False))
    assert records_of(service(cluster_ip="None"), (found, idle)).endpoints == (
        Endpoints(
            (Port("http", "tcp", 8080), Port("any", "", -1)),
            (Address("10.0.0.1"), Address("10.0.0.2", "web-1")),
        ),
    )


def test_slice_without_ports_still_has_addresses() -> None:
    records = records_of(service(cluster_ip="None"), (slice_of(endpoint("10.0.0.1")),))
    assert records.endpoints == (Endpoints((Port("", "", -1),), (Address("10.0.0.1"),)),)


def test_label_of_an_endpoint_follows_from_its_address() -> None:
    labels = {ip: Address(ip).label for ip in ("10.0.0.1", "fd00::1", "fd00::")}
    assert labels == {"10.0.0.1": "10-0-0-1", "fd00::1": "fd00--1", "fd00::": "fd00--0"}
    assert Address("10.0.0.1", "web-0").label == "web-0"

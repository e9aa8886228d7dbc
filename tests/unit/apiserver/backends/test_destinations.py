"""Destinations of proxied requests: names in URLs, ports of pods, endpoints of services."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    Container,
    ContainerPort,
    ObjectReference,
    Pod,
    PodIP,
    PodSpec,
    PodStatus,
    Service,
    ServicePort,
    ServiceSpec,
)
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.backends.destinations import (
    Destination,
    destination,
    pod_address,
    refuse_local,
    service_addresses,
)
from podling.machinery.errors import ApiError


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("web", Destination("http", "web", "")),
        ("web:80", Destination("http", "web", "80")),
        ("https:web:443", Destination("https", "web", "443")),
        ("https:web:", Destination("https", "web", "")),
        (":web:metrics", Destination("http", "web", "metrics")),
    ],
)
def test_name_is_split_into_scheme_name_and_port(text: str, wanted: Destination) -> None:
    assert destination(text) == wanted


@pytest.mark.parametrize("text", ["ftp:web:21", "a:b:c:d"])
def test_malformed_names_are_refused(text: str) -> None:
    with pytest.raises(ApiError, match="invalid proxy request"):
        destination(text)


def pod(ip: str = "10.0.0.5") -> Pod:
    ports = (ContainerPort(name="http", container_port=8080), ContainerPort(container_port=9090))
    spec = PodSpec(containers=(Container(name="c", ports=ports),))
    return Pod(
        metadata=ObjectMeta(name="p"), spec=spec, status=PodStatus(pod_ips=(PodIP(ip=ip),) if ip else ())
    )


@pytest.mark.parametrize(("port", "number"), [("", 8080), ("http", 8080), ("9090", 9090), ("7", 7)])
def test_port_of_a_pod_is_found(port: str, number: int) -> None:
    assert pod_address(pod(), port) == ("10.0.0.5", number)


def test_pod_without_address_is_unavailable() -> None:
    with pytest.raises(ApiError, match="pod p has no address"):
        pod_address(pod(""), "")
    with pytest.raises(ApiError, match="address not allowed"):
        pod_address(pod("127.0.0.1"), "")
    with pytest.raises(ApiError, match='no service port "grpc" found for pod "p"'):
        pod_address(pod(), "grpc")


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "224.0.0.1", "0.0.0.0", "::1"])
def test_local_addresses_are_refused(address: str) -> None:
    with pytest.raises(ApiError, match="address not allowed"):
        refuse_local(address)


SERVICE = Service(
    metadata=ObjectMeta(name="web", namespace="default"),
    spec=ServiceSpec(ports=(ServicePort(name="http", port=80), ServicePort(name="admin", port=81))),
)


def endpoints(*ready: bool, name: str = "web") -> EndpointSlice:
    return EndpointSlice(
        metadata=ObjectMeta(name=f"{name}-1", labels={"kubernetes.io/service-name": name}),
        endpoints=tuple(
            Endpoint(
                addresses=(f"10.0.0.{number}",),
                conditions=EndpointConditions(ready=each),
                target_ref=ObjectReference(kind="Pod", namespace="default", name=f"10.0.0.{number}"),
            )
            for number, each in enumerate(ready)
        ),
        ports=(EndpointPort(name="http", port=8080), EndpointPort(name="admin", port=9090)),
    )


@pytest.mark.parametrize(("port", "number"), [("http", 8080), ("80", 8080), ("admin", 9090)])
def test_ready_endpoints_of_a_service(port: str, number: int) -> None:
    slices = [endpoints(True, False, True), endpoints(True, name="other")]
    assert service_addresses(SERVICE, slices, port, pod) == [("10.0.0.0", number), ("10.0.0.2", number)]


def test_service_without_endpoints_is_unavailable() -> None:
    with pytest.raises(ApiError, match='no endpoints available for service "web"'):
        service_addresses(SERVICE, [endpoints(False)], "http", pod)
    for unknown in ("x", ""):
        with pytest.raises(ApiError, match='no endpoints available for service "web"'):
            service_addresses(SERVICE, [endpoints(True)], unknown, pod)
    with pytest.raises(ApiError, match='no service port 99 found for service "web"'):
        service_addresses(SERVICE, [endpoints(True)], "99", pod)


REF = ObjectReference(kind="Pod", namespace="default", name="10.0.0.5")
FORGED: list[tuple[ObjectReference | None, str]] = [
    (None, "10.0.0.5"),
    (structs.replace(REF, namespace="other"), "10.0.0.5"),
    (structs.replace(REF, name="gone"), "10.0.0.5"),
    (structs.replace(REF, kind="Node"), "10.0.0.5"),
    (REF, "192.0.2.2"),
    (REF, "127.0.0.1"),
]


@pytest.mark.parametrize(("ref", "address"), FORGED)
def test_endpoint_that_is_no_pod_of_the_namespace_is_refused(
    ref: ObjectReference | None, address: str
) -> None:
    """Writers of endpoints must not reach services of the node."""
    honest = endpoints(True)
    forged = structs.replace(honest, endpoints=(Endpoint(addresses=(address,), target_ref=ref),))
    with pytest.raises(ApiError, match="no endpoints available"):
        service_addresses(SERVICE, [forged], "http", lambda name: None if name == "gone" else pod(name))

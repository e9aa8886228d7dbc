"""The Service ``kube-dns`` and its slices follow what nodes state of their DNS servers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest
from msgspec import structs

from podling.api.core_v1 import Node, NodeSpec, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.endpoints.cluster_dns import ClusterDnsController, make_service, place_of, service_at
from podling.machinery.cluster_dns import ANNOTATION, DnsPlace, dns_service_address
from podling.testing import ControlPlane
from tests.support.control_loops import running

SELECTOR = "kubernetes.io/service-name=kube-dns"


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, ClusterDnsController) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


def stated(*addresses: str, port: int = 53) -> dict[str, str]:
    return {ANNOTATION: msgspec.json.encode(DnsPlace(addresses, port, 9153)).decode()}


async def make_node(cluster: ControlPlane, name: str, annotations: dict[str, str]) -> Node:
    spec = NodeSpec(pod_cidrs=("10.88.1.0/24", "fd00:1::/64"), pod_cidr="10.88.1.0/24")
    node = Node(metadata=ObjectMeta(name=name, annotations=annotations), spec=spec)
    made = await cluster.client.create(node)
    await cluster.advance(seconds=1)
    return made


async def slices(cluster: ControlPlane) -> list[EndpointSlice]:
    return list((await cluster.client.list(EndpointSlice, "kube-system", label_selector=SELECTOR)).items)


@pytest.mark.usefixtures("manager")
async def test_first_server_brings_the_service(cluster: ControlPlane) -> None:
    await make_node(cluster, "idle", {})
    assert (await cluster.client.list(Service, "kube-system")).items == ()
    await make_node(cluster, "a", stated("10.88.1.1", "fd00:1::1", port=5353))
    service = await cluster.client.get(Service, "kube-dns", "kube-system")
    assert service.spec.cluster_ip == "10.96.0.10"
    assert service.spec.internal_traffic_policy == "Local"
    assert [(port.name, port.protocol, port.port) for port in service.spec.ports] == [
        ("dns", "UDP", 53),
        ("dns-tcp", "TCP", 53),
        ("metrics", "TCP", 9153),
    ]
    assert service.metadata.labels["kubernetes.io/name"] == "CoreDNS"
    found = {each.metadata.name: each for each in await slices(cluster)}
    assert {name: each.address_type for name, each in found.items()} == {
        "kube-dns-a": "IPv4",
        "kube-dns-a-ipv6": "IPv6",
    }
    (endpoint,) = found["kube-dns-a"].endpoints
    assert (endpoint.addresses, endpoint.node_name, endpoint.conditions.ready) == (("10.88.1.1",), "a", True)
    assert [port.port for port in found["kube-dns-a"].ports] == [5353, 5353, 9153]


async def test_service_of_a_new_cluster_needs_no_node(cluster: ControlPlane) -> None:
    await make_service(cluster.client)
    made = await cluster.client.get(Service, "kube-dns", "kube-system")
    assert (made.spec.cluster_ips, made.spec.ip_family_policy) == (("10.96.0.10",), "SingleStack")
    await make_service(cluster.client)
    assert await cluster.client.get(Service, "kube-dns", "kube-system") == made


async def test_taken_address_does_not_stop_a_cluster(cluster: ControlPlane) -> None:
    other = service_at("10.96.0.10")
    await cluster.client.create(
        structs.replace(other, metadata=ObjectMeta(name="other", namespace="default"))
    )
    await make_service(cluster.client)
    assert (await cluster.client.list(Service, "kube-system")).items == ()


@pytest.mark.usefixtures("manager")
async def test_slices_follow_the_node(cluster: ControlPlane) -> None:
    node = await make_node(cluster, "a", stated("10.88.1.1"))
    patch = {"metadata": {"annotations": stated("10.88.1.1", port=5353)}}
    await cluster.client.patch(Node, "a", patch)
    await cluster.advance(seconds=1)
    (held,) = await slices(cluster)
    assert [port.port for port in held.ports] == [5353, 5353, 9153]
    await cluster.client.delete(EndpointSlice, held.metadata.name or "", "kube-system")
    await cluster.advance(seconds=1)
    assert len(await slices(cluster)) == 1, "it comes back"
    (held,) = await slices(cluster)
    await cluster.client.update(structs.replace(held, endpoints=()))
    await cluster.advance(seconds=1)
    assert [each.addresses for each in (await slices(cluster))[0].endpoints] == [("10.88.1.1",)]
    await cluster.client.delete(Node, node.metadata.name or "")
    await cluster.advance(seconds=1)
    assert await slices(cluster) == []


@pytest.mark.usefixtures("manager")
async def test_service_that_is_deleted_comes_back(cluster: ControlPlane) -> None:
    await make_node(cluster, "a", stated("10.88.1.1"))
    await cluster.client.delete(Service, "kube-dns", "kube-system")
    await cluster.advance(seconds=1)
    assert (await cluster.client.get(Service, "kube-dns", "kube-system")).spec.cluster_ip == "10.96.0.10"


@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        ('{"addresses": ["10.88.1.1"], "port": 53, "metricsPort": 9153}', DnsPlace(("10.88.1.1",), 53, 9153)),
        (
            '{"addresses": ["10.88.1.1", "10.88.2.1"], "port": 53, "metricsPort": 9153}',
            DnsPlace(("10.88.1.1",), 53, 9153),
        ),
        ('{"addresses": ["10.96.0.1"], "port": 53, "metricsPort": 9153}', None),
        ('{"addresses": ["10.88.1.1"], "port": 0, "metricsPort": 9153}', None),
        ('{"addresses": ["x"], "port": 53, "metricsPort": 9153}', None),
        ('{"addresses": "10.88.1.1"}', None),
        ("10.88.1.1", None),
        ("", None),
    ],
)
def test_node_states_addresses_of_its_own_only(annotation: str, wanted: DnsPlace | None) -> None:
    metadata = ObjectMeta(name="a", annotations={ANNOTATION: annotation})
    assert place_of(Node(metadata=metadata, spec=NodeSpec(pod_cidrs=("10.88.1.0/24",)))) == wanted


def test_service_has_the_tenth_address() -> None:
    assert dns_service_address("10.96.0.1") == "10.96.0.10"
    assert dns_service_address("fd00:10::1") == "fd00:10::a"

"""Objects that a new cluster has, and the ``kubernetes`` Service."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

from podling.api.core_v1 import Endpoints, Namespace, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.api.rbac_v1 import ClusterRole
from podling.api.scheduling_v1 import PriorityClass
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.bootstrap import Endpoint, announce, bootstrap
from podling.apiserver.registry.registry import Registry
from podling.apiserver.registry.service_ip_allocator import ServiceAllocation, first_address
from podling.apiserver.server import ApiServer
from podling.controllers.namespace import NamespaceController
from podling.machinery.network_ranges import SERVICE_RANGE, network_ranges
from podling.store.memory import MemoryStore
from podling.testing import ControlPlane
from tests.support.control_loops import running


async def test_new_cluster_has_namespaces_and_priority_classes(cluster: ControlPlane) -> None:
    namespaces = await cluster.client.list(Namespace)
    assert [each.metadata.name for each in namespaces.items] == [
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
    ]
    classes = await cluster.client.list(PriorityClass)
    assert {each.metadata.name: each.value for each in classes.items} == {
        "system-cluster-critical": 2000000000,
        "system-node-critical": 2000001000,
    }
    service = await cluster.client.get(Service, "kubernetes", "default")
    assert (service.spec.cluster_ip, service.spec.ports[0].port) == ("10.96.0.1", 443)


async def test_a_second_start_changes_nothing(cluster: ControlPlane) -> None:
    before = cluster.store.revision
    await bootstrap(cluster.backend)
    assert cluster.store.revision == before


async def test_changed_default_role_is_restored(cluster: ControlPlane) -> None:
    await cluster.client.patch(ClusterRole, "view", {"rules": []})
    await bootstrap(cluster.backend)
    assert (await cluster.client.get(ClusterRole, "view")).rules
    hands_off = {"metadata": {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}}
    await cluster.client.patch(ClusterRole, "view", {"rules": [], **hands_off})
    await bootstrap(cluster.backend)
    assert not (await cluster.client.get(ClusterRole, "view")).rules


async def test_kubernetes_service_has_the_current_address(cluster: ControlPlane) -> None:
    for port in (7000, 8000):
        await announce(cluster.backend, Endpoint(port=port, address="192.0.2.1"))
        service = await cluster.client.get(Service, "kubernetes", "default")
        endpoints = await cluster.client.get(Endpoints, "kubernetes", "default")
        slice_ = await cluster.client.get(EndpointSlice, "kubernetes", "default")
        assert service.spec.ports[0].target_port == port
        assert endpoints.subsets[0].ports[0].port == port
        assert slice_.ports[0].port == port
        assert slice_.endpoints[0].addresses == ("192.0.2.1",)


class CountingRegistry:
    """Passes everything on to a registry, and counts updates."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.updates = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)

    async def update(self, *arguments: Any) -> Any:
        self.updates += 1
        return await self._registry.update(*arguments)


async def test_announcement_of_the_same_address_writes_nothing(cluster: ControlPlane) -> None:
    registry: Any = CountingRegistry(cluster.server.registry)
    await announce(registry, Endpoint(port=7000, address="192.0.2.1"))
    before = registry.updates
    await announce(registry, Endpoint(port=7000, address="192.0.2.1"))
    assert registry.updates == before
    await announce(registry, Endpoint(port=7001, address="192.0.2.1"))
    assert registry.updates == before + 3


async def test_deleted_system_objects_are_restored(cluster: ControlPlane) -> None:
    await cluster.server.announce("192.0.2.1", 7000)
    async with running(cluster.client, NamespaceController):
        for kind in (Service, Endpoints, EndpointSlice):
            await cluster.client.delete(kind, "kubernetes", "default")
        await cluster.client.delete(Namespace, "kube-node-lease")
        await cluster.advance(seconds=30)
    service = await cluster.client.get(Service, "kubernetes", "default")
    endpoints = await cluster.client.get(Endpoints, "kubernetes", "default")
    slice_ = await cluster.client.get(EndpointSlice, "kubernetes", "default")
    assert (service.spec.cluster_ip, service.spec.ports[0].target_port) == ("10.96.0.1", 7000)
    assert endpoints.subsets[0].addresses[0].ip == slice_.endpoints[0].addresses[0] == "192.0.2.1"
    assert (await cluster.client.get(Namespace, "kube-node-lease")).status.phase == "Active"
    before = cluster.store.revision
    await cluster.advance(minutes=5)
    assert cluster.store.revision == before


async def test_later_address_replaces_an_unreachable_one(cluster: ControlPlane) -> None:
    """A server that listens on all addresses announces that first, then the one that pods can use."""
    for address in ("0.0.0.0", "192.0.2.1", "127.0.0.1"):
        await cluster.server.announce(address, 7000)
    endpoints = await cluster.client.get(Endpoints, "kubernetes", "default")
    assert endpoints.subsets[0].addresses[0].ip == "192.0.2.1"
    await cluster.server.announce("192.0.2.2", 7001)
    slice_ = await cluster.client.get(EndpointSlice, "kubernetes", "default")
    assert (slice_.endpoints[0].addresses, slice_.ports[0].port) == (("192.0.2.2",), 7001)
    assert slice_.metadata.labels["kubernetes.io/service-name"] == "kubernetes"


async def test_loopback_address_is_no_endpoint(cluster: ControlPlane) -> None:
    await announce(cluster.backend, Endpoint(address="127.0.0.1"))
    assert (await cluster.client.list(Endpoints)).items == ()


async def test_kubernetes_service_has_first_address_of_range() -> None:
    assert Endpoint().cluster_ip == first_address() == str(ip_network(SERVICE_RANGE)[1])
    store, ranges = MemoryStore(), network_ranges(services="10.200.0.0/16")
    other = ApiServer(store, [ServiceAllocation(ranges)], ranges=ranges)
    await other.start()
    service = await other.client().get(Service, "kubernetes", "default")
    assert service.spec.cluster_ip == "10.200.0.1"
    assert other.cluster_addresses() == ("10.200.0.1",)
    await other.stop()
    later = ApiServer(store, plugins_without_controllers())
    await later.start()
    assert later.cluster_addresses() == ("10.96.0.1", "10.200.0.1"), "the stored Service keeps its address"
    await later.stop()
    await store.close()

"""What a cluster holds from the start, how long it remembers, and what it says it serves."""

from __future__ import annotations

from ipaddress import ip_network

from podling.api.core_v1 import Endpoints, Namespace, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.api.rbac_v1 import ClusterRole
from podling.api.scheduling_v1 import PriorityClass
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.bootstrap import Endpoint, announce, bootstrap
from podling.apiserver.compaction import KEPT_CHANGES, KEPT_SECONDS, History
from podling.apiserver.http import discovery
from podling.apiserver.registry.service_ip_allocator import CLUSTER_CIDR, ServiceAllocation, first_address
from podling.apiserver.server import ApiServer
from podling.controllers.namespace import NamespaceController
from podling.machinery.scheme import RESOURCES
from podling.store.memory import MemoryStore
from podling.testing import ControlPlane
from tests.support.control_loops import running


async def test_what_is_there(cluster: ControlPlane) -> None:
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


async def test_a_role_of_ours_is_kept_up_to_date(cluster: ControlPlane) -> None:
    await cluster.client.patch(ClusterRole, "view", {"rules": []})
    await bootstrap(cluster.backend)
    assert (await cluster.client.get(ClusterRole, "view")).rules
    hands_off = {"metadata": {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}}
    await cluster.client.patch(ClusterRole, "view", {"rules": [], **hands_off})
    await bootstrap(cluster.backend)
    assert not (await cluster.client.get(ClusterRole, "view")).rules


async def test_the_service_leads_to_where_the_server_is_now(cluster: ControlPlane) -> None:
    for port in (7000, 8000):
        await announce(cluster.backend, Endpoint(port=port, address="192.0.2.1"))
        service = await cluster.client.get(Service, "kubernetes", "default")
        endpoints = await cluster.client.get(Endpoints, "kubernetes", "default")
        slice_ = await cluster.client.get(EndpointSlice, "kubernetes", "default")
        assert service.spec.ports[0].target_port == port
        assert endpoints.subsets[0].ports[0].port == port
        assert slice_.ports[0].port == port
        assert slice_.endpoints[0].addresses == ("192.0.2.1",)


async def test_what_no_cluster_can_be_without_comes_back(cluster: ControlPlane) -> None:
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


async def test_later_address_replaces_one_that_nothing_can_reach(cluster: ControlPlane) -> None:
    """A server that listens on all addresses announces that first, then the one that pods can use."""
    for address in ("0.0.0.0", "192.0.2.1", "127.0.0.1"):
        await cluster.server.announce(address, 7000)
    endpoints = await cluster.client.get(Endpoints, "kubernetes", "default")
    assert endpoints.subsets[0].addresses[0].ip == "192.0.2.1"
    await cluster.server.announce("192.0.2.2", 7001)
    slice_ = await cluster.client.get(EndpointSlice, "kubernetes", "default")
    assert (slice_.endpoints[0].addresses, slice_.ports[0].port) == (("192.0.2.2",), 7001)
    assert slice_.metadata.labels["kubernetes.io/service-name"] == "kubernetes"


async def test_a_loopback_address_is_no_endpoint(cluster: ControlPlane) -> None:
    await announce(cluster.backend, Endpoint(address="127.0.0.1"))
    assert (await cluster.client.list(Endpoints)).items == ()


async def test_kubernetes_service_has_first_address_of_range() -> None:
    assert Endpoint().cluster_ip == first_address() == str(ip_network(CLUSTER_CIDR)[1])
    store, cidr = MemoryStore(), "10.200.0.0/16"
    other = ApiServer(store, [ServiceAllocation(cidr)], Endpoint(cluster_ip=first_address(cidr)))
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


def test_history_goes_by_age_and_by_number() -> None:
    history = History()
    assert history.look(0, 10) == 0
    assert history.look(KEPT_SECONDS - 1, 20) == 0
    assert history.look(KEPT_SECONDS, 30) == 10
    assert history.look(KEPT_SECONDS + 1, 30 + KEPT_CHANGES) == 30


def test_discovery_tells_the_same_in_both_forms() -> None:
    aggregated = {
        (item["metadata"].get("name", ""), version["version"], each["resource"]): each
        for core in (True, False)
        for item in discovery.aggregated(core=core)["items"]
        for version in item["versions"]
        for each in version["resources"]
    }
    assert len(aggregated) == len(RESOURCES)
    for (group, version, plural), each in aggregated.items():
        listed = discovery.resources(group, version)
        assert listed is not None
        named = {resource.name: resource for resource in listed.resources}
        assert each["responseKind"]["kind"] == named[plural].kind
        parts = {name.partition("/")[2] for name in named if name.startswith(f"{plural}/")}
        assert {part["subresource"] for part in each.get("subresources", ())} == parts


def test_groups_and_versions() -> None:
    names = [each.name for each in discovery.groups().groups]
    assert "apps" in names
    assert "" not in names
    apps = discovery.group("apps")
    assert apps is not None
    assert apps.preferred_version.group_version == "apps/v1"
    assert discovery.group("nothing") is None
    assert discovery.resources("apps", "v9") is None


def test_the_version_is_one_that_clients_can_read() -> None:
    found = discovery.version()
    assert (found.major, found.minor) == ("1", "36")
    assert found.git_version.startswith("v1.36.2+podling")

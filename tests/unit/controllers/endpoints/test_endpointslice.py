"""EndpointSlices: the addresses of a service's pods and their readiness."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec import structs

from podling.api.core_v1 import Node, Pod, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.client.local import LocalClient
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.endpoints import endpoint_rules as rules
from podling.controllers.endpoints.endpointslice import EndpointSliceController
from podling.controllers.endpoints.slice_rules import MANAGED_BY, SERVICE_NAME
from podling.machinery.errors import ApiError, forbidden
from podling.machinery.network_ranges import network_ranges
from podling.sim.connection import Connection, RequestFault
from podling.testing import ControlPlane, memory_cluster
from tests.support.control_loops import add_node, pod, running, told
from tests.support.one_pass import following
from tests.unit.controllers.endpoints.services import service


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    await add_node(cluster.client, "n1")
    async with running(cluster.client, EndpointSliceController) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


NEW = structs.replace(service(), metadata=ObjectMeta(name="web", namespace="default"))


async def slices(cluster: ControlPlane) -> list[EndpointSlice]:
    """Return the slices of the service ``web``."""
    selector = f"{SERVICE_NAME}=web"
    return list((await cluster.client.list(EndpointSlice, "default", label_selector=selector)).items)


async def serve(cluster: ControlPlane, name: str, ip: str, *, ready: bool) -> None:
    """A pod gets its address and readiness, as its kubelet would report."""
    conditions = [{"type": "Ready", "status": str(ready)}]
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions}
    await cluster.client.patch(Pod, name, {"status": status}, "default", subresource="status")
    await cluster.advance(seconds=1)


@pytest.mark.usefixtures("manager")
async def test_a_service_follows_its_pods(cluster: ControlPlane) -> None:
    created = await cluster.client.create(NEW)
    await cluster.advance(seconds=1)
    (empty,) = await slices(cluster)
    assert (empty.endpoints, empty.address_type) == ((), "IPv4")
    await cluster.client.create(pod("p", node="n1", labels={"app": "web"}))
    await serve(cluster, "p", "10.0.0.7", ready=False)
    (held,) = await slices(cluster)
    assert held.metadata.labels[MANAGED_BY] == rules.MANAGER
    assert (held.metadata.name or "").startswith("web-")
    assert held.metadata.owner_references[0].uid == created.metadata.uid
    assert [(each.port, each.protocol, each.name) for each in held.ports] == [(8080, "TCP", "")]
    assert held.endpoints[0].conditions.ready is False
    await serve(cluster, "p", "10.0.0.7", ready=True)
    (held,) = await slices(cluster)
    assert held.endpoints[0].conditions.ready is True
    await cluster.client.delete(Pod, "p", "default", grace_seconds=0)
    await cluster.advance(seconds=1)
    (held,) = await slices(cluster)
    assert held.endpoints == ()


@pytest.mark.usefixtures("manager")
async def test_a_service_without_a_selector_is_left_to_its_owner(cluster: ControlPlane) -> None:
    bare = structs.replace(service(selector={}), metadata=ObjectMeta(name="web", namespace="default"))
    await cluster.client.create(bare)
    await cluster.advance(seconds=1)
    assert await slices(cluster) == []


async def test_slices_of_one_family_that_fail_do_not_keep_those_of_the_other() -> None:
    """Case of ``Reconcile``, which collects the errors of all address types."""
    ranges = network_ranges(services="10.96.0.0/16,fd00:96::/112")
    async with memory_cluster(ranges=ranges) as cluster:
        spec = structs.replace(NEW.spec, ip_family_policy="RequireDualStack")
        await cluster.client.create(structs.replace(NEW, spec=spec))
        connection = Connection(lambda: cluster.backend, "controller")
        refusal = RequestFault(
            verb="create",
            resource="endpointslices",
            error=lambda: forbidden("endpointslices", "discovery.k8s.io", "", "no"),
            times=1,
        )
        connection.faults.append(refusal)
        async with following(LocalClient(connection), EndpointSliceController) as controller:
            with pytest.raises(ApiError, match="forbidden"):
                await controller.reconcile(Key("default", "web"))
            assert [each.address_type for each in await slices(cluster)] == ["IPv6"]


async def test_pod_of_unknown_node_is_left_out_and_reported_until_the_node_is_known(
    cluster: ControlPlane,
) -> None:
    async with running(cluster.client, EndpointSliceController):
        await cluster.client.create(NEW)
        await cluster.client.create(pod("p", node="n2", labels={"app": "web"}))
        await serve(cluster, "p", "10.0.0.7", ready=True)
        assert (await slices(cluster))[0].endpoints == ()
        assert (await told(cluster.client))[0] == (
            "Warning FailedToUpdateEndpointSlices web: Error updating Endpoint Slices for Service "
            "default/web: skipping Pod p for Service default/web: Node n2 Not Found"
        )
        await add_node(cluster.client, "n2", **{rules.ZONE: "b"})
        await cluster.advance(seconds=1)
        assert (await slices(cluster))[0].endpoints[0].zone == "b"


@pytest.mark.usefixtures("manager")
async def test_slice_keeps_its_name_when_the_last_pod_goes_and_when_ports_change(
    cluster: ControlPlane,
) -> None:
    await cluster.client.create(NEW)
    await cluster.advance(seconds=1)
    (empty,) = await slices(cluster)
    await cluster.client.create(pod("p", node="n1", labels={"app": "web"}))
    await serve(cluster, "p", "10.0.0.7", ready=True)
    ports = {"spec": {"ports": [{"port": 80, "targetPort": 9090}]}}
    await cluster.client.patch(Service, "web", ports, "default")
    await cluster.advance(seconds=1)
    (held,) = await slices(cluster)
    assert (held.metadata.name, held.ports[0].port) == (empty.metadata.name, 9090)
    await cluster.client.delete(Pod, "p", "default", grace_seconds=0)
    await cluster.advance(seconds=1)
    assert [each.metadata.name for each in await slices(cluster)] == [empty.metadata.name]


@pytest.mark.usefixtures("manager")
async def test_slice_under_another_service_or_without_owner_is_replaced(cluster: ControlPlane) -> None:
    await cluster.client.create(NEW)
    await cluster.advance(seconds=1)
    (held,) = await slices(cluster)
    name = held.metadata.name or ""
    await cluster.client.patch(EndpointSlice, name, {"metadata": {"ownerReferences": None}}, "default")
    await cluster.advance(seconds=1)
    (other,) = await slices(cluster)
    assert other.metadata.name != name
    label = {"metadata": {"labels": {SERVICE_NAME: "other"}}}
    await cluster.client.patch(EndpointSlice, other.metadata.name or "", label, "default")
    await cluster.advance(seconds=1)
    (third,) = await slices(cluster)
    assert third.metadata.name != other.metadata.name


@pytest.mark.usefixtures("manager")
async def test_topology_mode_gives_hints_while_the_nodes_allow_it(cluster: ControlPlane) -> None:
    for name, zone in (("a1", "a"), ("b1", "b")):
        await add_node(cluster.client, name, **{rules.ZONE: zone})
        await cluster.client.patch(
            Node, name, {"status": {"allocatable": {"cpu": "4"}}}, subresource="status"
        )
    await cluster.client.delete(Node, "n1")
    await cluster.advance(seconds=1)
    annotations = {"service.kubernetes.io/topology-mode": "Auto"}
    await cluster.client.create(
        structs.replace(NEW, metadata=structs.replace(NEW.metadata, annotations=annotations))
    )
    for name, node, ip in (("p", "a1", "10.0.0.1"), ("q", "b1", "10.0.0.2")):
        await cluster.client.create(pod(name, node=node, labels={"app": "web"}))
        await serve(cluster, name, ip, ready=True)
    assert await zones(cluster) == ["a", "b"]
    await cluster.client.patch(Node, "b1", {"metadata": {"labels": {rules.ZONE: "a"}}})
    await cluster.advance(seconds=1)
    assert await zones(cluster) == []
    await cluster.advance(seconds=1)
    assert {text for text in await told(cluster.client) if "TopologyAware" in text} == {
        "Warning TopologyAwareHintsDisabled web: Insufficient number of endpoints (1 endpoints, 2 zones), "
        "addressType: IPv4",
        "Normal TopologyAwareHintsEnabled web: Topology Aware Hints has been enabled, addressType: IPv4",
        "Warning TopologyAwareHintsDisabled web: Insufficient Node information: allocatable CPU or zone not "
        "specified on one or more nodes, addressType: IPv4",
    }


async def zones(cluster: ControlPlane) -> list[str]:
    """Return the zones for which there are hints."""
    (held,) = await slices(cluster)
    hints = [each.hints for each in held.endpoints if each.hints is not None]
    return sorted(zone.name for each in hints for zone in each.for_zones)

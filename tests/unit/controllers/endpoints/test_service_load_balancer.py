"""The controller of Services of type LoadBalancer beside the API server in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.api.core_v1 import Container, ContainerPort, Node, Pod, Service, ServicePort, ServiceSpec
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.endpoints.load_balancer_rules import EXCLUDE_LABEL, FINALIZER
from podling.controllers.endpoints.service_load_balancer import ServiceLoadBalancerController
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, heartbeat, pod, running
from tests.support.control_loops import told as events_by_name

ENSURED = {"EnsuringLoadBalancer: Ensuring load balancer", "EnsuredLoadBalancer: Ensured load balancer"}
DELETED = {"DeletingLoadBalancer: Deleting load balancer", "DeletedLoadBalancer: Deleted load balancer"}
UPDATED = {"UpdatedLoadBalancer: Updated load balancer with new hosts"}
ENSURING = {"EnsuringLoadBalancer: Ensuring load balancer"}


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    await node(cluster, "n1", "10.0.0.1")
    async with running(cluster.client, ServiceLoadBalancerController) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


async def node(cluster: ControlPlane, name: str, address: str) -> None:
    await add_node(cluster.client, name)
    status = {"status": {"addresses": [{"type": "InternalIP", "address": address}]}}
    await cluster.client.patch(Node, name, status, subresource="status")
    await cluster.advance(seconds=1)


async def create(cluster: ControlPlane, name: str = "web", port: int = 80, **spec: Any) -> None:
    spec.setdefault("type", "LoadBalancer")
    created = Service(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=ServiceSpec(ports=(ServicePort(port=port),), selector={"app": "web"}, **spec),
    )
    await cluster.client.create(created)
    await cluster.advance(seconds=5)


async def change(cluster: ControlPlane, name: str = "web", **spec: Any) -> None:
    await cluster.client.patch(Service, name, {"spec": spec}, "default")
    await cluster.advance(seconds=5)


async def told(cluster: ControlPlane, name: str = "web") -> set[str]:
    """Return every event about a Service: several are recorded at one instant, so they have no order."""
    found = [text.split(" ", 2)[1:] for text in await events_by_name(cluster.client)]
    return {
        f"{reason}: {message}"
        for reason, rest in found
        for about, _, message in [rest.partition(": ")]
        if about == name
    }


async def addresses(cluster: ControlPlane, name: str = "web") -> list[tuple[str, str | None]]:
    found = await cluster.client.get(Service, name, "default")
    return [(each.ip, each.ip_mode) for each in found.status.load_balancer.ingress]


@pytest.mark.usefixtures("manager")
async def test_service_gets_addresses_of_nodes_and_gives_them_back(cluster: ControlPlane) -> None:
    await create(cluster)
    assert await addresses(cluster) == [("10.0.0.1", "VIP")]
    assert (await cluster.client.get(Service, "web", "default")).metadata.finalizers == (FINALIZER,)
    assert await told(cluster) == ENSURED
    await node(cluster, "n2", "10.0.0.2")
    await cluster.advance(seconds=5)
    assert await addresses(cluster) == [("10.0.0.1", "VIP"), ("10.0.0.2", "VIP")]
    assert await told(cluster) == ENSURED | UPDATED
    await cluster.client.delete(Service, "web", "default")
    await cluster.advance(seconds=5)
    assert (await cluster.client.list(Service, "default", label_selector="!component")).items == ()
    assert await told(cluster) == ENSURED | UPDATED | DELETED


@pytest.mark.usefixtures("manager")
async def test_change_of_type_ends_and_begins_load_balancer(cluster: ControlPlane) -> None:
    await create(cluster)
    await change(cluster, type="ClusterIP")
    assert await addresses(cluster) == []
    assert (await cluster.client.get(Service, "web", "default")).metadata.finalizers == ()
    await change(cluster, type="LoadBalancer")
    assert await addresses(cluster) == [("10.0.0.1", "VIP")]
    types = {"Type: LoadBalancer -> ClusterIP", "Type: ClusterIP -> LoadBalancer"}
    assert await told(cluster) == ENSURED | DELETED | types


@pytest.mark.usefixtures("manager")
async def test_service_of_another_class_stays_as_it_is(cluster: ControlPlane) -> None:
    await create(cluster, load_balancer_class="example.com/other")
    patch = {"metadata": {"finalizers": [FINALIZER]}}
    await cluster.client.patch(Service, "web", patch, "default")
    await cluster.advance(seconds=5)
    assert await addresses(cluster) == []
    await change(cluster, type="ClusterIP", loadBalancerClass=None)
    await cluster.client.delete(Service, "web", "default")
    await cluster.advance(seconds=5)
    assert (await cluster.client.get(Service, "web", "default")).metadata.finalizers == (FINALIZER,)
    assert await told(cluster) == set()


@pytest.mark.usefixtures("manager")
async def test_second_service_waits_for_port_with_event(cluster: ControlPlane) -> None:
    await create(cluster)
    await create(cluster, "late")
    assert await addresses(cluster, "late") == []
    reason = "port 80/TCP of 10.0.0.1 is used by Service default/web"
    failed = f"SyncLoadBalancerFailed: Error syncing load balancer: failed to ensure load balancer: {reason}"
    assert await told(cluster, "late") == ENSURING | {failed}
    await cluster.client.delete(Service, "web", "default")
    await cluster.advance(seconds=5)
    assert await addresses(cluster, "late") == [("10.0.0.1", "VIP")]


@pytest.mark.usefixtures("manager")
async def test_service_without_available_nodes_says_so(cluster: ControlPlane) -> None:
    await heartbeat(cluster.client, "n1", ready="False")
    await create(cluster)
    none = {"UnAvailableLoadBalancer: There are no available nodes for LoadBalancer"}
    assert await told(cluster) == ENSURING | none
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    await cluster.client.patch(Node, "n1", {"status": ready}, subresource="status")
    await cluster.advance(seconds=5)
    assert await addresses(cluster) == [("10.0.0.1", "VIP")]
    await cluster.client.patch(Node, "n1", {"metadata": {"labels": {EXCLUDE_LABEL: ""}}})
    await cluster.advance(seconds=5)
    assert await addresses(cluster) == []


def slice_of(node: str, *, ready: bool) -> EndpointSlice:
    conditions = EndpointConditions(ready=ready, serving=ready, terminating=False)
    return EndpointSlice(
        metadata=ObjectMeta(name="web-1", namespace="default", labels={"kubernetes.io/service-name": "web"}),
        address_type="IPv4",
        endpoints=(Endpoint(addresses=("10.1.0.1",), node_name=node, conditions=conditions),),
        ports=(EndpointPort(port=80, protocol="TCP"),),
    )


@pytest.mark.usefixtures("manager")
async def test_local_traffic_policy_follows_ready_endpoints(cluster: ControlPlane) -> None:
    await node(cluster, "n2", "10.0.0.2")
    await create(cluster, external_traffic_policy="Local")
    assert await addresses(cluster) == []
    created = await cluster.client.create(slice_of("n2", ready=True))
    await cluster.advance(seconds=5)
    assert await addresses(cluster) == [("10.0.0.2", "VIP")]
    endpoints = [{"addresses": ["10.1.0.1"], "nodeName": "n2", "conditions": {"ready": False}}]
    name = created.metadata.name or ""
    await cluster.client.patch(EndpointSlice, name, {"endpoints": endpoints}, "default")
    await cluster.advance(seconds=5)
    assert await addresses(cluster) == []
    await change(cluster, externalTrafficPolicy="Cluster")
    assert await addresses(cluster) == [("10.0.0.1", "VIP"), ("10.0.0.2", "VIP")]


@pytest.mark.usefixtures("manager")
async def test_host_port_of_pod_keeps_address_while_pod_lives(cluster: ControlPlane) -> None:
    ports = (ContainerPort(container_port=80, host_port=80),)
    taking = pod("proxy", node="n1", containers=(Container(name="main", image="busybox", ports=ports),))
    await cluster.client.create(taking)
    await create(cluster)
    assert await addresses(cluster) == []
    await cluster.client.delete(Pod, "proxy", "default", grace_seconds=0)
    await cluster.advance(seconds=5)
    assert await addresses(cluster) == [("10.0.0.1", "VIP")]


async def test_restarted_controller_repeats_no_events(cluster: ControlPlane) -> None:
    await node(cluster, "n1", "10.0.0.1")
    for _ in range(2):
        async with running(cluster.client, ServiceLoadBalancerController):
            if not (await cluster.client.list(Service, "default", label_selector="!component")).items:
                await create(cluster)
            await cluster.advance(minutes=10)
    assert await told(cluster) == ENSURED


@pytest.mark.usefixtures("manager")
async def test_node_port_of_another_service_keeps_address_while_it_exists(cluster: ControlPlane) -> None:
    await create(cluster, "other", 81, type="NodePort")
    found = await cluster.client.get(Service, "other", "default")
    port = found.spec.ports[0].node_port
    await create(cluster, port=port)
    assert await addresses(cluster) == []
    reason = f"port {port}/TCP of 10.0.0.1 is used by the node port of Service default/other"
    assert any(reason in each for each in await told(cluster))
    await cluster.client.delete(Service, "other", "default")
    await cluster.advance(seconds=5)
    assert [address for address, _ in await addresses(cluster)] == ["10.0.0.1"]

"""EndpointSlices: the addresses of a service's pods and their readiness."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    Pod,
)
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.endpoints import endpoint_rules as rules
from podling.controllers.endpoints.endpointslice import EndpointSliceController
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, pod, running
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
    selector = f"{rules.SERVICE_NAME}=web"
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
    assert held.metadata.labels[rules.MANAGED_BY] == rules.MANAGER
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


@pytest.mark.usefixtures("manager")
async def test_a_pod_waits_for_its_node_to_be_known(cluster: ControlPlane) -> None:
    await cluster.client.create(NEW)
    await cluster.client.create(pod("p", node="n2", labels={"app": "web"}))
    await serve(cluster, "p", "10.0.0.7", ready=True)
    assert (await slices(cluster))[0].endpoints == ()
    await add_node(cluster.client, "n2", **{rules.ZONE: "b"})
    await cluster.advance(seconds=1)
    assert (await slices(cluster))[0].endpoints[0].zone == "b"

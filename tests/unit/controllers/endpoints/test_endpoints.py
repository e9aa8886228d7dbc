"""Endpoints of services with a selector."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from podling.api.core_v1 import (
    Endpoints,
    Pod,
    Service,
    ServicePort,
    ServiceSpec,
)
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.endpoints.endpoints import EndpointsController
from podling.controllers.endpoints.endpointslice_mirroring import EndpointSliceMirroringController
from podling.controllers.garbage_collector import GarbageCollectorController
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(
        cluster.client, EndpointsController, EndpointSliceMirroringController, GarbageCollectorController
    ) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


async def make_service(cluster: ControlPlane, **selector: str) -> None:
    ports = (ServicePort(name="http", port=80, target_port=8080, protocol="TCP"),)
    spec = ServiceSpec(selector=selector, ports=ports)
    await cluster.client.create(Service(metadata=ObjectMeta(name="web", namespace="default"), spec=spec))
    await cluster.advance(seconds=1)


async def serve(cluster: ControlPlane, name: str, ip: str, *, ready: bool) -> None:
    await cluster.client.create(pod(name, node="n1", labels={"app": "web"}))
    conditions = [{"type": "Ready", "status": str(ready)}]
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions}
    await cluster.client.patch(Pod, name, {"status": status}, "default", subresource="status")
    await cluster.advance(seconds=1)


async def slices(cluster: ControlPlane) -> list[EndpointSlice]:
    selector = "kubernetes.io/service-name=web"
    return list((await cluster.client.list(EndpointSlice, "default", label_selector=selector)).items)


@pytest.mark.usefixtures("manager")
async def test_a_service_with_a_selector_has_endpoints(cluster: ControlPlane) -> None:
    await make_service(cluster, app="web")
    await serve(cluster, "b", "10.0.0.2", ready=True)
    await serve(cluster, "a", "10.0.0.1", ready=True)
    await serve(cluster, "c", "10.0.0.3", ready=False)
    held = await cluster.client.get(Endpoints, "web", "default")
    (subset,) = held.subsets
    assert [each.ip for each in subset.addresses] == ["10.0.0.1", "10.0.0.2"]
    assert [each.ip for each in subset.not_ready_addresses] == ["10.0.0.3"]
    assert [(each.name, each.port) for each in subset.ports] == [("http", 8080)]
    assert held.metadata.labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller"
    assert await slices(cluster) == [], "what a controller keeps is not mirrored"


@pytest.mark.usefixtures("manager")
async def test_they_go_with_their_service_and_come_back_when_deleted(cluster: ControlPlane) -> None:
    await make_service(cluster, app="web")
    await cluster.client.delete(Endpoints, "web", "default")
    await cluster.advance(seconds=1)
    await cluster.client.get(Endpoints, "web", "default")
    await cluster.client.delete(Service, "web", "default")
    await cluster.advance(seconds=1)
    names = [each.metadata.name for each in (await cluster.client.list(Endpoints, "default")).items]
    assert "web" not in names

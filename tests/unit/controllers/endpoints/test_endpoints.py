"""Endpoints of services with a selector. Cases of upstream's ``endpoints_controller_test.go``."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from podling.api.core_v1 import (
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSubset,
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
from podling.machinery.errors import ApiError
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


@pytest.mark.usefixtures("manager")
async def test_endpoints_of_others_go_with_their_service(cluster: ControlPlane) -> None:
    await cluster.client.create(by_hand())
    await make_service(cluster)
    assert await told(cluster) == ({}, ["10.9.9.9"])
    await cluster.client.delete(Service, "web", "default")
    await cluster.advance(seconds=1)
    with pytest.raises(ApiError, match='endpoints "web" not found'):
        await told(cluster)
    await cluster.client.create(by_hand())
    await cluster.advance(seconds=1)
    assert await told(cluster) == ({}, ["10.9.9.9"]), "new ones wait for a service"


def by_hand(name: str = "web", **labels: str) -> Endpoints:
    """Return Endpoints that no controller wrote."""
    subset = EndpointSubset(
        addresses=(EndpointAddress(ip="10.9.9.9"),), ports=(EndpointPort(port=1000, protocol="TCP"),)
    )
    return Endpoints(metadata=ObjectMeta(name=name, namespace="default", labels=labels), subsets=(subset,))


async def told(cluster: ControlPlane, name: str = "web") -> tuple[dict[str, str], list[str]]:
    """Return the labels and addresses of an Endpoints object."""
    held = await cluster.client.get(Endpoints, name, "default")
    return held.metadata.labels, [each.ip for subset in held.subsets for each in subset.addresses]


@pytest.mark.usefixtures("manager")
@pytest.mark.parametrize(
    ("type_", "selector", "is_kept"),
    [
        ("ClusterIP", {}, True),
        ("ExternalName", {}, True),
        ("ExternalName", {"app": "web"}, True),
        ("ClusterIP", {"app": "web"}, False),
    ],
)
async def test_endpoints_of_others_are_replaced_where_the_service_selects_pods(
    cluster: ControlPlane, type_: str, selector: dict[str, str], is_kept: bool
) -> None:
    await cluster.client.create(by_hand(tier="old"))
    await serve(cluster, "a", "10.0.0.1", ready=True)
    external = "example.com" if type_ == "ExternalName" else ""
    ports = (ServicePort(name="http", port=80, target_port=8080, protocol="TCP"),)
    spec = ServiceSpec(type=type_, selector=selector, ports=ports, external_name=external)
    metadata = ObjectMeta(name="web", namespace="default", labels={"team": "a"})
    await cluster.client.create(Service(metadata=metadata, spec=spec))
    await cluster.advance(seconds=1)
    ours = {"team": "a", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    assert await told(cluster) == (({"tier": "old"}, ["10.9.9.9"]) if is_kept else (ours, ["10.0.0.1"]))


@pytest.mark.usefixtures("manager")
@pytest.mark.parametrize("address", ["None", ""])
async def test_label_of_headless_services_follows_the_service(cluster: ControlPlane, address: str) -> None:
    labels = {"service.kubernetes.io/headless": "", "tier": "old"}
    await cluster.client.create(by_hand(**labels))
    spec = ServiceSpec(selector={"app": "web"}, cluster_ip=address, ports=(ServicePort(port=80),))
    await cluster.client.create(Service(metadata=ObjectMeta(name="web", namespace="default"), spec=spec))
    await cluster.advance(seconds=1)
    found, _ = await told(cluster)
    headless = {"service.kubernetes.io/headless": ""} if address else {}
    assert found == {**headless, "endpoints.kubernetes.io/managed-by": "endpoint-controller"}


@pytest.mark.usefixtures("manager")
async def test_changes_of_pods_that_do_not_matter_write_nothing(cluster: ControlPlane) -> None:
    await make_service(cluster, app="web")
    await serve(cluster, "a", "10.0.0.1", ready=True)
    before = await cluster.client.get(Endpoints, "web", "default")
    await cluster.client.patch(Pod, "a", {"metadata": {"annotations": {"note": "new"}}}, "default")
    await cluster.client.patch(Service, "web", {"metadata": {"annotations": {"note": "new"}}}, "default")
    await cluster.advance(seconds=1)
    assert await cluster.client.get(Endpoints, "web", "default") == before


async def test_left_over_endpoints_of_the_controller_go_at_its_start(cluster: ControlPlane) -> None:
    managed = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    await cluster.client.create(by_hand("managed", **managed))
    await cluster.client.create(by_hand("manual"))
    async with running(cluster.client, EndpointsController):
        await cluster.advance(seconds=1)
    names = [each.metadata.name for each in (await cluster.client.list(Endpoints, "default")).items]
    assert "manual" in names
    assert "managed" not in names

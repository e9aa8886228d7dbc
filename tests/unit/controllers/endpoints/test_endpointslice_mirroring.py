"""Endpoints written by hand and the slices that mirror them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSubset,
    Service,
    ServicePort,
    ServiceSpec,
)
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.endpoints.endpointslice_mirroring import EndpointSliceMirroringController
from podling.controllers.garbage_collector import GarbageCollectorController
from podling.testing import ControlPlane
from tests.support.control_loops import running


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(
        cluster.client, EndpointSliceMirroringController, GarbageCollectorController
    ) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


async def make_service(cluster: ControlPlane, **selector: str) -> None:
    ports = (ServicePort(name="http", port=80, target_port=8080, protocol="TCP"),)
    spec = ServiceSpec(selector=selector, ports=ports)
    await cluster.client.create(Service(metadata=ObjectMeta(name="web", namespace="default"), spec=spec))
    await cluster.advance(seconds=1)


async def slices(cluster: ControlPlane) -> list[EndpointSlice]:
    selector = "kubernetes.io/service-name=web"
    return list((await cluster.client.list(EndpointSlice, "default", label_selector=selector)).items)


def by_hand(*ips: str) -> Endpoints:
    subset = EndpointSubset(
        addresses=tuple(EndpointAddress(ip=ip) for ip in ips), ports=(EndpointPort(name="http", port=8080),)
    )
    return Endpoints(metadata=ObjectMeta(name="web", namespace="default"), subsets=(subset,))


@pytest.mark.usefixtures("manager")
async def test_endpoints_written_by_hand_are_mirrored(cluster: ControlPlane) -> None:
    await make_service(cluster)
    await cluster.client.create(by_hand("192.0.2.1", "192.0.2.2"))
    await cluster.advance(seconds=1)
    (held,) = await slices(cluster)
    assert [each.addresses for each in held.endpoints] == [("192.0.2.1",), ("192.0.2.2",)]
    assert held.metadata.labels["endpointslice.kubernetes.io/managed-by"] == (
        "endpointslicemirroring-controller.k8s.io"
    )
    patch = {"subsets": [{"addresses": [{"ip": "192.0.2.9"}], "ports": [{"name": "http", "port": 8080}]}]}
    await cluster.client.patch(Endpoints, "web", patch, "default")
    await cluster.advance(seconds=1)
    (held,) = await slices(cluster)
    assert [each.addresses for each in held.endpoints] == [("192.0.2.9",)]
    await cluster.client.delete(Endpoints, "web", "default")
    await cluster.advance(seconds=1)
    assert await slices(cluster) == []


@pytest.mark.usefixtures("manager")
async def test_skip_mirror_label_prevents_mirroring(cluster: ControlPlane) -> None:
    await make_service(cluster)
    held = by_hand("192.0.2.1")
    labels = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    await cluster.client.create(structs.replace(held, metadata=structs.replace(held.metadata, labels=labels)))
    await cluster.advance(seconds=1)
    assert await slices(cluster) == []

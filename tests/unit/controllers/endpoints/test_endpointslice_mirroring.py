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
from podling.controllers.endpoints import mirror_rules as rules
from podling.controllers.endpoints.endpointslice_mirroring import EndpointSliceMirroringController
from podling.controllers.endpoints.slice_rules import MANAGED_BY, SERVICE_NAME
from podling.controllers.garbage_collector import GarbageCollectorController
from podling.testing import ControlPlane
from tests.support.control_loops import running, told


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


MINE, OTHERS = rules.MANAGER, "something-else"
SKIP = "endpointslice.kubernetes.io/skip-mirror"

# TestSyncEndpoints: the selector (None: no service), labels and addresses of the Endpoints, the manager of a
# slice that is there, and the addresses in the mirrors
SYNCS: list[tuple[dict[str, str] | None, dict[str, str], int, str, list[int]]] = [
    ({}, {}, 0, "", []),
    ({}, {SKIP: "true"}, 1, "", []),
    ({}, {SKIP: "true"}, 1, MINE, []),
    ({}, {SKIP: "false"}, 1, "", [1]),
    (None, {}, 1, "", []),
    (None, {}, 1, MINE, []),
    ({"app": "web"}, {}, 1, "", []),
    ({"app": "web"}, {}, 1, MINE, []),
    ({}, {}, 0, MINE, []),
    ({}, {}, 0, OTHERS, []),
    ({}, {}, 1, OTHERS, [1]),
    ({}, {}, 1000, "", [1000]),
    ({}, {}, 1001, "", [1000]),
]


@pytest.mark.usefixtures("manager")
@pytest.mark.parametrize(("selector", "labels", "count", "held_by", "mirrored"), SYNCS)
async def test_mirrors_of_endpoints(
    cluster: ControlPlane,
    selector: dict[str, str] | None,
    labels: dict[str, str],
    count: int,
    held_by: str,
    mirrored: list[int],
) -> None:
    if held_by:
        metadata = ObjectMeta(
            name="web-1", namespace="default", labels={MANAGED_BY: held_by, SERVICE_NAME: "web"}
        )
        await cluster.client.create(EndpointSlice(metadata=metadata, address_type="IPv4"))
    of = by_hand(*(f"10.0.{number // 250}.{number % 250}" for number in range(count)))
    subsets = of.subsets if count else ()
    metadata = structs.replace(of.metadata, labels=labels)
    await cluster.client.create(structs.replace(of, metadata=metadata, subsets=subsets))
    if selector is not None:
        await make_service(cluster, **selector)
    await cluster.advance(seconds=1)
    held = {each.metadata.name: each for each in await slices(cluster)}
    assert (held.pop("web-1", None) is not None) is (held_by == OTHERS)
    assert [len(each.endpoints) for each in held.values()] == mirrored
    left_out = count - sum(mirrored) if mirrored else 0
    assert await told(cluster.client) == (
        [
            "Warning TooManyAddressesToMirror web: A max of 1000 addresses can be mirrored to EndpointSlices "
            f"per Endpoints subset. {left_out} addresses were skipped"
        ]
        if left_out
        else []
    )

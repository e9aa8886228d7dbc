"""Slices as the controller writes them: hints, and the slices of Services that are being deleted.

Cases of ``TestReconcileTopology``, ``TestReconcile_TrafficDistribution`` and
``TestReconcilerFinalizeSvcDeletionTimestamp`` in upstream's ``endpointslice/reconciler_test.go``.
"""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec import structs

from podling.api.core_v1 import Container, ContainerPort, Node, Pod, Service, ServicePort
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.endpoints import endpoint_rules as rules
from podling.controllers.endpoints.endpointslice import EndpointSliceController
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, pod, running
from tests.unit.controllers.endpoints.services import service

HINTS = "service.kubernetes.io/topology-aware-hints"


def named(of: Service, **annotations: str) -> Service:
    return structs.replace(of, metadata=ObjectMeta(name="web", namespace="default", annotations=annotations))


async def slices(cluster: ControlPlane) -> list[EndpointSlice]:
    return list((await cluster.client.list(EndpointSlice, "default")).items)


async def report(cluster: ControlPlane, name: str, ip: str, *, ready: bool = True) -> None:
    """Write a pod's address and readiness, as its kubelet does."""
    conditions = [{"type": "Ready", "status": str(ready)}]
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions}
    await cluster.client.patch(Pod, name, {"status": status}, "default", subresource="status")


# the zones of the pods, the annotation and trafficDistribution of the Service, the hints by their zone, and
# how many are for another zone than the endpoint's
HINTED: list[tuple[str, str, str | None, dict[str, int], int]] = [
    ("ccc", "auto", None, {"a": 1, "b": 1, "c": 1}, 2),
    ("aacc", "auto", None, {}, 0),
    ("aaaabbbcc", "Auto", None, {"a": 3, "b": 3, "c": 3}, 1),
    ("aaaabbbcc", "disabled", None, {}, 0),
    ("abbbcc", "Disabled", "PreferClose", {"a": 1, "b": 3, "c": 2}, 0),
    ("abbbcc", "Auto", "PreferClose", {"a": 2, "b": 2, "c": 2}, 1),
    ("abbbcc", "", None, {}, 0),
]


@pytest.mark.parametrize("is_later", [False, True], ids=["at the start", "by a later change"])
@pytest.mark.parametrize(("zones", "annotation", "distribution", "wanted", "elsewhere"), HINTED)
async def test_hints_of_a_service_in_three_even_zones(
    cluster: ControlPlane,
    zones: str,
    annotation: str,
    distribution: str | None,
    wanted: dict[str, int],
    elsewhere: int,
    is_later: bool,
) -> None:
    for zone in "abc":
        await add_node(cluster.client, zone, **{rules.ZONE: zone})
        cpus = {"status": {"allocatable": {"cpu": "1"}}}
        await cluster.client.patch(Node, zone, cpus, subresource="status")
    for index, zone in enumerate(zones):
        await cluster.client.create(pod(f"p{index}", node=zone, labels={"app": "web"}))
        await report(cluster, f"p{index}", f"10.0.0.{index}")
    change = {
        "metadata": {"annotations": {HINTS: annotation}},
        "spec": {"trafficDistribution": distribution},
    }
    await cluster.client.create(named(service()))
    if not is_later:
        await cluster.client.patch(Service, "web", change, "default")
    async with running(cluster.client, EndpointSliceController):
        await cluster.advance(seconds=1)
        if is_later:
            assert {each.hints for held in await slices(cluster) for each in held.endpoints} == {None}
            await cluster.client.patch(Service, "web", change, "default")
            await cluster.advance(seconds=1)
        (held,) = await slices(cluster)
    hints = [(each.zone, zone.name) for each in held.endpoints if each.hints for zone in each.hints.for_zones]
    assert Counter(hint for _, hint in hints) == wanted
    assert sum(own != hint for own, hint in hints) == elsewhere
    assert len(hints) in (0, len(zones))


def numbered(name: str, number: int) -> Pod:
    """Return a pod whose port ``http`` has a number."""
    port = ContainerPort(name="http", container_port=number, protocol="TCP")
    container = Container(name="main", image="busybox", ports=(port,))
    return pod(name, node="n1", labels={"app": "web"}, containers=(container,))


async def test_no_slice_is_made_for_a_service_that_is_being_deleted(cluster: ControlPlane) -> None:
    """Those that are there are updated, also to other ports in place of a slice that would be deleted."""
    await add_node(cluster.client, "n1")
    held_back = named(service(ServicePort(port=80, target_port="http", protocol="TCP")))
    metadata = structs.replace(held_back.metadata, finalizers=("example.com/hold",))
    await cluster.client.create(structs.replace(held_back, metadata=metadata))
    await cluster.client.create(numbered("p", 8080))
    await report(cluster, "p", "10.0.0.1")

    async def seen() -> list[tuple[str | None, list[int | None], list[tuple[str, bool | None]]]]:
        await cluster.advance(seconds=1)
        return [
            (
                each.metadata.name,
                [port.port for port in each.ports],
                [(one.addresses[0], one.conditions.ready) for one in each.endpoints],
            )
            for each in await slices(cluster)
        ]

    async with running(cluster.client, EndpointSliceController):
        ((name, ports, endpoints),) = await seen()
        assert (ports, endpoints) == ([8080], [("10.0.0.1", True)])
        await cluster.client.delete(Service, "web", "default")
        await cluster.client.create(numbered("q", 9090))
        await report(cluster, "q", "10.0.0.2")
        assert await seen() == [(name, [8080], [("10.0.0.1", True)])]
        await report(cluster, "p", "10.0.0.1", ready=False)
        assert await seen() == [(name, [8080], [("10.0.0.1", False)])]
        await cluster.client.delete(Pod, "p", "default", grace_seconds=0)
        assert await seen() == [(name, [9090], [("10.0.0.2", True)])]

"""IPAddresses beside Services in a running server, and ranges that users add and delete."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Event, Service
from podling.api.meta_v1 import ObjectMeta
from podling.api.networking_v1 import (
    IPAddress,
    IPAddressSpec,
    ParentReference,
    ServiceCIDR,
    ServiceCIDRSpec,
)
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.server import ApiServer
from podling.controllers.service_cidr import ServiceCIDRController
from podling.machinery import conditions
from podling.machinery.errors import ApiError, is_already_exists, is_not_found
from podling.machinery.network_ranges import network_ranges
from podling.testing import ControlPlane, memory_cluster
from tests.support.control_loops import running
from tests.support.manifests import obj

PLAIN: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}
GATEWAY = ParentReference(
    group="gateway.networking.k8s.io", resource="gateways", name="a", namespace="default"
)


def service(fragment: str = "", name: str = "web") -> Service:
    found: Service = obj(Service, fragment, {**PLAIN, "metadata": {"name": name, "namespace": "default"}})
    return found


def foreign(address: str) -> IPAddress:
    return IPAddress(metadata=ObjectMeta(name=address), spec=IPAddressSpec(parent_ref=GATEWAY))


async def addresses(cluster: ControlPlane) -> dict[str, str]:
    """Return the IPAddresses with the names of their parents, without that of the Service kubernetes."""
    await clock.sleep(0.1)
    found = await cluster.client.list(IPAddress)
    every = {each.metadata.name or "": each.spec.parent_ref.name or "" for each in found.items}
    return {name: parent for name, parent in every.items() if parent != "kubernetes"}


async def reasons(cluster: ControlPlane) -> set[tuple[str, str]]:
    await clock.sleep(1)
    found = await cluster.client.list(Event)
    return {(each.involved_object.name or "", each.reason or "") for each in found.items}


async def test_each_address_of_a_service_has_its_object(cluster: ControlPlane) -> None:
    made = await cluster.client.create(service())
    assert await addresses(cluster) == {made.spec.cluster_ip: "web"}
    assert (await cluster.client.get(IPAddress, "10.96.0.1")).spec.parent_ref.name == "kubernetes"
    await cluster.client.delete(Service, "web", "default")
    assert await addresses(cluster) == {}
    assert await reasons(cluster) == set(), "all this is no repair"


async def test_objects_follow_upgrades_and_changes_of_type() -> None:
    ranges = network_ranges(services="10.96.0.0/16,fd00:96::/112")
    async with memory_cluster(ranges=ranges) as cluster:
        one = "spec: {clusterIP: 10.96.0.7}"
        await cluster.client.create(service(one))
        both = {"spec": {"ipFamilyPolicy": "RequireDualStack", "clusterIPs": ["10.96.0.7", "fd00:96::7"]}}
        await cluster.client.patch(Service, "web", both, "default")
        assert await addresses(cluster) == {"10.96.0.7": "web", "fd00:96::7": "web"}
        single = {"spec": {"ipFamilyPolicy": "SingleStack"}}
        await cluster.client.patch(Service, "web", single, "default")
        assert await addresses(cluster) == {"10.96.0.7": "web"}
        name = {"spec": {"type": "ExternalName", "externalName": "example.com"}}
        await cluster.client.patch(Service, "web", name, "default")
        assert await addresses(cluster) == {}


async def test_address_can_be_used_again_at_once(cluster: ControlPlane) -> None:
    for name in ("one", "two", "one"):
        await cluster.client.create(service("spec: {clusterIP: 10.96.0.7}", name))
        assert (await addresses(cluster))["10.96.0.7"] == name
        await cluster.client.delete(Service, name, "default")
        await cluster.client.create(service("spec: {clusterIP: 10.96.0.7}", "between"))
        await cluster.client.delete(Service, "between", "default")
    assert await addresses(cluster) == {}


async def test_deleted_object_is_restored_with_an_event(cluster: ControlPlane) -> None:
    await cluster.client.create(service("spec: {clusterIP: 10.96.0.7}"))
    assert await addresses(cluster) == {"10.96.0.7": "web"}
    await cluster.client.delete(IPAddress, "10.96.0.7")
    assert await addresses(cluster) == {"10.96.0.7": "web"}
    assert ("web", "ClusterIPNotAllocated") in await reasons(cluster)


async def test_foreign_address_is_given_to_no_service(cluster: ControlPlane) -> None:
    await cluster.client.create(foreign("10.96.0.7"))
    with pytest.raises(
        ApiError, match=r"failed to allocate IP 10\.96\.0\.7: provided IP is already allocated"
    ):
        await cluster.client.create(service("spec: {clusterIP: 10.96.0.7}"))
    await cluster.client.delete(IPAddress, "10.96.0.7")
    await cluster.client.create(service("spec: {clusterIP: 10.96.0.7}"))
    with pytest.raises(ApiError) as caught:
        await cluster.client.create(foreign("10.96.0.7"))
    assert is_already_exists(caught.value)


async def test_one_of_two_concurrent_writers_gets_an_address(cluster: ControlPlane) -> None:
    for number in range(10, 30):
        address = f"10.96.0.{number}"
        outcomes = await asyncio.gather(
            cluster.client.create(service(f"spec: {{clusterIP: {address}}}", f"web-{number}")),
            cluster.client.create(foreign(address)),
            return_exceptions=True,
        )
        assert sum(isinstance(each, ApiError) for each in outcomes) == 1


async def test_objects_of_an_older_cluster_are_made_at_the_start(cluster: ControlPlane) -> None:
    made = await cluster.client.create(service())
    await addresses(cluster)
    await cluster.server.stop()
    for each in (await cluster.client.list(IPAddress)).items:
        await cluster.client.delete(IPAddress, each.metadata.name or "")
    later = ApiServer(cluster.store, plugins_without_controllers())
    await later.start()
    try:
        assert await addresses(ControlPlane(later, cluster.store)) == {made.spec.cluster_ip: "web"}
    finally:
        await later.stop()


async def test_default_range_is_an_object_that_comes_back(cluster: ControlPlane) -> None:
    found = await cluster.client.get(ServiceCIDR, "kubernetes")
    assert found.spec.cidrs == ("10.96.0.0/12",)
    ready = conditions.find(found.status.conditions, "Ready")
    assert ready is not None
    assert (ready.status, ready.message) == ("True", "Kubernetes default Service CIDR is ready")
    await cluster.client.delete(ServiceCIDR, "kubernetes")
    await cluster.advance(seconds=15)
    assert (await cluster.client.get(ServiceCIDR, "kubernetes")).spec.cidrs == ("10.96.0.0/12",)


async def test_default_range_gains_a_family_and_is_never_changed_otherwise() -> None:
    async with memory_cluster() as cluster:
        for services, wanted in (
            ("10.96.0.0/12,fd00:96::/112", ("10.96.0.0/12", "fd00:96::/112")),
            ("10.200.0.0/16", ("10.96.0.0/12", "fd00:96::/112")),
        ):
            ranges = network_ranges(services=services)
            later = ApiServer(cluster.store, plugins_without_controllers(ranges), ranges=ranges)
            await later.start()
            found = await later.client().get(ServiceCIDR, "kubernetes")
            assert found.spec.cidrs == wanted
            told = ("kubernetes", "KubernetesDefaultServiceCIDRInconsistent") in await reasons(cluster)
            assert told == (services == "10.200.0.0/16")
            await later.stop()


def more(*cidrs: str, name: str = "more") -> ServiceCIDR:
    return ServiceCIDR(metadata=ObjectMeta(name=name), spec=ServiceCIDRSpec(cidrs=cidrs))


async def test_range_of_a_user_extends_a_full_one() -> None:
    async with memory_cluster(ranges=network_ranges(services="10.96.0.0/28")) as cluster:
        for number in range(13):
            await cluster.client.create(service(name=f"web-{number}"))
        with pytest.raises(ApiError, match="failed to allocate a serviceIP: range is full"):
            await cluster.client.create(service())
        with pytest.raises(ApiError, match="the provided network does not match the current range"):
            await cluster.client.create(service("spec: {clusterIP: 10.97.0.7}"))
        await cluster.client.create(more("10.97.0.0/28"))
        named = await cluster.client.create(service("spec: {clusterIP: 10.97.0.7}", "named"))
        assert named.spec.cluster_ip == "10.97.0.7"
        assert (await cluster.client.create(service())).spec.cluster_ip.startswith("10.97.0.")


async def readiness(cluster: ControlPlane, name: str = "more") -> tuple[str, str]:
    await clock.sleep(1)
    found = await cluster.client.get(ServiceCIDR, name)
    ready = conditions.find(found.status.conditions, "Ready")
    return (ready.status, ready.reason or "") if ready is not None else ("", "")


async def is_gone(cluster: ControlPlane, name: str = "more") -> bool:
    try:
        await cluster.client.get(ServiceCIDR, name)
    except ApiError as error:
        return is_not_found(error)
    return False


async def test_range_in_use_is_deleted_when_its_last_service_is(cluster: ControlPlane) -> None:
    async with running(cluster.client, ServiceCIDRController):
        await cluster.client.create(more("192.168.0.0/24"))
        assert await readiness(cluster) == ("True", "")
        found = await cluster.client.get(ServiceCIDR, "more")
        assert found.metadata.finalizers == ("networking.k8s.io/service-cidr-finalizer",)
        await cluster.client.create(service("spec: {clusterIP: 192.168.0.7}"))
        await cluster.client.delete(ServiceCIDR, "more")
        assert await readiness(cluster) == ("False", "Terminating")
        with pytest.raises(ApiError, match="does not match the current range"):
            await cluster.client.create(service("spec: {clusterIP: 192.168.0.8}", "other"))
        await cluster.advance(minutes=2)
        assert not await is_gone(cluster)
        await cluster.client.delete(Service, "web", "default")
        await cluster.advance(seconds=2)
        assert await is_gone(cluster)


async def test_unused_range_ends_after_its_grace(cluster: ControlPlane) -> None:
    async with running(cluster.client, ServiceCIDRController):
        await cluster.client.create(more("192.168.0.0/24"))
        assert await readiness(cluster) == ("True", "")
        await cluster.client.delete(ServiceCIDR, "more")
        await cluster.advance(seconds=8)
        assert not await is_gone(cluster)
        await cluster.advance(seconds=3)
        assert await is_gone(cluster)


async def test_range_in_use_ends_when_another_covers_it(cluster: ControlPlane) -> None:
    async with running(cluster.client, ServiceCIDRController):
        await cluster.client.create(more("192.168.0.0/24"))
        await cluster.client.create(service("spec: {clusterIP: 192.168.0.7}"))
        await clock.sleep(1)
        await cluster.client.delete(ServiceCIDR, "more")
        await cluster.advance(seconds=30)
        assert not await is_gone(cluster)
        await cluster.client.create(more("192.168.0.0/16", name="larger"))
        await cluster.advance(seconds=2)
        assert await is_gone(cluster)
        assert (await cluster.client.get(Service, "web", "default")).spec.cluster_ip == "192.168.0.7"


async def test_range_that_a_controller_holds_back_gives_no_address(cluster: ControlPlane) -> None:
    made = await cluster.client.create(more("192.168.0.0/24"))
    patch = {"status": {"conditions": [{
        "type": "Ready", "status": "False", "reason": "Terminating", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}  # fmt: skip
    await cluster.client.patch(ServiceCIDR, made.metadata.name or "", patch, subresource="status")
    with pytest.raises(ApiError, match="does not match the current range"):
        await cluster.client.create(service("spec: {clusterIP: 192.168.0.7}"))


async def test_address_of_a_range_that_is_gone_is_reported(cluster: ControlPlane) -> None:
    await cluster.client.create(more("192.168.0.0/24"))
    await cluster.client.create(service("spec: {clusterIP: 192.168.0.7}"))
    await addresses(cluster)
    await cluster.client.delete(ServiceCIDR, "more")  # without its controller nothing protects it
    assert ("web", "ClusterIPOutOfRange") in await reasons(cluster)
    kept = await cluster.client.get(Service, "web", "default")
    later = await cluster.client.update(
        structs.replace(kept, spec=structs.replace(kept.spec, selector={"a": "b"}))
    )
    assert later.spec.cluster_ip == "192.168.0.7"

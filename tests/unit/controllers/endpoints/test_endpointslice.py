"""EndpointSlices: the addresses of a service's pods and their readiness."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    Container,
    ContainerPort,
    Node,
    Pod,
    PodCondition,
    PodIP,
    PodSpec,
    PodStatus,
    Service,
    ServicePort,
    ServiceSpec,
)
from podling.api.discovery_v1 import Endpoint, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.endpoints import endpoint_rules as rules
from podling.controllers.endpoints.endpointslice import EndpointSliceController
from podling.controllers.endpoints.slice_rules import Owner, arrange
from podling.controllers.owner_references import controller_reference
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, pod, running


def service(*ports: ServicePort, **spec: Any) -> Service:
    spec.setdefault("selector", {"app": "web"})
    return Service(
        metadata=ObjectMeta(name="web", namespace="default", uid="s1", labels={"team": "a"}),
        spec=ServiceSpec(ports=ports or (ServicePort(port=80, target_port=8080, protocol="TCP"),), **spec),
    )


def running_pod(name: str, ip: str = "10.0.0.1", *, ready: bool = True, **spec: Any) -> Pod:
    spec.setdefault("containers", (Container(name="main"),))
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid=name, labels={"app": "web"}),
        spec=PodSpec(node_name="n1", **spec),
        status=PodStatus(
            phase="Running",
            pod_ip=ip,
            pod_ips=(PodIP(ip=ip),),
            conditions=(PodCondition(type="Ready", status=str(ready)),),
        ),
    )


NODES = {"n1": Node(metadata=ObjectMeta(name="n1", labels={rules.ZONE: "a"}))}


def only_endpoint(of: Service, held: Pod) -> Endpoint:
    ((_, endpoints),) = rules.desired(of, [held], NODES).items()
    (endpoint,) = endpoints.values()
    return endpoint


def test_an_endpoint_says_where_and_whether() -> None:
    endpoint = only_endpoint(service(), running_pod("p"))
    assert endpoint.addresses == ("10.0.0.1",)
    assert (endpoint.node_name, endpoint.zone, endpoint.hostname) == ("n1", "a", None)
    assert endpoint.target_ref is not None
    assert (endpoint.target_ref.kind, endpoint.target_ref.name) == ("Pod", "p")


@pytest.mark.parametrize(
    ("ready", "deleting", "published", "conditions"),
    [
        (True, False, False, (True, True, False)),
        (False, False, False, (False, False, False)),
        (True, True, False, (False, True, True)),
        (False, False, True, (True, False, False)),
    ],
)
def test_conditions_of_an_endpoint(
    ready: bool, deleting: bool, published: bool, conditions: tuple[bool, bool, bool]
) -> None:
    from podling.sim.loop import EPOCH

    held = running_pod("p", ready=ready)
    if deleting:
        held = structs.replace(held, metadata=structs.replace(held.metadata, deletion_timestamp=EPOCH))
    found = only_endpoint(service(publish_not_ready_addresses=published), held).conditions
    assert (found.ready, found.serving, found.terminating) == conditions


def test_a_host_name_counts_in_the_services_subdomain_only() -> None:
    assert only_endpoint(service(), running_pod("p", hostname="db-0", subdomain="web")).hostname == "db-0"
    assert only_endpoint(service(), running_pod("p", hostname="db-0", subdomain="other")).hostname is None


@pytest.mark.parametrize(
    ("distribution", "zones", "nodes"),
    [(None, (), ()), ("PreferClose", ("a",), ()), ("PreferSameNode", ("a",), ("n1",))],
)
def test_hints_follow_the_traffic_distribution(
    distribution: str | None, zones: tuple[str, ...], nodes: tuple[str, ...]
) -> None:
    hints = only_endpoint(service(traffic_distribution=distribution), running_pod("p")).hints
    assert tuple(each.name for each in hints.for_zones) == zones if hints else zones == ()
    assert tuple(each.name for each in hints.for_nodes) == nodes if hints else nodes == ()


@pytest.mark.parametrize(("policy", "numbers"), [("", []), ("Always", [8080])])
def test_named_ports_of_init_containers_are_left_out(policy: str, numbers: list[int]) -> None:
    """Those of sidecars count."""
    held = running_pod("p", ready=True)
    setup = Container(
        name="setup",
        image="x",
        restart_policy=policy,
        ports=(ContainerPort(name="admin", container_port=8080, protocol="TCP"),),
    )
    subject = structs.replace(held, spec=structs.replace(held.spec, init_containers=(setup,)))
    wanted = service(ServicePort(name="a", port=80, target_port="admin", protocol="TCP"))
    assert [port.port for port in rules.ports_of(wanted, subject)] == numbers


def test_named_ports_are_found_in_the_pod() -> None:
    port = ServicePort(name="web", port=80, target_port="http", protocol="TCP")
    one = Container(name="a", ports=(ContainerPort(name="http", container_port=8080, protocol="TCP"),))
    other = Container(name="a", ports=(ContainerPort(name="http", container_port=9090, protocol="TCP"),))
    pods = [
        running_pod("p1", containers=(one,)),
        running_pod("p2", "10.0.0.2", containers=(other,)),
        running_pod("p3", "10.0.0.3"),
    ]
    found = {
        tuple(each.port for each in ports): [key[0][0] for key in endpoints]
        for (_, ports), endpoints in rules.desired(service(port), pods, NODES).items()
    }
    assert found == {(8080,): ["10.0.0.1"], (9090,): ["10.0.0.2"], (): ["10.0.0.3"]}


OWNER = Owner("web", "default", controller_reference(service()), rules.labels_of(service()))


def crowd(count: int) -> list[Pod]:
    return [running_pod(f"p{number}", f"10.0.{number // 250}.{number % 250}") for number in range(count)]


def filled(count: int) -> tuple[list[EndpointSlice], list[Pod]]:
    """The slices of a service with so many pods, as first made."""
    pods = crowd(count)
    changes = arrange(OWNER, [], rules.desired(service(), pods, NODES))
    named = [
        structs.replace(each, metadata=structs.replace(each.metadata, name=f"web-{number}"))
        for number, each in enumerate(changes.create)
    ]
    return named, pods


def sizes(slices: list[EndpointSlice]) -> list[int]:
    return [len(each.endpoints) for each in slices]


def test_slices_hold_a_hundred_at_most() -> None:
    slices, _ = filled(250)
    assert sizes(slices) == [100, 100, 50]


def test_a_change_touches_as_few_slices_as_it_can() -> None:
    slices, pods = filled(250)
    pods[120] = structs.replace(pods[120], status=structs.replace(pods[120].status, conditions=()))
    changes = arrange(OWNER, slices, rules.desired(service(), pods, NODES))
    assert [each.metadata.name for each in changes.update] == ["web-1"]
    assert (changes.create, changes.delete) == ([], [])


def test_new_endpoints_take_the_place_of_lost_ones() -> None:
    slices, pods = filled(250)
    pods[5] = running_pod("new", "10.1.0.1")
    changes = arrange(OWNER, slices, rules.desired(service(), pods, NODES))
    assert [each.metadata.name for each in changes.update] == ["web-0"]
    assert sizes(changes.update) == [100]


def test_a_slice_that_empties_goes_but_the_last_one_stays() -> None:
    slices, pods = filled(150)
    changes = arrange(OWNER, slices, rules.desired(service(), pods[:100], NODES))
    assert [each.metadata.name for each in changes.delete] == ["web-1"]
    slices, _ = filled(1)
    changes = arrange(OWNER, slices, rules.desired(service(), [], NODES))
    assert len(changes.create) == 1, "the place holder has no ports"
    assert [each.metadata.name for each in changes.delete] == ["web-0"]


def test_nothing_is_written_when_nothing_changes() -> None:
    slices, pods = filled(150)
    changes = arrange(OWNER, slices, rules.desired(service(), pods, NODES))
    assert (changes.create, changes.update, changes.delete) == ([], [], [])


def test_both_address_families_have_slices_of_their_own() -> None:
    held = running_pod("p")
    status = structs.replace(held.status, pod_ips=(PodIP(ip="10.0.0.1"), PodIP(ip="fd00::1")))
    both = service(ip_families=("IPv4", "IPv6"))
    found = rules.desired(both, [structs.replace(held, status=status)], NODES)
    assert {type_: [key[0] for key in endpoints] for (type_, _), endpoints in found.items()} == {
        "IPv4": [("10.0.0.1",)],
        "IPv6": [("fd00::1",)],
    }


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    await add_node(cluster.client, "n1")
    async with running(cluster.client, EndpointSliceController) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


NEW = structs.replace(service(), metadata=ObjectMeta(name="web", namespace="default"))


async def slices(cluster: ControlPlane) -> list[EndpointSlice]:
    """The slices of the service ``web``."""
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

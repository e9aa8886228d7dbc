"""ResourceClaims of pods (cases of controller_test.go in ``pkg/controller/resourceclaim``)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import Namespace, Pod, PodResourceClaim
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.api.resource_v1 import (
    AllocationResult,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from podling.client.local import LocalClient
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.owner_references import controller_reference, is_controlled_by
from podling.controllers.resource_claim_rules import FINALIZER, POD_CLAIM, name_prefix, owning_pod
from podling.controllers.resource_claims import ResourceClaimController
from podling.machinery.errors import service_unavailable
from podling.sim.connection import Connection, RequestFault
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running, set_phase, told
from tests.support.counts import samples

SPEC = ResourceClaimSpec(
    devices=DeviceClaim(
        requests=(DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu")),)
    )
)
FROM_TEMPLATE = PodResourceClaim(name="device", resource_claim_template_name="gpus")
DIRECT = PodResourceClaim(name="device", resource_claim_name="shared")


@pytest.fixture
async def connection(cluster: ControlPlane) -> Connection:
    return Connection(lambda: cluster.backend, "controller")


@pytest.fixture
async def manager(connection: Connection) -> AsyncIterator[ControllerManager]:
    async with running(LocalClient(connection), ResourceClaimController) as manager:
        yield manager


pytestmark = pytest.mark.usefixtures("manager")


async def add_template(cluster: ControlPlane) -> None:
    metadata = ObjectMeta(labels={"team": "a"}, annotations={"note": "b"})
    spec = ResourceClaimTemplateSpec(metadata=metadata, spec=SPEC)
    await cluster.client.create(
        ResourceClaimTemplate(metadata=ObjectMeta(name="gpus", namespace="default"), spec=spec)
    )


async def add_pod(cluster: ControlPlane, *entries: PodResourceClaim, node: str = "", name: str = "p") -> Pod:
    made = await cluster.client.create(pod(name, node=node, resource_claims=entries or (FROM_TEMPLATE,)))
    await cluster.advance(seconds=1)
    return made


async def claims(cluster: ControlPlane, namespace: str = "default") -> list[ResourceClaim]:
    return list((await cluster.client.list(ResourceClaim, namespace)).items)


async def shown(cluster: ControlPlane, name: str = "p") -> dict[str, str | None]:
    """Return the claims that a pod's status names."""
    statuses = (await cluster.client.get(Pod, name, "default")).status.resource_claim_statuses
    return {each.name: each.resource_claim_name for each in statuses}


async def add_claim(
    cluster: ControlPlane,
    name: str = "shared",
    *,
    owner: Pod | None = None,
    consumers: tuple[Pod, ...] = (),
    allocated: bool = False,
    finalizer: bool = False,
    **metadata: Any,
) -> ResourceClaim:
    """Create a claim; with consumers it is allocated."""
    owners = (controller_reference(owner),) if owner is not None else ()
    finalizers = (FINALIZER,) if finalizer else ()
    held = ObjectMeta(
        name=name, namespace="default", owner_references=owners, finalizers=finalizers, **metadata
    )
    made = await cluster.client.create(ResourceClaim(metadata=held, spec=SPEC))
    if allocated or consumers:
        reserved = tuple(
            ResourceClaimConsumerReference(
                resource="pods", name=each.metadata.name or "", uid=each.metadata.uid or ""
            )
            for each in consumers
        )
        status = structs.replace(made.status, allocation=AllocationResult(), reserved_for=reserved)
        made = await cluster.client.update(structs.replace(made, status=status), subresource="status")
    return made


async def state(cluster: ControlPlane, name: str = "shared") -> tuple[bool, list[str], tuple[str, ...]]:
    """Return whether a claim is allocated, its consumers' names and its finalizers."""
    await cluster.advance(seconds=1)
    held = await cluster.client.get(ResourceClaim, name, "default")
    consumers = [each.name for each in held.status.reserved_for]
    return held.status.allocation is not None, consumers, held.metadata.finalizers


async def test_pod_gets_a_claim_from_the_template_and_shows_its_name(
    cluster: ControlPlane, manager: ControllerManager
) -> None:
    await add_template(cluster)
    made = await add_pod(cluster)
    (claim,) = await claims(cluster)
    assert (claim.metadata.name or "").startswith("p-device-")
    assert is_controlled_by(claim, made)
    assert claim.metadata.owner_references[0].block_owner_deletion
    assert claim.metadata.labels == {"team": "a"}
    assert claim.metadata.annotations == {"note": "b", POD_CLAIM: "device"}
    assert claim.spec.devices.requests[0].name == "gpu"
    assert await shown(cluster) == {"device": claim.metadata.name}
    name = "dynamic_resource_allocation_resourceclaim_creates_total"
    assert samples([manager], name) == {("success", "false"): 1}
    kinds = samples([manager], "dynamic_resource_allocation_resource_claims")
    assert kinds == {("false", "false", "resource_claim_template"): 1}


async def test_each_entry_of_a_pod_gets_a_claim_of_its_own(cluster: ControlPlane) -> None:
    await add_template(cluster)
    await add_pod(cluster, FROM_TEMPLATE, structs.replace(FROM_TEMPLATE, name="other"))
    names = await shown(cluster)
    assert sorted(names) == ["device", "other"]
    assert sorted(each.metadata.name or "" for each in await claims(cluster)) == sorted(
        name or "" for name in names.values()
    )


async def test_nothing_is_done_twice(cluster: ControlPlane) -> None:
    await add_template(cluster)
    await add_pod(cluster)
    before = await claims(cluster)
    await set_phase(cluster.client, "p", "Running")
    await cluster.advance(minutes=5)
    assert await claims(cluster) == before


async def test_deleted_claim_is_made_again(cluster: ControlPlane) -> None:
    await add_template(cluster)
    await add_pod(cluster)
    (first,) = await claims(cluster)
    await cluster.client.delete(ResourceClaim, first.metadata.name or "", "default")
    await cluster.advance(seconds=1)
    (second,) = await claims(cluster)
    assert second.metadata.uid != first.metadata.uid
    assert await shown(cluster) == {"device": second.metadata.name}


async def test_missing_template_is_reported_and_awaited(cluster: ControlPlane) -> None:
    await add_pod(cluster)
    assert await claims(cluster) == []
    (line,) = await told(cluster.client)
    assert line == (
        'Warning FailedResourceClaimCreation p: PodResourceClaim device: resource claim template "gpus": '
        'resourceclaimtemplate.resource.k8s.io "gpus" not found'
    )
    await add_template(cluster)
    await cluster.advance(minutes=2)
    assert len(await claims(cluster)) == 1


async def test_claim_that_was_made_before_a_crash_is_found_by_its_annotation(
    cluster: ControlPlane, connection: Connection
) -> None:
    """There is no template any more: it was not needed again."""
    await connection.cut()
    made = await cluster.client.create(pod("p", resource_claims=(FROM_TEMPLATE,)))
    await add_claim(cluster, "p-device-abcde", owner=made, annotations={POD_CLAIM: "device"})
    connection.mend()
    await cluster.advance(minutes=2)
    assert await shown(cluster) == {"device": "p-device-abcde"}
    assert len(await claims(cluster)) == 1


async def test_late_informer_leads_to_no_second_claim(cluster: ControlPlane, connection: Connection) -> None:
    await add_template(cluster)
    connection.faults.append(RequestFault(verb="watch", resource="resourceclaims", seconds=20))
    connection.faults.append(RequestFault(verb="patch", resource="pods/status", error=_busy, times=3))
    await add_pod(cluster)
    await cluster.advance(seconds=60)
    (claim,) = await claims(cluster)
    assert await shown(cluster) == {"device": claim.metadata.name}


def _busy() -> Exception:
    return service_unavailable("busy")


async def test_failed_creation_is_reported_and_counted(
    cluster: ControlPlane, connection: Connection, manager: ControllerManager
) -> None:
    await add_template(cluster)
    connection.faults.append(RequestFault(verb="create", resource="resourceclaims", error=_busy, times=1))
    await add_pod(cluster)
    await cluster.advance(seconds=5)
    name = "dynamic_resource_allocation_resourceclaim_creates_total"
    assert samples([manager], name) == {("success", "false"): 1, ("failure", "false"): 1}
    (line,) = await told(cluster.client)
    text = "PodResourceClaim device: create ResourceClaim p-device-: busy"
    assert line == f"Warning FailedResourceClaimCreation p: {text}"


async def test_pods_that_are_being_deleted_or_name_no_template_get_no_claim(cluster: ControlPlane) -> None:
    await add_template(cluster)
    going = pod("going", resource_claims=(FROM_TEMPLATE,))
    held = structs.replace(going.metadata, finalizers=("example.com/hold",))
    await cluster.client.create(structs.replace(going, metadata=held))
    await cluster.client.delete(Pod, "going", "default")
    await add_pod(cluster, DIRECT)
    assert await claims(cluster) == []


async def test_claims_of_other_namespaces_and_owners_are_left_alone(cluster: ControlPlane) -> None:
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))
    metadata = ObjectMeta(name="p-device-x", namespace="team", annotations={POD_CLAIM: "device"})
    await cluster.client.create(ResourceClaim(metadata=metadata, spec=SPEC))
    other = Pod(metadata=ObjectMeta(name="unknown", namespace="default", uid="another"))
    await add_claim(cluster, "p-device-y", owner=other, annotations={POD_CLAIM: "device"})
    await add_template(cluster)
    await add_pod(cluster)
    assert len(await claims(cluster)) == 2
    assert (await shown(cluster))["device"] not in (None, "p-device-x", "p-device-y")


async def test_claim_of_an_earlier_pod_of_the_name_is_deleted(cluster: ControlPlane) -> None:
    earlier = Pod(metadata=ObjectMeta(name="p", namespace="default", uid="earlier"))
    await add_claim(cluster, "p-device-y", owner=earlier, annotations={POD_CLAIM: "device"})
    await add_template(cluster)
    await add_pod(cluster)
    assert [each.metadata.name for each in await claims(cluster)] == [(await shown(cluster))["device"]]


@pytest.mark.parametrize("finalizer", [False, True])
async def test_reservation_of_a_pod_that_may_run_stays(cluster: ControlPlane, finalizer: bool) -> None:
    user = await add_pod(cluster, DIRECT)
    await add_claim(cluster, consumers=(user,), finalizer=finalizer)
    assert await state(cluster) == (True, ["p"], (FINALIZER,) if finalizer else ())


async def test_reservation_of_a_pod_that_is_not_seen_yet_stays(
    cluster: ControlPlane, connection: Connection
) -> None:
    connection.faults.append(RequestFault(verb="watch", resource="pods", seconds=60))
    user = await add_pod(cluster, DIRECT)
    await add_claim(cluster, consumers=(user,), finalizer=True)
    assert await state(cluster) == (True, ["p"], (FINALIZER,))


async def test_claim_without_consumers_is_deallocated(cluster: ControlPlane) -> None:
    user = await add_pod(cluster, DIRECT)
    await add_claim(cluster, consumers=(user,), finalizer=True)
    await cluster.client.delete(Pod, "p", "default", grace_seconds=0)
    assert await state(cluster) == (False, [], ())


async def test_claim_with_a_consumer_left_stays_allocated(cluster: ControlPlane) -> None:
    users = [await add_pod(cluster, DIRECT, name=name) for name in ("p", "q")]
    await add_claim(cluster, consumers=tuple(users), finalizer=True)
    await cluster.client.delete(Pod, "p", "default", grace_seconds=0)
    assert await state(cluster) == (True, ["q"], (FINALIZER,))


async def test_claim_that_no_scheduler_allocated_keeps_its_allocation(cluster: ControlPlane) -> None:
    """Without the finalizer only the reservation of the pod that has ended goes."""
    user = await add_pod(cluster, DIRECT)
    await add_claim(cluster, consumers=(user,))
    await set_phase(cluster.client, "p", "Succeeded")
    assert await state(cluster) == (True, [], ())


async def test_deleted_claim_goes_with_its_last_consumer(cluster: ControlPlane) -> None:
    user = await add_pod(cluster, DIRECT)
    await add_claim(cluster, consumers=(user,), finalizer=True)
    await cluster.client.delete(ResourceClaim, "shared", "default")
    assert await state(cluster) == (True, ["p"], (FINALIZER,))
    await cluster.client.delete(Pod, "p", "default", grace_seconds=0)
    await cluster.advance(seconds=1)
    assert await claims(cluster) == []


async def test_deleted_claim_that_is_allocated_and_unused_goes_at_once(cluster: ControlPlane) -> None:
    await add_claim(cluster, allocated=True, finalizer=True)
    assert await state(cluster) == (True, [], (FINALIZER,))
    await cluster.client.delete(ResourceClaim, "shared", "default")
    await cluster.advance(seconds=1)
    assert await claims(cluster) == []


async def test_generated_claim_goes_when_its_pod_has_ended(cluster: ControlPlane) -> None:
    await add_template(cluster)
    await add_pod(cluster)
    await set_phase(cluster.client, "p", "Succeeded")
    await cluster.advance(seconds=1)
    assert await claims(cluster) == []


async def test_claim_is_reserved_for_a_pod_that_is_on_a_node_already(cluster: ControlPlane) -> None:
    await add_claim(cluster, allocated=True, finalizer=True)
    await add_pod(cluster, DIRECT, node="n1")
    assert await state(cluster) == (True, ["p"], (FINALIZER,))


async def test_scheduler_reserves_for_pods_without_a_node(cluster: ControlPlane) -> None:
    await add_claim(cluster, allocated=True, finalizer=True)
    await add_pod(cluster, DIRECT)
    assert await state(cluster) == (True, [], (FINALIZER,))


async def test_other_consumers_are_not_touched(cluster: ControlPlane, manager: ControllerManager) -> None:
    made = await add_claim(cluster, allocated=True, finalizer=True)
    other = ResourceClaimConsumerReference(api_group="example.com", resource="jobs", name="j", uid="j")
    status = structs.replace(made.status, reserved_for=(other,))
    await cluster.client.update(structs.replace(made, status=status), subresource="status")
    assert await state(cluster) == (True, ["j"], (FINALIZER,))
    assert manager.counters["resourceclaim-controller"].failures > 0


@pytest.mark.parametrize(
    ("pod_name", "entry", "prefix"),
    [
        ("p", "device", "p-device-"),
        ("a" * 40, "b" * 15, "a" * 40 + "-" + "b" * 15 + "-"),
        ("a" * 60, "b" * 20, "a" * 41 + "-" + "b" * 13),
        ("a" * 253, "b" * 63, "a" * 45 + "-" + "b" * 11),
    ],
)
def test_long_names_are_cut_in_proportion(pod_name: str, entry: str, prefix: str) -> None:
    assert name_prefix(pod_name, entry) == prefix


def test_owner_of_another_kind_is_no_pod() -> None:
    ref = OwnerReference(api_version="apps/v1", kind="Deployment", name="d", uid="d", controller=True)
    claim = ResourceClaim(metadata=ObjectMeta(name="c", owner_references=(ref,)))
    assert owning_pod(claim) is None

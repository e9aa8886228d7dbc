"""Claims find volumes, both say so, and what is in use cannot be taken away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    CSIPersistentVolumeSource,
    EphemeralVolumeSource,
    Event,
    LocalVolumeSource,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimTemplate,
    PersistentVolumeClaimVolumeSource,
    Pod,
    Volume,
    VolumeNodeAffinity,
)
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.api.storage_v1 import StorageClass
from podling.client.local import LocalClient
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.volumes.ephemeral_volume import EphemeralVolumeController
from podling.controllers.volumes.volume_binder import NO_CLASS, VolumeBinderController
from podling.controllers.volumes.volume_protection import (
    ClaimProtectionController,
    VolumeProtectionController,
)
from podling.controllers.volumes.volume_reclaim_rules import NO_DELETER
from podling.controllers.volumes.volume_rules import best_match
from podling.machinery.errors import service_unavailable
from podling.sim.connection import Connection, RequestFault
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, pod, running, told
from tests.support.counts import samples
from tests.support.workloads import claim, volume


def storage_class(name: str, provisioner: str, mode: str) -> StorageClass:
    return StorageClass(metadata=ObjectMeta(name=name), provisioner=provisioner, volume_binding_mode=mode)


def available(held: PersistentVolume) -> PersistentVolume:
    return structs.replace(held, status=structs.replace(held.status, phase="Available"))


@pytest.mark.parametrize(
    ("wanted", "volumes", "found"),
    [
        pytest.param(claim(), [volume("big", "9Gi"), volume("fits", "2Gi")], "fits", id="the smallest"),
        pytest.param(claim(size="5Gi"), [volume("small")], None, id="too small"),
        pytest.param(claim(storage_class_name="fast"), [volume("v")], None, id="another class"),
        pytest.param(
            claim(storage_class_name="fast"), [volume("v", storage_class_name="fast")], "v", id="its class"
        ),
        pytest.param(
            claim(volume_attributes_class_name="gold"),
            [volume("plain"), volume("gold", "2Gi", volume_attributes_class_name="gold")],
            "gold",
            id="its attributes",
        ),
        pytest.param(
            claim(), [volume("v", volume_attributes_class_name="gold")], None, id="other attributes"
        ),
        pytest.param(
            claim(),
            [volume("shared", access_modes=("ReadWriteOnce", "ReadOnlyMany")), volume("big", "9Gi")],
            "big",
            id="the fewest modes",
        ),
        pytest.param(claim(access_modes=("ReadWriteMany",)), [volume("v")], None, id="another access"),
        pytest.param(claim(volume_mode="Block"), [volume("v")], None, id="another mode"),
        pytest.param(
            claim(selector=LabelSelector(match_labels={"disk": "ssd"})),
            [volume("plain"), volume("ssd", labels={"disk": "ssd"})],
            "ssd",
            id="by label",
        ),
    ],
)
def test_best_matching_volume_is_chosen(
    wanted: PersistentVolumeClaim, volumes: list[PersistentVolume], found: str | None
) -> None:
    chosen = best_match(wanted, map(available, volumes), None)
    assert (chosen.metadata.name if chosen else None) == found


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(
        cluster.client,
        VolumeBinderController,
        ClaimProtectionController,
        VolumeProtectionController,
        EphemeralVolumeController,
    ) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


async def the_claim(cluster: ControlPlane, name: str = "data") -> PersistentVolumeClaim:
    await cluster.advance(seconds=1)
    return await cluster.client.get(PersistentVolumeClaim, name, "default")


async def the_volume(cluster: ControlPlane, name: str = "v") -> PersistentVolume:
    await cluster.advance(seconds=1)
    return await cluster.client.get(PersistentVolume, name)


@pytest.mark.usefixtures("manager")
async def test_a_claim_and_a_volume_name_each_other(cluster: ControlPlane) -> None:
    await cluster.client.create(claim())
    assert (await the_claim(cluster)).status.phase == "Pending"
    await cluster.client.create(volume("v", "5Gi"))
    bound = await the_claim(cluster)
    assert (bound.status.phase, bound.spec.volume_name) == ("Bound", "v")
    assert (bound.status.capacity, bound.status.access_modes) == ({"storage": "5Gi"}, ("ReadWriteOnce",))
    held = await the_volume(cluster)
    assert held.status.phase == "Bound"
    assert held.spec.claim_ref is not None
    assert (held.spec.claim_ref.name, held.spec.claim_ref.uid) == ("data", bound.metadata.uid)
    assert held.metadata.annotations == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert set(bound.metadata.annotations) == {
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
    }


@pytest.mark.usefixtures("manager")
async def test_two_claims_never_share_a_volume(cluster: ControlPlane) -> None:
    await cluster.client.create(volume("v"))
    for name in ("a", "b"):
        await cluster.client.create(claim(name))
    phases = {(await the_claim(cluster, name)).status.phase for name in ("a", "b")}
    assert phases == {"Bound", "Pending"}


@pytest.mark.usefixtures("manager")
async def test_a_claim_may_name_its_volume(cluster: ControlPlane) -> None:
    for name in ("v", "w"):
        await cluster.client.create(volume(name))
    await cluster.client.create(claim(volume_name="w"))
    assert (await the_claim(cluster)).status.phase == "Bound"
    assert (await the_volume(cluster, "w")).status.phase == "Bound"
    assert (await the_volume(cluster, "v")).status.phase == "Available"


@pytest.mark.usefixtures("manager")
async def test_a_released_volume_keeps_its_data_and_its_mark(cluster: ControlPlane) -> None:
    await cluster.client.create(volume("v"))
    await cluster.client.create(claim())
    await the_claim(cluster)
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    assert (await the_volume(cluster)).status.phase == "Released"
    await cluster.client.create(claim())
    assert (await the_claim(cluster)).status.phase == "Pending", "another claim's data are not given away"


@pytest.mark.usefixtures("manager")
async def test_volume_without_deleter_fails_with_message(cluster: ControlPlane) -> None:
    await cluster.client.create(volume("v", persistent_volume_reclaim_policy="Delete"))
    await cluster.client.create(claim())
    await the_claim(cluster)
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    failed = await the_volume(cluster)
    assert (failed.status.phase, failed.status.message) == ("Failed", NO_DELETER.format(failed.metadata.name))


@pytest.mark.usefixtures("manager")
async def test_message_of_another_client_stays_while_the_phase_stays(cluster: ControlPlane) -> None:
    await cluster.client.create(volume("v"))
    await cluster.client.create(claim())
    await the_claim(cluster)
    said = {"status": {"message": "StatusPatched", "reason": "E2E"}}
    await cluster.client.patch(PersistentVolume, "v", said, subresource="status")
    held = await the_volume(cluster)
    assert (held.status.phase, held.status.message, held.status.reason) == ("Bound", "StatusPatched", "E2E")
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    held = await the_volume(cluster)
    assert (held.status.phase, held.status.message) == ("Released", "")


@pytest.mark.usefixtures("manager")
async def test_bound_claim_shows_attributes_class_of_its_volume(cluster: ControlPlane) -> None:
    csi = CSIPersistentVolumeSource(driver="disks.example.com", volume_handle="1")
    await cluster.client.create(volume("v", host_path=None, csi=csi, volume_attributes_class_name="gold"))
    await cluster.client.create(claim(volume_attributes_class_name="gold"))
    assert (await the_claim(cluster)).status.current_volume_attributes_class_name == "gold"


@pytest.mark.usefixtures("manager")
@pytest.mark.parametrize("ref", [{"uid": None}, {"uid": "another"}])
async def test_bound_claim_is_lost_if_its_volume_names_another(
    cluster: ControlPlane, ref: dict[str, str | None]
) -> None:
    await cluster.client.create(volume("v"))
    await cluster.client.create(claim())
    await the_claim(cluster)
    await cluster.client.patch(PersistentVolume, "v", {"spec": {"claimRef": ref}})
    assert (await the_claim(cluster)).status.phase == "Lost"
    told_of = "Two claims are bound to the same volume, this one is bound incorrectly"
    assert f"Warning ClaimMisbound data: {told_of}" in await told(cluster.client)


async def test_loss_has_one_event_when_writes_of_the_status_fail(cluster: ControlPlane) -> None:
    """The event follows the write, as in ``updateClaimStatusWithEvent``."""
    connection = Connection(lambda: cluster.backend, "controller")
    async with running(LocalClient(connection), VolumeBinderController):
        await cluster.client.create(volume("v"))
        await cluster.client.create(claim())
        await the_claim(cluster)
        late = RequestFault(
            verb="update",
            resource="persistentvolumeclaims/status",
            error=lambda: service_unavailable("busy"),
            times=3,
        )
        connection.faults.append(late)
        await cluster.client.patch(PersistentVolume, "v", {"spec": {"claimRef": {"uid": "another"}}})
        await cluster.advance(seconds=10)
    assert late.met == 3
    events = (await cluster.client.list(Event, "default")).items
    assert [each.count for each in events if each.reason == "ClaimMisbound"] == [1]


@pytest.mark.usefixtures("manager")
async def test_waiting_claim_has_event_with_reason(cluster: ControlPlane) -> None:
    await cluster.client.create(
        StorageClass(
            metadata=ObjectMeta(name="cloud"),
            provisioner="disks.example.com",
            volume_binding_mode="Immediate",
        )
    )
    await cluster.client.create(claim("plain"))
    await cluster.client.create(claim("cloudy", storage_class_name="cloud"))
    await cluster.client.create(storage_class("manual", "kubernetes.io/no-provisioner", "Immediate"))
    await cluster.client.create(claim("lost", storage_class_name="absent"))
    await cluster.client.create(claim("manual", storage_class_name="manual"))
    asked = await the_claim(cluster, "cloudy")
    assert asked.metadata.annotations["volume.kubernetes.io/storage-provisioner"] == "disks.example.com"
    lines = sorted(await told(cluster.client))
    assert lines[0].startswith(
        "Normal ExternalProvisioning cloudy: Waiting for a volume to be created either"
    )
    assert lines[1:] == [
        f"Normal FailedBinding plain: {NO_CLASS}",
        'Warning ProvisioningFailed lost: storageclass.storage.k8s.io "absent" not found',
        "Warning ProvisioningFailed manual: no volume plugin matched name: kubernetes.io/no-provisioner",
    ]


DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}


@pytest.mark.parametrize(("spec", "assigned"), [({}, "cloud"), ({"storage_class_name": ""}, "")])
async def test_claim_from_before_the_default_class_gets_it(
    cluster: ControlPlane, manager: ControllerManager, spec: dict[str, Any], assigned: str
) -> None:
    await cluster.client.create(claim(**spec))
    await the_claim(cluster)
    kind = storage_class("cloud", "disks.example.com", "Immediate")
    await cluster.client.create(
        structs.replace(kind, metadata=structs.replace(kind.metadata, annotations=DEFAULT))
    )
    assert (await the_claim(cluster)).spec.storage_class_name == assigned
    assert samples([manager], "retroactive_storageclass_total")[()] == (1 if assigned else 0)
    assert samples([manager], "pv_collector_unbound_pvc_count")["default", assigned, ""] == 1


@pytest.mark.usefixtures("manager")
async def test_claim_says_which_pods_it_waits_for(cluster: ControlPlane) -> None:
    await cluster.client.create(storage_class("late", "disks.example.com", "WaitForFirstConsumer"))
    await cluster.client.create(claim(storage_class_name="late"))
    await the_claim(cluster)
    for name in ("p1", "p2"):
        await cluster.client.create(user(name))
        await the_claim(cluster)
    assert await told(cluster.client) == [
        "Normal WaitForFirstConsumer data: waiting for first consumer to be created before binding",
        "Normal WaitForPodScheduled data: waiting for pod p1 to be scheduled",
        "Normal WaitForPodScheduled data: waiting for pods p1,p2 to be scheduled",
    ]


@pytest.mark.usefixtures("manager")
async def test_a_local_volume_waits_for_the_first_pod_and_its_node(cluster: ControlPlane) -> None:
    kind = storage_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
    await cluster.client.create(kind)
    for name in ("n1", "n2"):
        await add_node(cluster.client, name)
        term = NodeSelectorTerm(
            match_fields=(NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,)),)
        )
        affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=(term,)))
        local = LocalVolumeSource(path="/disk")
        await cluster.client.create(
            volume(
                f"on-{name}", host_path=None, local=local, storage_class_name="local", node_affinity=affinity
            )
        )
    await cluster.client.create(claim(storage_class_name="local"))
    assert (await the_claim(cluster)).status.phase == "Pending"
    await cluster.client.create(user("p", node="n2"))
    bound = await the_claim(cluster)
    assert (bound.status.phase, bound.spec.volume_name) == ("Bound", "on-n2")


def user(name: str, *, node: str = "") -> Pod:
    """Return a pod that uses the claim ``data``."""
    source = PersistentVolumeClaimVolumeSource(claim_name="data")
    return pod(name, node=node, volumes=(Volume(name="data", persistent_volume_claim=source),))


@pytest.mark.usefixtures("manager")
async def test_a_claim_in_use_outlives_the_request_to_delete_it(cluster: ControlPlane) -> None:
    await cluster.client.create(volume("v"))
    await cluster.client.create(claim())
    await cluster.client.create(user("p", node="n1"))
    await the_claim(cluster)
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    await cluster.client.delete(PersistentVolume, "v")
    assert (await the_claim(cluster)).metadata.deletion_timestamp is not None
    assert (await the_volume(cluster)).metadata.deletion_timestamp is not None
    await cluster.client.delete(Pod, "p", "default", grace_seconds=0)
    await cluster.advance(seconds=1)
    assert (await cluster.client.list(PersistentVolumeClaim, "default")).items == ()
    assert (await cluster.client.list(PersistentVolume)).items == ()


@pytest.mark.usefixtures("manager")
async def test_a_claim_whose_volume_vanished_is_lost(cluster: ControlPlane) -> None:
    await cluster.client.create(volume("v"))
    await cluster.client.create(claim())
    await the_claim(cluster)
    await cluster.client.delete(PersistentVolume, "v")
    await cluster.client.patch(PersistentVolume, "v", {"metadata": {"finalizers": None}})
    assert (await the_claim(cluster)).status.phase == "Lost"


@pytest.mark.usefixtures("manager")
async def test_an_ephemeral_volume_gets_a_claim_of_its_own(cluster: ControlPlane) -> None:
    template = PersistentVolumeClaimTemplate(
        metadata=ObjectMeta(labels={"kind": "scratch"}), spec=claim().spec
    )
    source = EphemeralVolumeSource(volume_claim_template=template)
    created = await cluster.client.create(pod("p", volumes=(Volume(name="scratch", ephemeral=source),)))
    made = await the_claim(cluster, "p-scratch")
    assert made.metadata.labels == {"kind": "scratch"}
    assert made.metadata.owner_references[0].uid == created.metadata.uid

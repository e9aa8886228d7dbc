"""Claims, volumes and attributes classes stay while they are in use.

Cases of upstream's tests of ``pvcprotection``, ``pvprotection`` and ``vacprotection``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    EphemeralVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimTemplate,
    PersistentVolumeClaimVolumeSource,
    Pod,
    Volume,
    VolumeResourceRequirements,
)
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.api.storage_v1 import VolumeAttributesClass
from podling.controllers.volumes.volume_protection import (
    AttributesClassProtectionController,
    ClaimProtectionController,
    VolumeProtectionController,
    uses_claim,
)
from podling.machinery.encoding import codec
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running, set_phase
from tests.support.storage_objects import VALID

SPEC = PersistentVolumeClaimSpec(
    access_modes=("ReadWriteOnce",), resources=VolumeResourceRequirements(requests={"storage": "1Gi"})
)


@pytest.fixture(autouse=True)
async def controllers(cluster: ControlPlane) -> AsyncIterator[None]:
    made = (ClaimProtectionController, VolumeProtectionController, AttributesClassProtectionController)
    async with running(cluster.client, *made):
        yield


def claim(name: str = "data", *, owner: Pod | None = None) -> PersistentVolumeClaim:
    uid = owner.metadata.uid if owner is not None else None
    ref = OwnerReference(api_version="v1", kind="Pod", name="p", uid=uid or "", controller=True)
    references = (ref,) if uid else ()
    metadata = ObjectMeta(name=name, namespace="default", owner_references=references)
    return PersistentVolumeClaim(metadata=metadata, spec=SPEC)


NAMED = Volume(name="v", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="data"))
EPHEMERAL = Volume(
    name="v",
    ephemeral=EphemeralVolumeSource(volume_claim_template=PersistentVolumeClaimTemplate(spec=SPEC)),
)


async def names(cluster: ControlPlane, kind: type[Any]) -> list[str]:
    return [each.metadata.name or "" for each in (await cluster.client.list(kind)).items]


@pytest.mark.parametrize(
    ("volume", "node", "owned", "grace", "wanted"),
    [
        (NAMED, "n1", False, None, True),
        (NAMED, "", False, None, False),
        (NAMED, "n1", False, 0, True),
        (EPHEMERAL, "n1", True, None, True),
        (EPHEMERAL, "n1", False, None, False),
        (EPHEMERAL, "", True, None, False),
        (EPHEMERAL, "n1", True, 30, True),
        (EPHEMERAL, "n1", True, 0, False),
        (Volume(name="v"), "n1", False, None, False),
    ],
)
def test_pod_on_a_node_uses_claims_until_it_is_shut_down(
    volume: Volume, node: str, owned: bool, grace: int | None, wanted: bool
) -> None:
    user = pod("p", node=node, volumes=(volume,))
    deleted = None if grace is None else EPOCH
    metadata = structs.replace(
        user.metadata, uid="u1", deletion_timestamp=deleted, deletion_grace_period_seconds=grace
    )
    user = structs.replace(user, metadata=metadata)
    name = "p-v" if volume is EPHEMERAL else "data"
    assert uses_claim(user, claim(name, owner=user if owned else None)) is wanted


def test_pod_may_name_a_claim_that_looks_like_one_of_its_ephemeral_volumes() -> None:
    named = Volume(name="w", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="p-v"))
    assert uses_claim(pod("p", node="n1", volumes=(EPHEMERAL, named)), claim("p-v"))


async def test_claim_stays_until_its_last_pod_on_a_node_is_gone(cluster: ControlPlane) -> None:
    await cluster.client.create(claim())
    for name, node in (("one", "n1"), ("two", "n1"), ("unplaced", "")):
        await cluster.client.create(pod(name, node=node, volumes=(NAMED,)))
    await cluster.advance(seconds=1)
    held = await cluster.client.get(PersistentVolumeClaim, "data", "default")
    assert held.metadata.finalizers == ("kubernetes.io/pvc-protection",)
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    for name in ("one", "two"):
        await cluster.advance(seconds=1)
        assert await names(cluster, PersistentVolumeClaim) == ["data"]
        await cluster.client.delete(Pod, name, "default", grace_seconds=0)
    await cluster.advance(seconds=1)
    assert await names(cluster, PersistentVolumeClaim) == []


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
async def test_claim_stays_while_a_finished_pod_names_it(cluster: ControlPlane, phase: str) -> None:
    await cluster.client.create(claim())
    await cluster.client.create(pod("p", node="n1", volumes=(NAMED, Volume(name="other"))))
    await set_phase(cluster.client, "p", phase)
    await cluster.advance(seconds=1)
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    await cluster.advance(minutes=20)
    assert await names(cluster, PersistentVolumeClaim) == ["data"]
    await cluster.client.delete(Pod, "p", "default", grace_seconds=0)
    await cluster.advance(seconds=1)
    assert await names(cluster, PersistentVolumeClaim) == []


@pytest.mark.parametrize(("again", "stays"), [(True, True), (False, False)])
async def test_pod_that_takes_the_name_of_another_counts_by_its_own_volumes(
    cluster: ControlPlane, again: bool, stays: bool
) -> None:
    await cluster.client.create(claim())
    await cluster.client.create(pod("p", node="n1", volumes=(NAMED,)))
    await cluster.advance(seconds=1)
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    await cluster.advance(seconds=1)
    await cluster.client.delete(Pod, "p", "default", grace_seconds=0)
    await cluster.client.create(pod("p", node="n1", volumes=(NAMED,) if again else ()))
    await cluster.advance(seconds=1)
    assert await names(cluster, PersistentVolumeClaim) == (["data"] if stays else [])


async def test_claim_of_ephemeral_volume_goes_while_a_finalizer_holds_its_pod(cluster: ControlPlane) -> None:
    user = pod("p", node="n1", volumes=(EPHEMERAL,))
    metadata = structs.replace(user.metadata, finalizers=("example.com/hold",))
    user = await cluster.client.create(structs.replace(user, metadata=metadata))
    await cluster.client.create(claim("p-v", owner=user))
    await cluster.advance(seconds=1)
    await cluster.client.delete(PersistentVolumeClaim, "p-v", "default")
    await cluster.advance(seconds=1)
    assert await names(cluster, PersistentVolumeClaim) == ["p-v"]
    await cluster.client.delete(Pod, "p", "default", grace_seconds=0)
    await cluster.advance(seconds=1)
    assert await names(cluster, PersistentVolumeClaim) == []
    assert await names(cluster, Pod) == ["p"]


@pytest.mark.parametrize(("phase", "stays"), [("Bound", True), ("Available", False), ("Released", False)])
async def test_volume_stays_while_it_is_bound(cluster: ControlPlane, phase: str, stays: bool) -> None:
    await cluster.client.create(codec.convert(VALID[PersistentVolume], PersistentVolume)[0])
    status = {"status": {"phase": phase}}
    await cluster.client.patch(PersistentVolume, "x", status, subresource="status")
    await cluster.advance(seconds=1)
    await cluster.client.delete(PersistentVolume, "x")
    await cluster.advance(seconds=1)
    assert await names(cluster, PersistentVolume) == (["x"] if stays else [])


async def test_attributes_class_stays_while_a_claim_or_a_volume_names_it(cluster: ControlPlane) -> None:
    await cluster.client.create(codec.convert(VALID[VolumeAttributesClass], VolumeAttributesClass)[0])
    user = claim()
    spec = structs.replace(user.spec, volume_attributes_class_name="x")
    await cluster.client.create(structs.replace(user, spec=spec))
    plain = {
        **VALID[PersistentVolume],
        "spec": {**VALID[PersistentVolume]["spec"], "volumeAttributesClassName": "x"},
    }
    await cluster.client.create(codec.convert(plain, PersistentVolume)[0])
    await cluster.advance(seconds=1)
    held = await cluster.client.get(VolumeAttributesClass, "x")
    assert held.metadata.finalizers == ("kubernetes.io/vac-protection",)
    await cluster.client.delete(VolumeAttributesClass, "x")
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    await cluster.advance(seconds=1)
    assert await names(cluster, VolumeAttributesClass) == ["x"]
    await cluster.client.delete(PersistentVolume, "x")
    await cluster.advance(seconds=1)
    assert await names(cluster, VolumeAttributesClass) == []

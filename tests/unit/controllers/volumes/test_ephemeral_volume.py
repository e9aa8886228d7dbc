"""Claims of ephemeral volumes. Cases of upstream's ``pkg/controller/volume/ephemeral/controller_test.go``."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    EphemeralVolumeSource,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimTemplate,
    Pod,
    Volume,
    VolumeResourceRequirements,
)
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.owner_references import is_controlled_by
from podling.controllers.volumes.ephemeral_volume import EphemeralVolumeController
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running, told
from tests.support.counts import samples

SPEC = PersistentVolumeClaimSpec(
    access_modes=("ReadWriteOnce",), resources=VolumeResourceRequirements(requests={"storage": "1Gi"})
)
TEMPLATE = PersistentVolumeClaimTemplate(
    metadata=ObjectMeta(labels={"team": "a"}, annotations={"note": "b"}), spec=SPEC
)
EPHEMERAL = Volume(name="v", ephemeral=EphemeralVolumeSource(volume_claim_template=TEMPLATE))


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, EphemeralVolumeController) as manager:
        yield manager


pytestmark = pytest.mark.usefixtures("manager")


async def claims(cluster: ControlPlane) -> list[PersistentVolumeClaim]:
    return list((await cluster.client.list(PersistentVolumeClaim, "default")).items)


async def test_claim_is_made_from_the_template_and_owned_by_the_pod(
    cluster: ControlPlane, manager: ControllerManager
) -> None:
    user = await cluster.client.create(pod("p", volumes=(EPHEMERAL,)))
    await cluster.advance(seconds=1)
    (made,) = await claims(cluster)
    assert (made.metadata.name, made.metadata.labels) == ("p-v", {"team": "a"})
    assert made.metadata.annotations.get("note") == "b"
    assert is_controlled_by(made, user)
    assert samples([manager], "ephemeral_volume_controller_create_total")[()] == 1
    assert samples([manager], "ephemeral_volume_controller_create_failures_total")[()] == 0
    await cluster.client.patch(PersistentVolumeClaim, "p-v", {"metadata": {"finalizers": None}}, "default")
    await cluster.client.delete(PersistentVolumeClaim, "p-v", "default")
    await cluster.advance(seconds=1)
    (again,) = await claims(cluster)
    assert again.metadata.uid != made.metadata.uid


async def test_pod_that_is_being_deleted_gets_no_claim(cluster: ControlPlane) -> None:
    user = pod("p", node="n1", volumes=(EPHEMERAL,))
    metadata = structs.replace(user.metadata, finalizers=("example.com/hold",))
    await cluster.client.create(structs.replace(user, metadata=metadata))
    await cluster.client.delete(Pod, "p", "default", grace_seconds=0)
    await cluster.advance(seconds=1)
    assert await claims(cluster) == []


async def test_pod_without_ephemeral_volumes_gets_no_claim(cluster: ControlPlane) -> None:
    await cluster.client.create(pod("p", volumes=(Volume(name="v"),)))
    await cluster.advance(seconds=1)
    assert await claims(cluster) == []


async def test_claim_of_another_owner_is_reported_until_it_is_gone(cluster: ControlPlane) -> None:
    metadata = ObjectMeta(name="p-v", namespace="default")
    foreign = await cluster.client.create(PersistentVolumeClaim(metadata=metadata, spec=SPEC))
    await cluster.client.create(pod("p", volumes=(EPHEMERAL,)))
    await cluster.advance(seconds=1)
    assert (await told(cluster.client))[0] == (
        "Warning FailedBinding p: ephemeral volume v: PVC default/p-v was not created for pod default/p "
        "(pod is not owner)"
    )
    patch = {"metadata": {"finalizers": None}}
    await cluster.client.patch(PersistentVolumeClaim, "p-v", patch, "default")
    await cluster.advance(minutes=20)
    await cluster.client.delete(PersistentVolumeClaim, "p-v", "default")
    await cluster.advance(seconds=1)
    (made,) = await claims(cluster)
    assert made.metadata.uid != foreign.metadata.uid

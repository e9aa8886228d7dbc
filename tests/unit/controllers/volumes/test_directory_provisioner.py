"""A claim gets a volume automatically, and the volume's folder is deleted with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.api.core_v1 import (
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    VolumeResourceRequirements,
)
from podling.api.meta_v1 import ObjectMeta
from podling.api.storage_v1 import StorageClass
from podling.controllers.base import ControllerContext
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.volumes.directory_provisioner import DirectoryProvisionerController
from podling.controllers.volumes.volume_binder import VolumeBinderController
from podling.controllers.volumes.volume_folders import NoFolders
from podling.controllers.volumes.volume_migration import EXTERNAL_FINALIZER
from podling.controllers.volumes.volume_protection import VolumeProtectionController
from podling.testing import ControlPlane
from tests.support.control_loops import running, told


class Noted(NoFolders):
    """Folders of which only the names are kept."""

    def __init__(self) -> None:
        super().__init__(Path("/volumes"))
        self.names: set[str] = set()
        self.busy = self.was_busy = False

    async def make(self, name: str, source: str = "", source_image: str = "") -> None:
        self.names.add(name)

    async def remove(self, name: str, image: str = "") -> None:
        if self.busy:
            self.was_busy = True
            raise OSError("device or resource busy")
        self.names.discard(name)


@pytest.fixture
def folders() -> Noted:
    return Noted()


@pytest.fixture
async def manager(cluster: ControlPlane, folders: Noted) -> AsyncIterator[ControllerManager]:
    def provisioner(context: ControllerContext) -> DirectoryProvisionerController:
        return DirectoryProvisionerController(context, folders)

    async with running(
        cluster.client, VolumeBinderController, VolumeProtectionController, provisioner
    ) as manager:
        await cluster.advance(seconds=1)
        yield manager
        if not folders.was_busy:
            assert all(counters.failures == 0 for counters in manager.counters.values())


pytestmark = pytest.mark.usefixtures("manager")


def claim(storage_class: str | None = None) -> PersistentVolumeClaim:
    resources = VolumeResourceRequirements(requests={"storage": "2Gi"})
    spec = PersistentVolumeClaimSpec(
        access_modes=("ReadWriteOnce",), resources=resources, storage_class_name=storage_class
    )
    return PersistentVolumeClaim(metadata=ObjectMeta(name="data", namespace="default"), spec=spec)


async def volumes(cluster: ControlPlane) -> list[PersistentVolume]:
    await cluster.advance(seconds=1)
    return list((await cluster.client.list(PersistentVolume)).items)


async def test_a_claim_of_the_default_class_is_bound_to_a_folder(
    cluster: ControlPlane, folders: Noted
) -> None:
    created = await cluster.client.create(claim())
    assert created.spec.storage_class_name == "standard"
    (made,) = await volumes(cluster)
    assert made.metadata.name == f"pvc-{created.metadata.uid}"
    assert (made.status.phase, made.spec.capacity) == ("Bound", {"storage": "2Gi"})
    assert made.spec.host_path is not None
    assert made.spec.host_path.path == f"/volumes/{made.metadata.name}"
    assert folders.names == {made.metadata.name}
    held = await cluster.client.get(PersistentVolumeClaim, "data", "default")
    assert (held.status.phase, held.spec.volume_name) == ("Bound", made.metadata.name)
    lines = await told(cluster.client)
    assert f"Normal ProvisioningSucceeded data: Successfully provisioned volume {made.metadata.name}" in lines


async def test_the_folder_goes_with_the_claim(cluster: ControlPlane, folders: Noted) -> None:
    await cluster.client.create(claim())
    await cluster.advance(seconds=1)
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    assert await volumes(cluster) == []
    assert folders.names == set()


async def test_retain_policy_keeps_volume_and_folder(cluster: ControlPlane, folders: Noted) -> None:
    await cluster.client.create(
        StorageClass(
            metadata=ObjectMeta(name="precious"),
            provisioner="podling.local/directory",
            reclaim_policy="Retain",
        )
    )
    await cluster.client.create(claim("precious"))
    await cluster.advance(seconds=1)
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    (kept,) = await volumes(cluster)
    assert kept.status.phase == "Released"
    assert folders.names == {kept.metadata.name}


async def test_classes_are_there_and_may_be_taken_away(cluster: ControlPlane) -> None:
    sized, standard = (await cluster.client.list(StorageClass)).items
    assert standard.metadata.annotations == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert (sized.metadata.name, sized.metadata.annotations) == ("sized", {})
    assert sized.parameters == {"enforceSize": "true"}
    for made in (sized, standard):
        assert made.allow_volume_expansion
        await cluster.client.delete(StorageClass, made.metadata.name or "")
    await cluster.advance(minutes=10)
    assert (await cluster.client.list(StorageClass)).items == ()


async def test_folder_goes_with_the_claim_though_its_volume_was_deleted_first(
    cluster: ControlPlane, folders: Noted
) -> None:
    await cluster.client.create(claim())
    (made,) = await volumes(cluster)
    await cluster.client.delete(PersistentVolume, made.metadata.name or "")
    (held,) = await volumes(cluster)
    assert (held.status.phase, folders.names) == ("Bound", {held.metadata.name})
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    assert await volumes(cluster) == []
    assert folders.names == set()


async def test_volume_stays_until_its_folder_could_be_removed(cluster: ControlPlane, folders: Noted) -> None:
    await cluster.client.create(claim())
    (made,) = await volumes(cluster)
    folders.busy = True
    await cluster.client.delete(PersistentVolume, made.metadata.name or "")
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    (held,) = await volumes(cluster)
    assert (held.status.phase, held.metadata.finalizers) == ("Released", (EXTERNAL_FINALIZER,))
    folders.busy = False
    await cluster.advance(minutes=20)
    assert await volumes(cluster) == []
    assert folders.names == set()


async def test_finalizer_of_a_volume_follows_its_policy(cluster: ControlPlane) -> None:
    await cluster.client.create(claim())
    (made,) = await volumes(cluster)
    protection = "kubernetes.io/pv-protection"
    assert set(made.metadata.finalizers) == {EXTERNAL_FINALIZER, protection}
    for policy, wanted in (("Retain", {protection}), ("Delete", {protection, EXTERNAL_FINALIZER})):
        patch = {"spec": {"persistentVolumeReclaimPolicy": policy}}
        await cluster.client.patch(PersistentVolume, made.metadata.name or "", patch)
        (held,) = await volumes(cluster)
        assert set(held.metadata.finalizers) == wanted

"""Claims that request more than they have: the steps of growth, its conditions and events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    Event,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    VolumeResourceRequirements,
)
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.base import ControllerContext
from podling.controllers.volumes.directory_provisioner import DirectoryProvisionerController
from podling.controllers.volumes.volume_binder import VolumeBinderController
from podling.controllers.volumes.volume_folders import NoFolders
from podling.testing import ControlPlane
from tests.support.control_loops import running

GIB = 1 << 30


class Images(NoFolders):
    """Folders of which only the sizes of images are kept; enlarging fails while ``full``."""

    def __init__(self) -> None:
        super().__init__(Path("/volumes"))
        self.sizes: dict[str, int] = {}
        self.full = False

    async def make_image(
        self, name: str, size_bytes: int, kind: str, source: str = "", source_image: str = ""
    ) -> None:
        self.sizes[name] = size_bytes

    async def enlarge(self, name: str, size_bytes: int) -> None:
        if self.full:
            raise OSError("no space left on device")
        self.sizes[name] = size_bytes


@pytest.fixture
async def images(cluster: ControlPlane) -> AsyncIterator[Images]:
    folders = Images()

    def provisioner(context: ControllerContext) -> DirectoryProvisionerController:
        return DirectoryProvisionerController(context, folders)

    async with running(cluster.client, VolumeBinderController, provisioner):
        await cluster.advance(seconds=1)
        yield folders


async def grow(
    cluster: ControlPlane, storage_class: str, mode: str = "Filesystem"
) -> tuple[PersistentVolumeClaim, PersistentVolume]:
    """Create a claim of 1 GiB, request 3 GiB for it, and return claim and volume a moment later."""
    spec = PersistentVolumeClaimSpec(
        access_modes=("ReadWriteOnce",),
        resources=VolumeResourceRequirements(requests={"storage": "1Gi"}),
        storage_class_name=storage_class,
        volume_mode=mode,
    )
    await cluster.client.create(
        PersistentVolumeClaim(metadata=ObjectMeta(name="data", namespace="default"), spec=spec)
    )
    await cluster.advance(seconds=1)
    bound = await cluster.client.get(PersistentVolumeClaim, "data", "default")
    assert bound.status.capacity == {"storage": "1Gi"}
    more = VolumeResourceRequirements(requests={"storage": "3Gi"})
    await cluster.client.update(structs.replace(bound, spec=structs.replace(bound.spec, resources=more)))
    return await found(cluster)


async def found(cluster: ControlPlane) -> tuple[PersistentVolumeClaim, PersistentVolume]:
    await cluster.advance(seconds=1)
    claim = await cluster.client.get(PersistentVolumeClaim, "data", "default")
    return claim, await cluster.client.get(PersistentVolume, claim.spec.volume_name or "")


async def reasons(cluster: ControlPlane) -> set[str]:
    return {event.reason or "" for event in (await cluster.client.list(Event, "default")).items}


@pytest.mark.parametrize(("storage_class", "mode"), [("standard", "Filesystem"), ("sized", "Block")])
async def test_directories_and_devices_have_their_new_size_at_once(
    cluster: ControlPlane, images: Images, storage_class: str, mode: str
) -> None:
    claim, volume = await grow(cluster, storage_class, mode)
    assert claim.status.capacity == volume.spec.capacity == {"storage": "3Gi"}
    assert claim.status.conditions == ()
    assert {"Resizing", "VolumeResizeSuccessful"} <= await reasons(cluster)
    assert list(images.sizes.values()) == ([3 * GIB] if mode == "Block" else [])


async def test_file_system_of_an_image_waits_for_the_node(cluster: ControlPlane, images: Images) -> None:
    """The node completes it: it writes the capacity and takes the condition away."""
    claim, volume = await grow(cluster, "sized")
    assert volume.spec.capacity == {"storage": "3Gi"}
    assert list(images.sizes.values()) == [3 * GIB]
    assert claim.status.capacity == {"storage": "1Gi"}
    (condition,) = claim.status.conditions
    assert (condition.type, condition.status) == ("FileSystemResizePending", "True")
    assert condition.message == (
        "Waiting for user to (re-)start a pod to finish file system resize of volume on node."
    )
    assert {"Resizing", "FileSystemResizeRequired"} <= await reasons(cluster)


async def test_growth_that_failed_is_tried_again(cluster: ControlPlane, images: Images) -> None:
    images.full = True
    claim, volume = await grow(cluster, "sized")
    assert volume.spec.capacity == {"storage": "1Gi"}
    assert [each.type for each in claim.status.conditions] == ["Resizing"]
    assert "VolumeResizeFailed" in await reasons(cluster)
    images.full = False
    await cluster.advance(minutes=2)
    claim, volume = await found(cluster)
    assert volume.spec.capacity == {"storage": "3Gi"}
    assert [each.type for each in claim.status.conditions] == ["FileSystemResizePending"]

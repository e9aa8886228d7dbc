"""Snapshots of claims, on virtual time, with the volumes' files in a directory of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Event, ObjectReference, PersistentVolume, PersistentVolumeClaim
from podling.api.meta_v1 import ObjectMeta
from podling.client.typed_kinds import TypedClient
from podling.controllers.volumes.directory_provisioner import DirectoryProvisionerController
from podling.controllers.volumes.snapshots.controller import SnapshotController
from podling.controllers.volumes.snapshots.kinds import (
    ContentSource,
    ContentSpec,
    SnapshotSource,
    SnapshotSpec,
    VolumeSnapshot,
    VolumeSnapshotClass,
    VolumeSnapshotContent,
)
from podling.controllers.volumes.snapshots.snapshot_rules import DEFAULT_CLASS, DRIVER
from podling.controllers.volumes.volume_binder import VolumeBinderController
from podling.controllers.volumes.volume_folders import VolumeFolders
from podling.extensions.loading import extensions_of
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane, memory_cluster, running


class InPlace(VolumeFolders):
    """Folders that are made at once: virtual time does not wait for threads."""

    async def has(self, name: str) -> bool:
        return self.path(name).is_dir()

    async def make(self, name: str, source: str = "", source_image: str = "") -> None:
        self._make(self.path(name), source, source_image)

    async def remove(self, name: str, image: str = "") -> None:
        self._remove(self.path(name), image)


class Snapshots:
    """A cluster with provisioner and snapshot controller over one directory."""

    def __init__(self, plane: ControlPlane, root: Path) -> None:
        self.plane = plane
        self.client = TypedClient(plane.client)
        self.root = root

    async def wait(self, seconds: float = 2) -> None:
        await self.plane.advance(seconds=seconds)

    async def make_class(self, name: str = "keep", policy: str = "Delete", **annotations: str) -> None:
        metadata = ObjectMeta(name=name, annotations=annotations)
        await self.client.create(
            VolumeSnapshotClass(metadata=metadata, deletion_policy=policy, driver=DRIVER)
        )

    async def claim(self, name: str = "data", size: str = "1Gi", **spec: Any) -> Path:
        """Create a claim; return where its files are once it is bound."""
        plain = {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}},
                **spec,
            },
        }
        made = await self.client.create(msgspec.convert(plain, PersistentVolumeClaim))
        await self.wait()
        return self.root / f"pvc-{made.metadata.uid}"

    async def snapshot(self, name: str = "snap", kind: str | None = "keep", **source: str) -> VolumeSnapshot:
        chosen = SnapshotSource(**(source or {"persistent_volume_claim_name": "data"}))
        spec = SnapshotSpec(source=chosen, volume_snapshot_class_name=kind)
        metadata = ObjectMeta(name=name, namespace="default")
        await self.client.create(VolumeSnapshot(metadata=metadata, spec=spec))
        await self.wait()
        return await self.get(name)

    async def get(self, name: str = "snap") -> VolumeSnapshot:
        return await self.client.get(VolumeSnapshot, name, "default")

    async def content(self, snapshot: VolumeSnapshot) -> VolumeSnapshotContent:
        bound = snapshot.status.bound_volume_snapshot_content_name
        return await self.client.get(VolumeSnapshotContent, bound)

    async def is_gone(self, kind: type[Any], name: str, namespace: str | None = None) -> bool:
        items = (await self.client.list(kind, namespace)).items
        return all(each.metadata.name != name for each in items)

    async def events(self, name: str) -> dict[str, str]:
        found = (await self.client.list(Event)).items
        return {each.reason: each.message for each in found if each.involved_object.name == name}


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Snapshots]:
    folders = InPlace(tmp_path / "volumes")
    extensions = extensions_of(["snapshots"])
    async with (
        memory_cluster(extensions=extensions) as plane,
        running(
            plane.client,
            VolumeBinderController,
            partial(DirectoryProvisionerController, folders=folders),
            partial(SnapshotController, folders=folders),
        ),
    ):
        await plane.advance(seconds=1)
        yield Snapshots(plane, tmp_path / "volumes")


def restored(name: str = "snap") -> dict[str, Any]:
    kind = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name}
    return {"dataSource": kind}


async def test_snapshot_keeps_the_files_that_a_claim_begins_with(here: Snapshots) -> None:
    await here.make_class()
    files = await here.claim()
    (files / "text").write_text("before")
    snapshot = await here.snapshot()
    status = snapshot.status
    assert (status.ready_to_use, status.restore_size, status.error) == (True, str(1 << 30), None)
    assert status.creation_time is not None
    content = await here.content(snapshot)
    assert content.spec.volume_snapshot_ref.uid == snapshot.metadata.uid
    assert content.spec.source_volume_mode == "Filesystem"
    assert (content.status.restore_size, content.status.ready_to_use) == (1 << 30, True)
    (files / "text").write_text("after")
    copy = await here.claim("copy", **restored())
    assert (copy / "text").read_text() == "before"
    assert {"CreatingSnapshot", "SnapshotCreated", "SnapshotReady"} <= set(await here.events("snap"))


async def test_default_class_is_used_and_there_is_one(here: Snapshots) -> None:
    await here.claim()
    first = await here.snapshot("none", None)
    assert first.status.error is not None
    text = "Failed to set default snapshot class with error cannot find default snapshot class"
    assert first.status.error.message == text
    await here.make_class("one", **{DEFAULT_CLASS: "true"})
    await here.wait()
    assert (await here.get("none")).status.ready_to_use, "the class is there now"
    await here.make_class("two", **{DEFAULT_CLASS: "true"})
    second = await here.snapshot("many", None)
    assert second.status.error is not None
    assert "2 default snapshot classes were found" in second.status.error.message


@pytest.mark.parametrize(
    ("kind", "claim", "reason", "message"),
    [
        ("missing", "data", "GetSnapshotClassFailed", '"missing" not found'),
        ("keep", "other", "SnapshotContentCreationFailed", 'persistentvolumeclaim "other" not found'),
        ("keep", "waits", "SnapshotContentCreationFailed", "the PVC waits is not yet bound to a PV"),
        (
            "keep",
            "by-hand",
            "SnapshotContentCreationFailed",
            "was not provisioned by podling.local/directory",
        ),
    ],
)
async def test_snapshot_that_cannot_be_taken_says_why(
    here: Snapshots, kind: str, claim: str, reason: str, message: str
) -> None:
    await here.make_class()
    await here.claim()
    await here.claim("waits", storageClassName="no-such-class")
    volume = {
        "metadata": {"name": "by-hand"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/by-hand"},
            "storageClassName": "",
        },
    }
    await here.client.create(msgspec.convert(volume, PersistentVolume))
    await here.claim("by-hand", storageClassName="", volumeName="by-hand")
    found = await here.snapshot(kind=kind, persistent_volume_claim_name=claim)
    assert found.status.error is not None
    assert message in found.status.error.message
    assert found.status.ready_to_use is False
    assert message in (await here.events("snap"))[reason]
    await here.wait(300)
    assert (await here.get()).status.error == found.status.error, "the first time of an error stays"


async def test_snapshot_is_taken_once_its_claim_is_bound(here: Snapshots) -> None:
    await here.make_class()
    waiting = await here.snapshot()
    assert waiting.status.error is not None
    await here.claim()
    await here.wait()
    found = await here.get()
    assert (found.status.ready_to_use, found.status.error) == (True, None)


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
async def test_policy_decides_about_the_content_of_a_deleted_snapshot(here: Snapshots, policy: str) -> None:
    await here.make_class(policy=policy)
    await here.claim()
    snapshot = await here.snapshot()
    content = await here.content(snapshot)
    folder = here.root / content.status.snapshot_handle
    assert folder.is_dir()
    await here.client.delete(VolumeSnapshot, "snap", "default")
    await here.wait()
    assert await here.is_gone(VolumeSnapshot, "snap", "default")
    deleted = policy == "Delete"
    assert await here.is_gone(VolumeSnapshotContent, content.metadata.name or "") == deleted
    assert folder.exists() != deleted


async def test_snapshot_outlives_its_claim_and_content_its_deletion(here: Snapshots) -> None:
    await here.make_class()
    files = await here.claim()
    (files / "text").write_text("kept")
    snapshot = await here.snapshot()
    await here.client.delete(PersistentVolumeClaim, "data", "default")
    await here.wait()
    assert not files.exists()
    content = await here.content(snapshot)
    await here.client.delete(VolumeSnapshotContent, content.metadata.name or "")
    await here.wait()
    assert not await here.is_gone(VolumeSnapshotContent, content.metadata.name or ""), "it is bound"
    assert ((await here.claim("copy", **restored())) / "text").read_text() == "kept"


async def test_deleted_snapshot_waits_for_a_claim_that_begins_with_it(here: Snapshots) -> None:
    await here.make_class()
    await here.claim()
    await here.snapshot()
    await here.claim("small", "1Mi", **restored())
    await here.client.delete(VolumeSnapshot, "snap", "default")
    await here.wait()
    assert "SnapshotDeletePending" in await here.events("snap")
    assert not await here.is_gone(VolumeSnapshot, "snap", "default")
    await here.client.delete(PersistentVolumeClaim, "small", "default")
    await here.wait()
    assert await here.is_gone(VolumeSnapshot, "snap", "default")


async def test_existing_snapshot_is_bound_by_hand(here: Snapshots) -> None:
    await here.make_class(policy="Retain")
    files = await here.claim()
    (files / "text").write_text("kept")
    content = await here.content(await here.snapshot())
    handle = content.status.snapshot_handle
    reference = ObjectReference(name="again", namespace="default")
    spec = ContentSpec(
        deletion_policy="Retain",
        driver=DRIVER,
        source=ContentSource(snapshot_handle=handle),
        volume_snapshot_ref=reference,
    )
    await here.client.create(VolumeSnapshotContent(metadata=ObjectMeta(name="by-hand"), spec=spec))
    found = await here.snapshot("again", None, volume_snapshot_content_name="by-hand")
    assert found.status.ready_to_use
    assert ((await here.claim("copy", **restored("again"))) / "text").read_text() == "kept"
    other = await here.snapshot("third", None, volume_snapshot_content_name="by-hand")
    assert other.status.error is not None
    assert "is bound to a different snapshot" in other.status.error.message


@pytest.mark.parametrize("handle", ["pvc-1", "../etc", "snapshot-", "snapshot-../x"])
async def test_handle_of_something_else_is_neither_used_nor_removed(here: Snapshots, handle: str) -> None:
    (here.root / "pvc-1").mkdir(parents=True)
    spec = ContentSpec(
        deletion_policy="Delete",
        driver=DRIVER,
        source=ContentSource(snapshot_handle=handle),
        volume_snapshot_ref=ObjectReference(name="snap", namespace="default"),
    )
    await here.client.create(VolumeSnapshotContent(metadata=ObjectMeta(name="by-hand"), spec=spec))
    await here.wait()
    content = await here.client.get(VolumeSnapshotContent, "by-hand")
    assert content.status.error is not None
    assert "is not the handle of a snapshot" in content.status.error.message
    await here.client.delete(VolumeSnapshotContent, "by-hand")
    await here.wait()
    assert await here.is_gone(VolumeSnapshotContent, "by-hand")
    assert (here.root / "pvc-1").is_dir()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (restored("missing"), "error getting snapshot missing from api server"),
        ({**restored(), "size": "1Mi"}, "requested volume size 1048576 is less than the size 1073741824"),
        ({**restored(), "volumeMode": "Block"}, "modifies the mode of the source volume"),
    ],
)
async def test_claim_that_cannot_begin_with_a_snapshot_says_why(
    here: Snapshots, spec: dict[str, Any], message: str
) -> None:
    await here.make_class()
    await here.claim()
    await here.snapshot()
    await here.claim("copy", **spec)
    assert message in (await here.events("copy"))["ProvisioningFailed"]


async def test_claim_waits_for_its_snapshot(here: Snapshots) -> None:
    await here.claim("copy", **restored())
    await here.make_class()
    await here.claim()
    await here.snapshot()
    await here.wait(10)
    copy = await here.client.get(PersistentVolumeClaim, "copy", "default")
    assert copy.status.phase == "Bound"


async def test_schema_refuses_what_upstream_refuses(here: Snapshots) -> None:
    both = {"persistent_volume_claim_name": "a", "volume_snapshot_content_name": "b"}
    with pytest.raises(ApiError, match="must validate one and only one schema"):
        await here.snapshot(**both)
    with pytest.raises(ApiError, match="volumeSnapshotClassName must not be the empty string when set"):
        await here.snapshot(kind="")
    with pytest.raises(ApiError, match='supported values: "Delete", "Retain"'):
        await here.make_class(policy="Keep")

"""Takes, binds and deletes snapshots of the directory provisioner's volumes.

A snapshot is a copy of the volume's files, or of its disk image, in a directory beside the volumes. Pods
that write meanwhile are not stopped: applications that need a consistent copy must be quiet. One controller
does what upstream's snapshot controller and the driver's sidecar do; it leaves objects of other drivers
alone.

Guarantees: a directory is removed only for a content of our driver that is deleted with the policy Delete,
and only if its name is that of a snapshot.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from msgspec import structs

from podling import clock
from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.client.base import ApiObject, Key
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.volumes.snapshots import snapshot_rules as rules
from podling.controllers.volumes.snapshots.definitions import GROUP
from podling.controllers.volumes.snapshots.kinds import (
    ContentStatus,
    SnapshotError,
    SnapshotStatus,
    VolumeSnapshot,
    VolumeSnapshotClass,
    VolumeSnapshotContent,
)
from podling.controllers.volumes.volume_folders import Folders, NoFolders
from podling.controllers.volumes.volume_rules import capacity
from podling.controllers.volumes.volume_sources import source_of
from podling.machinery.errors import ApiError, is_already_exists, unless_gone
from podling.machinery.volume_images import ANNOTATION, image_kind

RETRY_SECONDS = 60.0
SNAPSHOT = (GROUP, "VolumeSnapshot")


class SnapshotController(Controller):
    """The keys are snapshots, and contents (without a namespace)."""

    name: ClassVar[str] = "volume-snapshot-controller"
    uses_folders: ClassVar[bool] = True

    def __init__(self, context: ControllerContext, folders: Folders | None = None) -> None:
        super().__init__(context)
        self._folders = folders or NoFolders(Path("volumes"))
        self._recorder = context.recorder("snapshot-controller")
        self._snapshots = context.informers.informer(VolumeSnapshot)
        self._contents = context.informers.informer(VolumeSnapshotContent)
        self._classes = context.informers.informer(VolumeSnapshotClass)
        self._claims = context.informers.informer(PersistentVolumeClaim)
        self._volumes = context.informers.informer(PersistentVolume)
        self._snapshots.add_handler(self._snapshot_seen, lambda _, new: self._snapshot_seen(new))
        self._contents.add_handler(
            self._content_seen, lambda _, new: self._content_seen(new), self._content_seen
        )
        self._classes.add_handler(self._class_seen, lambda _, new: self._class_seen(new))
        self._claims.add_handler(self._claim_seen, lambda _, new: self._claim_seen(new), self._claim_seen)

    def _snapshot_seen(self, snapshot: VolumeSnapshot) -> None:
        self.enqueue(snapshot)
        self.queue.add(Key("", rules.content_name(snapshot)))

    def _content_seen(self, content: VolumeSnapshotContent) -> None:
        self.enqueue(content)
        reference = content.spec.volume_snapshot_ref
        self.queue.add(Key(reference.namespace or "", reference.name or ""))

    def _class_seen(self, kind: VolumeSnapshotClass) -> None:
        for snapshot in self._snapshots.values():
            if not snapshot.status.ready_to_use:
                self.enqueue(snapshot)

    def _claim_seen(self, claim: PersistentVolumeClaim) -> None:
        for snapshot in self._snapshots.values():
            if snapshot.metadata.namespace != claim.metadata.namespace:
                continue
            source = snapshot.spec.source.persistent_volume_claim_name
            deleted = snapshot.metadata.deletion_timestamp is not None
            if source == claim.metadata.name or (deleted and _begins_with(claim, snapshot)):
                self.enqueue(snapshot)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        if not key.namespace:
            content = self._contents.get(key)
            if content is None or content.spec.driver != rules.DRIVER:
                return AwaitChange()
            return await self._reconcile_content(content)
        snapshot = self._snapshots.get(key)
        if snapshot is None:
            return AwaitChange()
        if snapshot.metadata.deletion_timestamp is not None:
            await self._end(snapshot)
            return AwaitChange()
        try:
            await self._bring_about(snapshot)
        except rules.Refused as error:
            await self._fail(snapshot, error)
            return RequeueAfter(RETRY_SECONDS)
        return AwaitChange()

    # Snapshots.

    async def _bring_about(self, snapshot: VolumeSnapshot) -> None:
        """Give the snapshot its content, and the status of it. Raises ``Refused``."""
        content = self._contents.get(Key("", rules.content_name(snapshot)))
        if content is None:
            await self._make_content(snapshot)
            return
        if content.spec.driver != rules.DRIVER:
            return
        if not rules.points_at(content, snapshot):
            name = content.metadata.name
            text = f"VolumeSnapshotContent [{name}] is bound to a different snapshot"
            raise rules.Refused("SnapshotContentMisbound", text)
        if await self._protect(snapshot, rules.BOUND_FINALIZER, rules.SOURCE_FINALIZER):
            return
        status = rules.status_for(snapshot, content)
        if status == snapshot.status:
            return
        await self.write_status(structs.replace(snapshot, status=status))
        if status.ready_to_use and not snapshot.status.ready_to_use:
            text = f"Snapshot {snapshot.metadata.namespace}/{snapshot.metadata.name}"
            created = f"{text} was successfully created by the CSI driver."
            self._recorder.event(snapshot, "Normal", "SnapshotCreated", created)
            self._recorder.event(snapshot, "Normal", "SnapshotReady", f"{text} is ready to use.")

    async def _make_content(self, snapshot: VolumeSnapshot) -> None:
        named = snapshot.spec.source.volume_snapshot_content_name
        if named:
            raise rules.Refused("SnapshotContentMissing", "VolumeSnapshotContent is missing")
        kind = rules.class_for(snapshot, self._classes.values())
        if kind.driver != rules.DRIVER:
            return
        name = snapshot.spec.source.persistent_volume_claim_name
        claim = self._claims.get(Key(snapshot.metadata.namespace or "", name))
        bound = claim.spec.volume_name if claim is not None else None
        volume = self._volumes.get(Key("", bound)) if bound else None
        rules.check_source(claim, volume, name)
        assert volume is not None
        if await self._protect(snapshot, rules.BOUND_FINALIZER, rules.SOURCE_FINALIZER):
            return
        try:
            await self.client.create(rules.content_for(snapshot, kind, volume))
        except ApiError as error:
            if is_already_exists(error):
                return
            raise
        where = f"{snapshot.metadata.namespace}/{snapshot.metadata.name}"
        text = f"Waiting for a snapshot {where} to be created by the CSI driver."
        self._recorder.event(snapshot, "Normal", "CreatingSnapshot", text)

    async def _fail(self, snapshot: VolumeSnapshot, error: rules.Refused) -> None:
        self._recorder.event(snapshot, "Warning", error.reason, str(error))
        known = snapshot.status.error
        if known is not None and known.message == str(error):
            return
        status = SnapshotStatus(error=_error(error), ready_to_use=False)
        await self.write_status(structs.replace(snapshot, status=status))

    async def _end(self, snapshot: VolumeSnapshot) -> None:
        """Release a deleted snapshot, once no claim needs it and its content is gone or is to be kept."""
        if any(_begins_with(claim, snapshot) for claim in self._claims.values()):
            text = "Snapshot is being used to restore a PVC"
            self._recorder.event(snapshot, "Warning", "SnapshotDeletePending", text)
            return
        content = self._contents.get(Key("", rules.content_name(snapshot)))
        if content is not None and content.spec.driver != rules.DRIVER:
            return
        if content is not None and rules.points_at(content, snapshot) and _is_deleted_with(content):
            if content.metadata.deletion_timestamp is None:
                with unless_gone():
                    name, uid = content.metadata.name or "", content.metadata.uid or ""
                    await self.client.delete(VolumeSnapshotContent, name, uid=uid)
            return
        await self._release(snapshot, rules.BOUND_FINALIZER, rules.SOURCE_FINALIZER)

    # Contents.

    async def _reconcile_content(self, content: VolumeSnapshotContent) -> RequeueAfter | AwaitChange:
        if content.metadata.deletion_timestamp is not None:
            await self._end_content(content)
            return AwaitChange()
        if content.status.ready_to_use:
            return AwaitChange()
        if await self._protect(content, rules.CONTENT_FINALIZER):
            return AwaitChange()
        try:
            status = await self._store(content)
        except (OSError, rules.Refused) as error:
            self._recorder.event(content, "Warning", "SnapshotCreationFailed", str(error))
            failed = ContentStatus(error=_error(error), ready_to_use=False)
            known = content.status.error
            if known is None or known.message != str(error):
                await self.write_status(structs.replace(content, status=failed))
            return RequeueAfter(RETRY_SECONDS)
        await self.write_status(structs.replace(content, status=status))
        return AwaitChange()

    async def _store(self, content: VolumeSnapshotContent) -> ContentStatus:
        """Take the snapshot, or find the one that exists. Raises ``OSError``, ``Refused``."""
        handle = rules.handle_for(content)
        if not rules.is_handle(handle):
            text = f"Failed to check and update snapshot content: {handle} is not the handle of a snapshot"
            raise rules.Refused("SnapshotContentCheckandUpdateFailed", text)
        if content.spec.source.snapshot_handle:
            if not await self._folders.has(handle):
                raise OSError(f"Failed to check and update snapshot content: no snapshot {handle} is stored")
            return ContentStatus(ready_to_use=True, snapshot_handle=handle)
        name = content.spec.source.volume_handle
        volume = self._volumes.get(Key("", name))
        if volume is None:
            raise OSError(f'Failed to create snapshot: persistentvolume "{name}" not found')
        image, size = image_kind(volume), capacity(volume).value
        moment = int(clock.now().timestamp() * 10**9)
        if image:
            await self._folders.make_image(handle, size, image, name, image)
        else:
            await self._folders.make(handle, name)
        return ContentStatus(
            creation_time=moment, ready_to_use=True, restore_size=size, snapshot_handle=handle
        )

    async def _end_content(self, content: VolumeSnapshotContent) -> None:
        """Remove what a deleted content stands for, once its snapshot is deleted, too."""
        reference = content.spec.volume_snapshot_ref
        snapshot = self._snapshots.get(Key(reference.namespace or "", reference.name or ""))
        if snapshot is not None and rules.points_at(content, snapshot):
            bound = snapshot.status.bound_volume_snapshot_content_name == content.metadata.name
            if bound and snapshot.metadata.deletion_timestamp is None:
                return
        handle = rules.handle_for(content)
        if _is_deleted_with(content) and rules.is_handle(handle):
            try:
                await self._folders.remove(handle, content.metadata.annotations.get(ANNOTATION, ""))
            except OSError as error:
                text = f"Failed to delete snapshot: {error}"
                self._recorder.event(content, "Warning", "SnapshotDeleteError", text)
                raise
        await self._release(content, rules.CONTENT_FINALIZER)

    # Finalizers.

    async def _protect(self, obj: ApiObject, *names: str) -> bool:
        """Add finalizers; return whether any was missing: then the changed object is reconciled next."""
        return await self._set_finalizers(obj, {*obj.metadata.finalizers, *names})

    async def _release(self, obj: ApiObject, *names: str) -> None:
        await self._set_finalizers(obj, set(obj.metadata.finalizers) - set(names))

    async def _set_finalizers(self, obj: ApiObject, wanted: set[str]) -> bool:
        metadata = obj.metadata
        if wanted == set(metadata.finalizers):
            return False
        patch = {"metadata": {"finalizers": sorted(wanted), "uid": metadata.uid}}
        with unless_gone():
            await self.client.patch(type(obj), metadata.name or "", patch, metadata.namespace)
        return True


def _begins_with(claim: PersistentVolumeClaim, snapshot: VolumeSnapshot) -> bool:
    """Return whether a volume that begins with the snapshot has yet to be made for the claim."""
    if claim.spec.volume_name or claim.metadata.namespace != snapshot.metadata.namespace:
        return False
    return source_of(claim) == (SNAPSHOT, snapshot.metadata.name)


def _is_deleted_with(content: VolumeSnapshotContent) -> bool:
    return content.spec.deletion_policy == "Delete"


def _error(error: Exception) -> SnapshotError:
    return SnapshotError(message=str(error), time=clock.now().replace(microsecond=0))

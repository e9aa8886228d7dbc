"""Provisioning of volumes from directories of the machine, without an administrator.

The class ``standard`` is the default one unless another is marked so. For each claim of a class with our
provisioner the controller creates a directory and a volume reserved for that claim; the binder binds them.
When the claim is deleted and the policy is Delete, it removes the directory, then the volume.

A volume of ``standard`` is a directory whose size is recorded and not enforced. A class with the parameter
``enforceSize: "true"``, such as ``sized``, gives volumes with a file system of their own in a disk image,
and a claim with ``volumeMode: Block`` gets an image as block device. A claim whose data source is another
claim or a snapshot gets a copy of its files (``volume_sources``, ``snapshots``). Volumes grow with their
claims (``volume_expansion``).

Guarantees: a folder is removed only for a volume that we made, that was released, and whose policy says
Delete; such a volume has a finalizer, so that it outlives its folder. All nodes must see the same folder:
this is for nodes of one machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct

from podling.api.core_v1 import (
    HostPathVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
)
from podling.api.meta_v1 import ObjectMeta
from podling.api.storage_v1 import StorageClass
from podling.client.base import Key
from podling.client.runner import AwaitChange, RequeueAfter, Terminal
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.volumes import volume_migration as migration
from podling.controllers.volumes import volume_rules as rules
from podling.controllers.volumes.volume_expansion import VolumeExpansion
from podling.controllers.volumes.volume_folders import Folders
from podling.controllers.volumes.volume_protection import hold_finalizer, release_finalizer
from podling.controllers.volumes.volume_sources import (
    SNAPSHOT,
    NotReady,
    NoVolume,
    check_attributes,
    check_source,
    source_name,
    source_of,
    waits_for,
)
from podling.files.disk_images import BLOCK, EXT4
from podling.machinery.errors import ApiError, is_already_exists, unless_gone
from podling.machinery.quantity import value
from podling.machinery.storage_classes import DEFAULT_CLASS, class_of, is_default
from podling.machinery.volume_images import ANNOTATION, image_kind

PROVISIONER = "podling.local/directory"
CLASS_NAME = "standard"
SIZED_CLASS_NAME = "sized"
ENFORCE_SIZE = "enforceSize"
RETRY_SECONDS = 5.0
"""The time after which a snapshot that was not ready is looked at again."""
THE_CLASSES = Key("", "")
"""The key of the work that is done once, at the start."""


class Source(Struct, frozen=True):
    """The folder that a volume's content comes from, and the kind of the image in it; empty without."""

    folder: str = ""
    image: str = ""


def volume_name(claim: PersistentVolumeClaim) -> str:
    return f"pvc-{claim.metadata.uid}"


def wanted_image(claim: PersistentVolumeClaim, storage_class: StorageClass) -> str:
    """Return the kind of image that the claim's volume is; empty for a directory."""
    if claim.spec.volume_mode == "Block":
        return BLOCK
    return EXT4 if storage_class.parameters.get(ENFORCE_SIZE) == "true" else ""


def volume_for(
    claim: PersistentVolumeClaim, storage_class: StorageClass, folders: Folders
) -> PersistentVolume:
    """Return the volume made for a claim."""
    name, image = volume_name(claim), wanted_image(claim, storage_class)
    marks = {migration.PROVISIONED_BY: PROVISIONER}
    policy = storage_class.reclaim_policy or "Delete"
    return PersistentVolume(
        metadata=ObjectMeta(
            name=name,
            annotations={**marks, ANNOTATION: image} if image else marks,
            finalizers=(migration.EXTERNAL_FINALIZER,) if policy == "Delete" else (),
        ),
        spec=PersistentVolumeSpec(
            access_modes=claim.spec.access_modes,
            capacity={"storage": claim.spec.resources.requests.get("storage", "0")},
            claim_ref=rules.claim_reference(claim),
            host_path=HostPathVolumeSource(path=str(folders.path(name)), type="Directory"),
            mount_options=storage_class.mount_options,
            persistent_volume_reclaim_policy=policy,
            storage_class_name=storage_class.metadata.name,
            volume_mode=claim.spec.volume_mode or "Filesystem",
        ),
    )


def is_ours(volume: PersistentVolume) -> bool:
    return volume.metadata.annotations.get(migration.PROVISIONED_BY) == PROVISIONER


def is_to_be_removed(volume: PersistentVolume) -> bool:
    """Return whether the volume, and what is in it, is ours to remove now."""
    policy = volume.spec.persistent_volume_reclaim_policy
    return is_ours(volume) and policy == "Delete" and volume.status.phase in ("Released", "Failed")


class DirectoryProvisionerController(Controller):
    """The keys are claims, volumes (without a namespace), and ``THE_CLASSES``."""

    name: ClassVar[str] = "directory-volume-provisioner"

    def __init__(self, context: ControllerContext, folders: Folders) -> None:
        super().__init__(context)
        self._folders = folders
        self._recorder = context.recorder(PROVISIONER)
        self._claims = context.informers.informer(PersistentVolumeClaim)
        self._volumes = context.informers.informer(PersistentVolume)
        self._classes = context.informers.informer(StorageClass)
        self._expansion = VolumeExpansion(self.client, self._recorder, folders)
        self._claims.add_handler(self._claim_seen, lambda _, new: self._claim_seen(new))
        self._volumes.add_handler(self._volume_seen, lambda _, new: self._volume_seen(new))
        self.queue.add(THE_CLASSES)

    def _claim_seen(self, claim: PersistentVolumeClaim) -> None:
        self.enqueue(claim)
        for waiting in waits_for(claim, self._claims.values()):
            self.enqueue(waiting)

    def _volume_seen(self, volume: PersistentVolume) -> None:
        self.enqueue(volume)
        ref = volume.spec.claim_ref
        if ref is not None:
            self.queue.add(Key(ref.namespace or "", ref.name or ""))

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        if key == THE_CLASSES:
            await self._ensure_classes()
        elif key.namespace:
            claim = self._claims.get(key)
            if claim is not None and claim.metadata.annotations.get(migration.PROVISIONER) == PROVISIONER:
                try:
                    await self._provide(claim)
                except NotReady:
                    return RequeueAfter(RETRY_SECONDS)
        else:
            volume = self._volumes.get(key)
            if volume is not None and is_to_be_removed(volume):
                await self._remove(volume)
            elif volume is not None and is_ours(volume):
                await self._set_finalizer(volume)
        return AwaitChange()

    async def _ensure_classes(self) -> None:
        for wanted in self._wanted_classes():
            if self._classes.get(Key("", wanted.metadata.name or "")) is not None:
                continue
            try:
                await self.client.create(wanted)
            except ApiError as error:
                if not is_already_exists(error):
                    raise

    def _wanted_classes(self) -> Iterator[StorageClass]:
        others = any(map(is_default, self._classes.values()))
        yield _new_class(CLASS_NAME, {} if others else {DEFAULT_CLASS: "true"}, {})
        if not self._folders.lack():
            yield _new_class(SIZED_CLASS_NAME, {}, {ENFORCE_SIZE: "true"})

    async def _provide(self, claim: PersistentVolumeClaim) -> None:
        """Make the claim's volume, or enlarge it."""
        if claim.metadata.deletion_timestamp is not None:
            return
        volume = self._volumes.get(Key("", claim.spec.volume_name or volume_name(claim)))
        storage_class = self._classes.get(Key("", class_of(claim)))
        if volume is not None and claim.spec.volume_name:
            if is_ours(volume):
                await self._expansion.expand(claim, volume)
        elif volume is None and not claim.spec.volume_name and storage_class is not None:
            await self._provision(claim, storage_class)

    async def _provision(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> None:
        """Make the claim's volume. Raises ``NotReady``, ``Terminal``, ``OSError``."""
        name = volume_name(claim)
        try:
            check_attributes(claim)
            source, bound = await self._source(claim)
            if not bound:
                return  # it is looked at again when the source is bound
            await self._make_folder(claim, storage_class, source)
            await self.client.create(volume_for(claim, storage_class, self._folders))
        except (OSError, NoVolume, NotReady) as error:
            text = f'failed to provision volume with StorageClass "{storage_class.metadata.name}": {error}'
            self._recorder.event(claim, "Warning", "ProvisioningFailed", text)
            if isinstance(error, NoVolume):
                raise Terminal(text) from error
            raise
        except ApiError as error:
            if is_already_exists(error):
                return
            raise
        text = f"Successfully provisioned volume {name}"
        self._recorder.event(claim, "Normal", "ProvisioningSucceeded", text)

    async def _source(self, claim: PersistentVolumeClaim) -> tuple[Source, bool]:
        """Return the folder of the claim's data source, if it has one, and False until that is bound.

        Raises ``NoVolume``, ``NotReady``.
        """
        found = source_of(claim)
        if found is not None and found[0] == SNAPSHOT:
            from podling.controllers.volumes.snapshots.restoring import stored_snapshot

            stored = await stored_snapshot(self.client, claim, found[1])
            return Source(stored.name, stored.image), True
        name = source_name(claim)
        if not name:
            return Source(), True
        source = self._claims.get(Key(claim.metadata.namespace or "", name))
        if source is None or source.status.phase != "Bound":
            return Source(), False
        volume = self._volumes.get(Key("", source.spec.volume_name or ""))
        if volume is None:
            return Source(), False
        check_source(claim, source, volume)
        return Source(volume.metadata.name or "", image_kind(volume)), True

    async def _make_folder(
        self, claim: PersistentVolumeClaim, storage_class: StorageClass, source: Source
    ) -> None:
        name, kind = volume_name(claim), wanted_image(claim, storage_class)
        if not kind:
            await self._folders.make(name, source.folder, source.image)
            return
        lack = self._folders.lack()
        if lack:
            raise OSError(f"disk images are not possible on this machine: {lack}")
        size = value(claim.spec.resources.requests.get("storage", "0"))
        await self._folders.make_image(name, size, kind, source.folder, source.image)

    async def _remove(self, volume: PersistentVolume) -> None:
        metadata = volume.metadata
        name = metadata.name or ""
        try:
            await self._folders.remove(name, image_kind(volume))
        except OSError as error:
            self._recorder.event(volume, "Warning", "VolumeFailedDelete", str(error))
            raise
        with unless_gone():
            if metadata.deletion_timestamp is None:
                await self.client.delete(PersistentVolume, name, uid=metadata.uid or "")
            live = await self.client.get(PersistentVolume, name)
            await release_finalizer(self.client, PersistentVolume, live, migration.EXTERNAL_FINALIZER)

    async def _set_finalizer(self, volume: PersistentVolume) -> None:
        """Let a volume outlive its folder while its policy says Delete, as external provisioners do."""
        finalizer = migration.EXTERNAL_FINALIZER
        if volume.spec.persistent_volume_reclaim_policy != "Delete":
            await release_finalizer(self.client, PersistentVolume, volume, finalizer)
        elif volume.metadata.deletion_timestamp is None:
            await hold_finalizer(self.client, PersistentVolume, volume, finalizer)


def _new_class(name: str, annotations: dict[str, str], parameters: dict[str, str]) -> StorageClass:
    return StorageClass(
        metadata=ObjectMeta(name=name, annotations=annotations),
        provisioner=PROVISIONER,
        parameters=parameters,
        reclaim_policy="Delete",
        volume_binding_mode="Immediate",
        allow_volume_expansion=True,
    )

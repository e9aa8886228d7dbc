"""Provisioning of volumes from directories of the machine, without an administrator.

The class ``standard`` is the default one unless another is marked so. For each claim of a class with our
provisioner the controller creates a directory and a volume reserved for that claim; the binder binds them.
When the claim is deleted and the policy is Delete, it removes the directory, then the volume.

Guarantees: a folder is removed only for a volume that we made, that was released, and whose policy says
Delete. Sizes are recorded and not enforced. All nodes must see the same folder: this is for nodes of one
machine.
"""

from __future__ import annotations

from typing import ClassVar

from podling.api.core_v1 import (
    HostPathVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
)
from podling.api.meta_v1 import ObjectMeta
from podling.api.storage_v1 import StorageClass
from podling.client.base import Key
from podling.client.runner import AwaitChange, Terminal
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.volumes import volume_rules as rules
from podling.controllers.volumes.volume_folders import Folders
from podling.machinery.errors import ApiError, is_already_exists, unless_gone
from podling.machinery.storage_classes import class_of

PROVISIONER = "podling.local/directory"
CLASS_NAME = "standard"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
THE_CLASS = Key("", "")
"""The key of the work that is done once, at the start."""


def volume_name(claim: PersistentVolumeClaim) -> str:
    return f"pvc-{claim.metadata.uid}"


def volume_for(
    claim: PersistentVolumeClaim, storage_class: StorageClass, folders: Folders
) -> PersistentVolume:
    """Return the volume made for a claim."""
    name = volume_name(claim)
    return PersistentVolume(
        metadata=ObjectMeta(name=name, annotations={rules.PROVISIONED_BY: PROVISIONER}),
        spec=PersistentVolumeSpec(
            access_modes=claim.spec.access_modes,
            capacity={"storage": claim.spec.resources.requests.get("storage", "0")},
            claim_ref=rules.claim_reference(claim),
            host_path=HostPathVolumeSource(path=str(folders.path(name)), type="Directory"),
            mount_options=storage_class.mount_options,
            persistent_volume_reclaim_policy=storage_class.reclaim_policy or "Delete",
            storage_class_name=storage_class.metadata.name,
            volume_mode="Filesystem",
        ),
    )


def is_to_be_removed(volume: PersistentVolume) -> bool:
    """Return whether the volume, and what is in it, is ours to remove now."""
    ours = volume.metadata.annotations.get(rules.PROVISIONED_BY) == PROVISIONER
    policy = volume.spec.persistent_volume_reclaim_policy
    return ours and policy == "Delete" and volume.status.phase in ("Released", "Failed")


class DirectoryProvisionerController(Controller):
    """The keys are claims, volumes (without a namespace), and ``THE_CLASS``."""

    name: ClassVar[str] = "directory-volume-provisioner"

    def __init__(self, context: ControllerContext, folders: Folders) -> None:
        super().__init__(context)
        self._folders = folders
        self._recorder = context.recorder(PROVISIONER)
        self._claims = context.informers.informer(PersistentVolumeClaim)
        self._volumes = context.informers.informer(PersistentVolume)
        self._classes = context.informers.informer(StorageClass)
        self._claims.add_handler(self.enqueue, self.enqueue_new)
        self._volumes.add_handler(self.enqueue, self.enqueue_new)
        self.queue.add(THE_CLASS)

    async def reconcile(self, key: Key) -> AwaitChange:
        if key == THE_CLASS:
            await self._ensure_class()
        elif key.namespace:
            claim = self._claims.get(key)
            if claim is not None and claim.metadata.annotations.get(rules.PROVISIONER) == PROVISIONER:
                await self._provision(claim)
        else:
            volume = self._volumes.get(key)
            if volume is not None and is_to_be_removed(volume):
                await self._remove(volume)
        return AwaitChange()

    async def _ensure_class(self) -> None:
        if self._classes.get(Key("", CLASS_NAME)) is not None:
            return
        others = any(
            each.metadata.annotations.get(DEFAULT_CLASS) == "true" for each in self._classes.values()
        )
        wanted = StorageClass(
            metadata=ObjectMeta(name=CLASS_NAME, annotations={} if others else {DEFAULT_CLASS: "true"}),
            provisioner=PROVISIONER,
            reclaim_policy="Delete",
            volume_binding_mode="Immediate",
        )
        try:
            await self.client.create(wanted)
        except ApiError as error:
            if not is_already_exists(error):
                raise

    async def _provision(self, claim: PersistentVolumeClaim) -> None:
        if claim.spec.volume_name or claim.metadata.deletion_timestamp is not None:
            return
        name = volume_name(claim)
        storage_class = self._classes.get(Key("", class_of(claim)))
        if storage_class is None or self._volumes.get(Key("", name)) is not None:
            return
        if claim.spec.volume_mode == "Block":
            text = "block volumes cannot be made out of folders"
            self._recorder.event(claim, "Warning", "ProvisioningFailed", text)
            raise Terminal(text)
        try:
            await self._folders.make(name)
            await self.client.create(volume_for(claim, storage_class, self._folders))
        except OSError as error:
            text = f'failed to provision volume with StorageClass "{storage_class.metadata.name}": {error}'
            self._recorder.event(claim, "Warning", "ProvisioningFailed", text)
            raise
        except ApiError as error:
            if is_already_exists(error):
                return
            raise
        text = f"Successfully provisioned volume {name}"
        self._recorder.event(claim, "Normal", "ProvisioningSucceeded", text)

    async def _remove(self, volume: PersistentVolume) -> None:
        metadata = volume.metadata
        name = metadata.name or ""
        try:
            await self._folders.remove(name)
        except OSError as error:
            self._recorder.event(volume, "Warning", "VolumeFailedDelete", str(error))
            raise
        if metadata.deletion_timestamp is not None:
            return
        with unless_gone():
            await self.client.delete(PersistentVolume, name, uid=metadata.uid or "")

"""Expansion of provisioned volumes, when their claims request more than they have.

The image is enlarged here. Its file system grows on the node: when a pod begins to use the volume, or
while one does. Until then the claim has the condition FileSystemResizePending, and the capacity from
before. A volume that is a plain directory, or a block device, has its new size at once.

Upstream counterparts: ``kubernetes-csi/external-resizer`` (``controller.go``, ``resize_status.go``).
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from msgspec import structs

from podling import clock
from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimCondition
from podling.client.base import Client
from podling.client.events import Regarding
from podling.controllers.status_writes import write_status
from podling.controllers.volumes.volume_folders import Folders
from podling.controllers.volumes.volume_rules import capacity, requested, shown_capacity
from podling.files.disk_images import EXT4
from podling.machinery.quantity import value
from podling.machinery.volume_images import image_kind

PENDING = "FileSystemResizePending"
RESIZING = "Resizing"
ON_NODE = "Waiting for user to (re-)start a pod to finish file system resize of volume on node."


class Recorder(Protocol):
    def event(self, obj: Regarding, type: str, reason: str, message: str) -> None: ...


def with_condition(
    claim: PersistentVolumeClaim, kind: str, message: str, now: datetime
) -> PersistentVolumeClaim:
    """Return ``claim`` with this condition of a resize, in place of the one that it had."""
    others = tuple(each for each in claim.status.conditions if each.type not in (PENDING, RESIZING))
    made = PersistentVolumeClaimCondition(
        type=kind, status="True", message=message, last_transition_time=now.replace(microsecond=0)
    )
    return structs.replace(claim, status=structs.replace(claim.status, conditions=(*others, made)))


def with_capacity(claim: PersistentVolumeClaim, size: str) -> PersistentVolumeClaim:
    """Return ``claim`` with its new capacity and without conditions of a resize."""
    others = tuple(each for each in claim.status.conditions if each.type not in (PENDING, RESIZING))
    shown = {**claim.status.capacity, "storage": size}
    return structs.replace(claim, status=structs.replace(claim.status, conditions=others, capacity=shown))


class VolumeExpansion:
    """Enlarges volumes of one provisioner."""

    def __init__(self, client: Client, recorder: Recorder, folders: Folders) -> None:
        self._client = client
        self._recorder = recorder
        self._folders = folders

    async def expand(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> None:
        """Take the next step towards the size that the claim requests. Raises ``OSError``, ``ApiError``."""
        size = claim.spec.resources.requests.get("storage", "0")
        if claim.status.phase != "Bound" or requested(claim) <= shown_capacity(claim):
            return
        on_node = image_kind(volume) == EXT4
        if capacity(volume) < requested(claim):
            await self._enlarge(claim, volume, size)
        elif on_node:
            await self._wait_for_node(claim)
        else:
            await write_status(self._client, with_capacity(claim, size))
            self._recorder.event(claim, "Normal", "VolumeResizeSuccessful", "Resize volume succeeded")

    async def _enlarge(self, claim: PersistentVolumeClaim, volume: PersistentVolume, size: str) -> None:
        name = volume.metadata.name or ""
        if not any(each.type == RESIZING for each in claim.status.conditions):
            text = f"External resizer is resizing volume {name}"
            self._recorder.event(claim, "Normal", RESIZING, text)
            await write_status(self._client, with_condition(claim, RESIZING, "", clock.now()))
            return  # the written claim comes here again
        try:
            if image_kind(volume):
                await self._folders.enlarge(name, value(size))
        except OSError as error:
            text = f'resize volume "{name}" failed: {error}'
            self._recorder.event(claim, "Warning", "VolumeResizeFailed", text)
            raise
        spec = structs.replace(volume.spec, capacity={**volume.spec.capacity, "storage": size})
        await self._client.update(structs.replace(volume, spec=spec))

    async def _wait_for_node(self, claim: PersistentVolumeClaim) -> None:
        if any(each.type == PENDING for each in claim.status.conditions):
            return
        text = "Require file system resize of volume on node"
        self._recorder.event(claim, "Normal", "FileSystemResizeRequired", text)
        await write_status(self._client, with_condition(claim, PENDING, ON_NODE, clock.now()))

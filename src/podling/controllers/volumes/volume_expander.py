"""Leaving the expansion of volumes to the programs that provision them, with an event on the claim.

No volume is expanded here: the directory provisioner and CSI drivers do that for their own.
Upstream: ``pkg/controller/volume/expand``.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import structs

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.client.base import Key
from podling.client.runner import AwaitChange, NotYet
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.volumes import volume_rules as rules
from podling.controllers.volumes.volume_migration import DRIVERS, plugin_of

RESIZER = "volume.kubernetes.io/storage-resizer"
WAITING = "waiting for an external controller to expand this PVC"
MIGRATED = "CSI migration enabled for {}; waiting for external resizer to expand the pvc"


def is_to_grow(claim: PersistentVolumeClaim) -> bool:
    """Return whether a bound claim requests more than it has."""
    return claim.status.phase == "Bound" and rules.requested(claim) > rules.shown_capacity(claim)


class VolumeExpanderController(Controller):
    """The keys are claims."""

    name: ClassVar[str] = "persistentvolume-expander-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("volume_expand")
        self._claims = context.informers.informer(PersistentVolumeClaim)
        self._volumes = context.informers.informer(PersistentVolume)
        self._claims.add_handler(self._claim_seen, self._claim_changed)

    def _claim_seen(self, claim: PersistentVolumeClaim) -> None:
        if is_to_grow(claim):
            self.enqueue(claim)

    def _claim_changed(self, old: PersistentVolumeClaim, new: PersistentVolumeClaim) -> None:
        if rules.requested(new) > rules.requested(old):
            self._claim_seen(new)

    async def reconcile(self, key: Key) -> AwaitChange:
        claim = self._claims.get(key)
        if claim is None:
            return AwaitChange()
        volume = self._volumes.get(Key("", claim.spec.volume_name or ""))
        if volume is None or not rules.is_bound_to(volume, claim):
            raise NotYet(f"persistent Volume is not bound to PVC being updated : {key}")
        grows = rules.requested(claim) > rules.shown_capacity(claim)
        if grows or rules.PRE_RESIZE_CAPACITY in volume.metadata.annotations:
            await self._leave_to_resizer(claim, plugin_of(volume))
        return AwaitChange()

    async def _leave_to_resizer(self, claim: PersistentVolumeClaim, plugin: str) -> None:
        """Record that another program expands the claim, and name the driver of a former plugin."""
        text = MIGRATED.format(plugin) if plugin else WAITING
        self._recorder.event(claim, "Normal", "ExternalExpanding", text)
        if not plugin or claim.metadata.annotations.get(RESIZER) == DRIVERS[plugin]:
            return
        annotations = {**claim.metadata.annotations, RESIZER: DRIVERS[plugin]}
        metadata = structs.replace(claim.metadata, annotations=annotations)
        await self.client.update(structs.replace(claim, metadata=metadata))

"""Binding of claims to persistent volumes, one to one, and release of volumes without their claim.

Both sides name each other: first the volume names the claim (that reserves it), then the claim the volume.
Every step can be repeated, and a claim is Bound only once both are written. Two attempts for one claim may
each reserve a volume, when the first response was lost: once the claim has named its volume, the other is
free again. A change of either side checks both, so an incomplete binding is finished then.

A claim without a class for which there is no volume gets the default class as soon as there is one.

A claim whose class says ``WaitForFirstConsumer`` waits for the scheduler, which reserves a volume for it or
requests a new one for the node that it selects. If a pod that uses it is placed on a node without the
scheduler, it gets a volume that this node can reach. A claim whose class has a provisioner waits for that
program, which also deletes its volumes. The binder deletes and wipes nothing: a volume with the policy
Delete or Recycle and without a provisioner becomes Failed, with a message.

Upstream: ``pkg/controller/volume/persistentvolume``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec import structs

from podling import clock
from podling.api.core_v1 import Node, ObjectReference, PersistentVolume, PersistentVolumeClaim, Pod
from podling.api.storage_v1 import StorageClass
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, NotYet, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.status_writes import write_status
from podling.controllers.volumes import volume_rules as rules
from podling.controllers.volumes.claim_index import (
    BY_CLAIM,
    BY_VOLUME,
    claims_used,
    index_claims_by_volume,
    index_pods_by_claim,
    index_volumes_by_claim,
)
from podling.controllers.volumes.volume_metrics import volume_families
from podling.controllers.volumes.volume_migration import (
    BETA_PROVISIONER,
    PROVISIONER,
    claim_marks,
    driver_of,
    missing_plugin,
    with_claim_marks,
    with_volume_marks,
)
from podling.controllers.volumes.volume_reclaim_rules import failure_to_reclaim, is_made_for_one
from podling.machinery.errors import ApiError, unless_gone
from podling.machinery.histograms import counters
from podling.machinery.pods import is_terminal
from podling.machinery.storage_classes import class_of, default_class, has_class

RESYNC_SECONDS = 15.0
"""Upstream looks at every claim and volume again this often (``--pvclaimbinder-sync-period``); here only what
failed needs it."""
NO_CLASS = "no persistent volumes available for this claim and no storage class is set"
EXTERNAL = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and "
    "correctly registered."
)


class VolumeBinderController(Controller):
    """The keys are claims, and volumes (which have no namespace)."""

    name: ClassVar[str] = "persistentvolume-binder-controller"
    backoff_seconds_max: ClassVar[float] = RESYNC_SECONDS

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("persistentvolume-controller")
        self._claims = context.informers.informer(PersistentVolumeClaim)
        self._volumes = context.informers.informer(PersistentVolume)
        self._classes = context.informers.informer(StorageClass)
        self._pods = context.informers.informer(Pod)
        self._nodes = context.informers.informer(Node)
        self._assigned = self._assignments_failed = 0
        index_pods_by_claim(self._pods)
        index_volumes_by_claim(self._volumes)
        index_claims_by_volume(self._claims)
        self._claims.add_handler(self._claim_seen, lambda old, new: self._claim_seen(new), self._claim_seen)
        self._volumes.add_handler(self._volume_seen, lambda old, new: self._volume_seen(new), self._wake_ends)
        self._classes.add_handler(lambda obj: self._wake_pending())
        self._pods.add_handler(self._pod_seen, self._pod_changed)

    def _claim_seen(self, claim: PersistentVolumeClaim) -> None:
        """A claim came, changed or went: that concerns every volume that names it, too."""
        self.enqueue(claim)
        for volume in self._volumes.by_index(BY_CLAIM, str(key_of(claim))):
            self.enqueue(volume)

    def _volume_seen(self, volume: PersistentVolume) -> None:
        self.enqueue(volume)
        self._wake_ends(volume)
        if volume.spec.claim_ref is None and volume.status.phase == "Available":
            self._wake_pending()

    def _wake_ends(self, volume: PersistentVolume) -> None:
        """Look at the claim that the volume names, and at the claims that name the volume."""
        ref = volume.spec.claim_ref
        if ref is not None:
            self.queue.add(Key(ref.namespace or "", ref.name or ""))
        for claim in self._claims.by_index(BY_VOLUME, volume.metadata.name or ""):
            self.enqueue(claim)

    def _wake_pending(self) -> None:
        for claim in self._claims.values():
            if rules.BIND_COMPLETED not in claim.metadata.annotations:
                self.enqueue(claim)

    def _pod_changed(self, old: Pod, new: Pod) -> None:
        if new.spec.node_name:
            self._pod_seen(new)

    def _pod_seen(self, pod: Pod) -> None:
        for name in claims_used(pod):
            claim = self._claims.get(Key(*name.split("/", 1)))
            if claim is not None and rules.BIND_COMPLETED not in claim.metadata.annotations:
                self.enqueue(claim)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        if key.namespace:
            claim = self._claims.get(key)
            if claim is not None:
                await self._sync_claim(claim)
        else:
            volume = self._volumes.get(key)
            if volume is not None:
                return await self._sync_volume(volume)
        return AwaitChange()

    def families(self) -> Iterator[Any]:
        yield from volume_families(self._volumes.values(), self._claims.values())
        for name, text, count in (
            ("retroactive_storageclass", "retroactive", self._assigned),
            ("retroactive_storageclass_errors", "failed retroactive", self._assignments_failed),
        ):
            help_text = f"[ALPHA] Total number of {text} StorageClass assignments to persistent volume claim"
            yield counters(name, help_text, (), {(): count})

    # Claims

    async def _sync_claim(self, claim: PersistentVolumeClaim) -> None:
        marked = with_claim_marks(claim)
        if marked is not claim:
            claim = await self.client.update(marked)
        if rules.BIND_COMPLETED in claim.metadata.annotations:
            await self._keep_bound(claim)
            return
        if claim.spec.volume_name:
            volume = self._volumes.get(Key("", claim.spec.volume_name))
            refusal = rules.refusal(volume, claim) if volume is not None else None
            if refusal is not None:
                self._recorder.event(claim, "Warning", *refusal)
            if volume is not None and rules.is_misbound(volume, claim):
                raise NotYet(rules.misbound(volume, claim))
            if volume is None or refusal is not None:
                await self._write_claim(claim, rules.with_claim_phase(claim, "Pending"))
                return
        else:
            volume = await self._find(claim)
            if volume is None:
                return
        await self._bind(volume, claim)

    async def _find(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        """Return a volume for a claim that names none; without one, record the reason as an event."""
        named = rules.reserved(claim, self._volumes.by_index(BY_CLAIM, str(key_of(claim))))
        if named is not None:
            return named
        storage_class = self._classes.get(Key("", class_of(claim)))
        delayed = storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"
        provisioned = delayed and rules.SELECTED_NODE in claim.metadata.annotations
        node = self._node_of(claim) if delayed and not provisioned else None
        if delayed and not provisioned and node is None:
            reason = rules.reason_to_wait(self._pods.by_index(BY_CLAIM, str(key_of(claim))))
            self._recorder.event(claim, "Normal", *reason)
            await self._write_claim(claim, rules.with_claim_phase(claim, "Pending"))
            return None
        volume = None if provisioned else rules.best_match(claim, self._volumes.values(), node)
        if volume is None and not await self._assign_class(claim):
            claim = await self._ask_provisioner(claim, storage_class)
            await self._write_claim(claim, rules.with_claim_phase(claim, "Pending"))
        return volume

    async def _assign_class(self, claim: PersistentVolumeClaim) -> bool:
        """Give the default class to a claim from before there was one; return whether that was done."""
        default = default_class(self._classes.values())
        if has_class(claim) or default is None:
            return False
        spec = structs.replace(claim.spec, storage_class_name=default.metadata.name)
        self._assigned += 1
        try:
            await self.client.update(structs.replace(claim, spec=spec))
        except ApiError:
            self._assignments_failed += 1
            raise
        return True

    async def _ask_provisioner(
        self, claim: PersistentVolumeClaim, storage_class: StorageClass | None
    ) -> PersistentVolumeClaim:
        """Leave the claim to its class's provisioner, if it has one."""
        name = class_of(claim)
        if not name:
            self._recorder.event(claim, "Normal", "FailedBinding", NO_CLASS)
            return claim
        if storage_class is None:
            text = f'storageclass.storage.k8s.io "{name}" not found'
            self._recorder.event(claim, "Warning", "ProvisioningFailed", text)
            return claim
        missing = missing_plugin(storage_class.provisioner)
        if missing:
            self._recorder.event(claim, "Warning", "ProvisioningFailed", missing)
            return claim
        provisioner = driver_of(storage_class.provisioner)
        self._recorder.event(claim, "Normal", "ExternalProvisioning", EXTERNAL.format(provisioner))
        if claim.metadata.annotations.get(PROVISIONER) == provisioner:
            return claim
        marks = {PROVISIONER: provisioner, BETA_PROVISIONER: provisioner}
        annotations = dict(claim_marks({**claim.metadata.annotations, **marks}))
        metadata = structs.replace(claim.metadata, annotations=annotations)
        return await self.client.update(structs.replace(claim, metadata=metadata))

    def _node_of(self, claim: PersistentVolumeClaim) -> Node | None:
        """Return the node of the first placed pod that uses the claim: one that no scheduler placed."""
        key = f"{claim.metadata.namespace}/{claim.metadata.name}"
        names = (pod.spec.node_name for pod in self._pods.by_index(BY_CLAIM, key) if pod.spec.node_name)
        return next((node for name in names if (node := self._nodes.get(Key("", name))) is not None), None)

    async def _bind(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        reserved = rules.volume_for(volume, claim)
        if reserved is not volume:
            volume = await self.client.update(reserved)
        volume = await self._show(volume, "Bound")
        bound = rules.claim_for(claim, volume)
        if bound is not claim:
            claim = await self.client.update(bound)
        await self._write_claim(claim, rules.with_claim_phase(claim, "Bound", volume))

    async def _keep_bound(self, claim: PersistentVolumeClaim) -> None:
        """A claim that was bound stays so, or is lost with its volume."""
        volume = self._volumes.get(Key("", claim.spec.volume_name or ""))
        loss = rules.loss(volume, claim)
        if volume is not None and loss is None:
            await self._bind(volume, claim)
        elif loss is not None and claim.status.phase != "Lost":
            await self._write_claim(claim, rules.with_claim_phase(claim, "Lost"))
            self._recorder.event(claim, "Warning", *loss)

    async def _write_claim(self, claim: PersistentVolumeClaim, wanted: PersistentVolumeClaim) -> None:
        if wanted is not claim:
            await write_status(self.client, wanted)

    # Volumes

    async def _sync_volume(self, volume: PersistentVolume) -> RequeueAfter | AwaitChange:
        marked = with_volume_marks(volume)
        if marked is not volume:
            volume = await self.client.update(marked)
        ref = volume.spec.claim_ref
        if ref is None or not ref.uid:
            await self._show(volume, "Available")
            return AwaitChange()
        claim = await self._claim_of(volume, ref)
        if claim is None or (rules.is_elsewhere(claim, volume) and is_made_for_one(volume)):
            return await self._release(volume)
        if rules.is_elsewhere(claim, volume):
            await self._show(await self.client.update(rules.unbound(volume)), "Available")
        elif claim.spec.volume_name:
            await self._show(volume, "Bound")
        else:
            self._report_mismatch(volume, claim)
        # the claim's own run, which every change of the volume requests, completes the binding
        return AwaitChange()

    def _report_mismatch(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        """Record that a volume and the claim it names cannot be bound, if their modes differ."""
        mismatch = rules.mode_mismatch(volume, claim)
        if mismatch is not None:
            of_volume, of_claim = mismatch
            self._recorder.event(volume, "Warning", *of_volume)
            self._recorder.event(claim, "Warning", *of_claim)

    async def _claim_of(self, volume: PersistentVolume, ref: ObjectReference) -> PersistentVolumeClaim | None:
        """Return the claim with the UID that the volume names.

        Before returning None, read from the server itself: data are deleted for it, and the informer of
        claims may lag behind the one of volumes.
        """
        claim = self._claims.get(Key(ref.namespace or "", ref.name or ""))
        known = claim is not None and claim.metadata.uid == ref.uid
        if not known and volume.status.phase not in ("Released", "Failed"):
            claim = None
            with unless_gone():
                claim = await self.client.get(PersistentVolumeClaim, ref.name or "", ref.namespace)
        return claim if claim is not None and claim.metadata.uid == ref.uid else None

    async def _release(self, volume: PersistentVolume) -> RequeueAfter | AwaitChange:
        """Mark the volume as Released, and as Failed if it should be reclaimed and cannot be."""
        if volume.status.phase == "Failed":
            return AwaitChange()
        if volume.status.phase != "Released":
            volume = await self._show(volume, "Released")
        failure = failure_to_reclaim(volume)
        if failure is None:
            return AwaitChange()
        users = self._users_of_released(volume)
        if users:
            text = f"Volume is used by pods: {','.join(users)}"
            self._recorder.event(volume, "Normal", "VolumeFailedRecycle", text)
            return RequeueAfter(RESYNC_SECONDS)
        await self._show(volume, "Failed", failure[1])
        self._recorder.event(volume, "Warning", *failure)
        return AwaitChange()

    def _users_of_released(self, volume: PersistentVolume) -> list[str]:
        """Return the pods that still use a volume to be recycled: their claim was deleted by force."""
        ref = volume.spec.claim_ref
        if ref is None or volume.spec.persistent_volume_reclaim_policy != "Recycle":
            return []
        key = Key(ref.namespace or "", ref.name or "")
        if self._claims.get(key) is not None:
            return []  # they use the next claim of the name
        users = (pod for pod in self._pods.by_index(BY_CLAIM, str(key)) if not is_terminal(pod))
        return sorted(str(key_of(pod)) for pod in users)

    async def _show(self, volume: PersistentVolume, phase: str, message: str = "") -> PersistentVolume:
        """Write the phase of a volume, unless it has it; return the volume as it is then."""
        wanted = rules.with_volume_phase(volume, phase, clock.now(), message)
        return volume if wanted is volume else await write_status(self.client, wanted)

"""Keeping claims, volumes and their classes that are in use from being deleted under their users.

Each carries a finalizer. A claim's leaves once no pod that is placed on a node uses it; a volume's once it is
bound no more; that of a VolumeAttributesClass once no claim and no volume names it.
Upstream: ``pkg/controller/volume/pvcprotection``, ``pvprotection`` and ``vacprotection``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod
from podling.api.storage_v1 import VolumeAttributesClass
from podling.client.base import Client, Key
from podling.client.runner import AwaitChange
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.owner_references import is_controlled_by
from podling.controllers.volumes.claim_index import BY_CLAIM, claims_used, index_pods_by_claim
from podling.machinery.errors import unless_gone
from podling.machinery.storage_classes import attributes_classes_of

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"
ATTRIBUTES_FINALIZER = "kubernetes.io/vac-protection"
BY_ATTRIBUTES = "attributes class"


def is_shut_down(pod: Pod) -> bool:
    """Return whether only finalizers hold the pod: its kubelet is done, or it was deleted by force."""
    metadata = pod.metadata
    return metadata.deletion_timestamp is not None and metadata.deletion_grace_period_seconds == 0


def uses_claim(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Return whether a pod that is placed on a node uses the claim.

    The claim of an ephemeral volume counts only if it was made for this pod, and until the pod is shut down:
    a finalizer of the pod may wait for the claim.
    """
    name = claim.metadata.name
    for volume in pod.spec.volumes if pod.spec.node_name else ():
        named = volume.persistent_volume_claim
        if named is not None and named.claim_name == name:
            return True
        is_made = volume.ephemeral is not None and f"{pod.metadata.name}-{volume.name}" == name
        if is_made and is_controlled_by(claim, pod) and not is_shut_down(pod):
            return True
    return False


class ClaimProtectionController(Controller):
    name: ClassVar[str] = "persistentvolumeclaim-protection-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._claims = context.informers.informer(PersistentVolumeClaim)
        self._pods = context.informers.informer(Pod)
        index_pods_by_claim(self._pods)
        self._claims.add_handler(self.enqueue, self.enqueue_new)
        self._pods.add_handler(None, self._pod_changed, self._pod_gone)

    def _pod_changed(self, old: Pod, new: Pod) -> None:
        if old.metadata.uid != new.metadata.uid or (is_shut_down(new) and not is_shut_down(old)):
            self._pod_gone(old)

    def _pod_gone(self, pod: Pod) -> None:
        for name in claims_used(pod):
            self.queue.add(Key(*name.split("/", 1)))

    async def reconcile(self, key: Key) -> AwaitChange:
        claim = self._claims.get(key)
        if claim is None:
            return AwaitChange()
        if claim.metadata.deletion_timestamp is None:
            await hold_finalizer(self.client, PersistentVolumeClaim, claim, CLAIM_FINALIZER)
        elif not await self._in_use(key, claim):
            await release_finalizer(self.client, PersistentVolumeClaim, claim, CLAIM_FINALIZER)
        return AwaitChange()

    async def _in_use(self, key: Key, claim: PersistentVolumeClaim) -> bool:
        """Return whether a bound pod uses the claim.

        Before returning false, read from the server itself: a pod may have been created and bound just now.
        """
        if any(uses_claim(pod, claim) for pod in self._pods.by_index(BY_CLAIM, str(key))):
            return True
        live = (await self.client.list(Pod, key.namespace)).items
        return any(uses_claim(pod, claim) for pod in live)


class VolumeProtectionController(Controller):
    name: ClassVar[str] = "persistentvolume-protection-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._volumes = context.informers.informer(PersistentVolume)
        self._volumes.add_handler(self.enqueue, self.enqueue_new)

    async def reconcile(self, key: Key) -> AwaitChange:
        volume = self._volumes.get(key)
        if volume is None:
            return AwaitChange()
        if volume.metadata.deletion_timestamp is None:
            await hold_finalizer(self.client, PersistentVolume, volume, VOLUME_FINALIZER)
        elif volume.status.phase != "Bound":
            await release_finalizer(self.client, PersistentVolume, volume, VOLUME_FINALIZER)
        return AwaitChange()


class AttributesClassProtectionController(Controller):
    """The keys are VolumeAttributesClasses."""

    name: ClassVar[str] = "volumeattributesclass-protection-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._classes = context.informers.informer(VolumeAttributesClass)
        self._claims = context.informers.informer(PersistentVolumeClaim)
        self._volumes = context.informers.informer(PersistentVolume)
        self._claims.add_indexer(BY_ATTRIBUTES, attributes_classes_of)
        self._volumes.add_indexer(BY_ATTRIBUTES, _attributes_class_of)
        self._classes.add_handler(self.enqueue, self.enqueue_new)
        self._claims.add_handler(
            None,
            lambda old, new: self._wake(attributes_classes_of(old) - attributes_classes_of(new)),
            lambda claim: self._wake(attributes_classes_of(claim)),
        )
        self._volumes.add_handler(
            None,
            lambda old, new: self._wake(set(_attributes_class_of(old)) - set(_attributes_class_of(new))),
            lambda volume: self._wake(_attributes_class_of(volume)),
        )

    def _wake(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            self.queue.add(Key("", name))

    async def reconcile(self, key: Key) -> AwaitChange:
        found = self._classes.get(key)
        if found is None:
            return AwaitChange()
        if found.metadata.deletion_timestamp is None:
            await hold_finalizer(self.client, VolumeAttributesClass, found, ATTRIBUTES_FINALIZER)
        elif not self._in_use(key.name):
            await release_finalizer(self.client, VolumeAttributesClass, found, ATTRIBUTES_FINALIZER)
        return AwaitChange()

    def _in_use(self, name: str) -> bool:
        return any(each.count_index(BY_ATTRIBUTES, name) for each in (self._claims, self._volumes))


def _attributes_class_of(volume: PersistentVolume) -> Iterable[str]:
    name = volume.spec.volume_attributes_class_name
    return (name,) if name else ()


async def hold_finalizer(client: Client, kind: type[Any], obj: Any, finalizer: str) -> None:
    """Give ``obj`` a finalizer, unless it has it."""
    if finalizer not in obj.metadata.finalizers:
        await _set(client, kind, obj, [*obj.metadata.finalizers, finalizer])


async def release_finalizer(client: Client, kind: type[Any], obj: Any, finalizer: str) -> None:
    """Take a finalizer from ``obj``, if it has it."""
    if finalizer in obj.metadata.finalizers:
        await _set(client, kind, obj, [each for each in obj.metadata.finalizers if each != finalizer])


async def _set(client: Client, kind: type[Any], obj: Any, finalizers: list[str]) -> None:
    metadata = obj.metadata
    patch = {
        "metadata": {
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
            "finalizers": finalizers or None,
        }
    }
    with unless_gone():
        await client.patch(kind, metadata.name or "", patch, metadata.namespace)

"""Keeping claims and volumes that are in use from being deleted under their users.

Each carries a finalizer. A claim's leaves once no pod that is placed on a node uses it; a volume's once it is
bound no more. Upstream: ``pkg/controller/volume/pvcprotection`` and ``pvprotection``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod
from podling.client.base import Client, Key
from podling.client.runner import AwaitChange
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.volumes.claim_index import BY_CLAIM, claims_used, index_pods_by_claim
from podling.machinery.errors import unless_gone

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class ClaimProtectionController(Controller):
    name: ClassVar[str] = "persistentvolumeclaim-protection-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._claims = context.informers.informer(PersistentVolumeClaim)
        self._pods = context.informers.informer(Pod)
        index_pods_by_claim(self._pods)
        self._claims.add_handler(self.enqueue, self.enqueue_new)
        self._pods.add_handler(on_delete=self._pod_gone)

    def _pod_gone(self, pod: Pod) -> None:
        for name in claims_used(pod):
            self.queue.add(Key(*name.split("/", 1)))

    async def reconcile(self, key: Key) -> AwaitChange:
        claim = self._claims.get(key)
        if claim is None:
            return AwaitChange()
        if claim.metadata.deletion_timestamp is None:
            await _hold(self.client, PersistentVolumeClaim, claim, CLAIM_FINALIZER)
        elif not await self._in_use(key):
            await _let_go(self.client, PersistentVolumeClaim, claim, CLAIM_FINALIZER)
        return AwaitChange()

    async def _in_use(self, key: Key) -> bool:
        """Return whether a bound pod uses the claim.

        Before returning false, read from the server itself: a pod may have been created and bound just now.
        """
        if any(pod.spec.node_name for pod in self._pods.by_index(BY_CLAIM, str(key))):
            return True
        live = (await self.client.list(Pod, key.namespace)).items
        return any(pod.spec.node_name and str(key) in claims_used(pod) for pod in live)


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
            await _hold(self.client, PersistentVolume, volume, VOLUME_FINALIZER)
        elif volume.status.phase != "Bound":
            await _let_go(self.client, PersistentVolume, volume, VOLUME_FINALIZER)
        return AwaitChange()


async def _hold(client: Client, kind: type[Any], obj: Any, finalizer: str) -> None:
    if finalizer not in obj.metadata.finalizers:
        await _set(client, kind, obj, [*obj.metadata.finalizers, finalizer])


async def _let_go(client: Client, kind: type[Any], obj: Any, finalizer: str) -> None:
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

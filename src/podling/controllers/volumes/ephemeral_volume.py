"""Making the claims of ``ephemeral`` volumes: one per pod and volume, owned by the pod, gone with it.

Upstream: ``pkg/controller/volume/ephemeral``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec import structs

from podling.api.core_v1 import PersistentVolumeClaim, Pod, Volume
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, NotYet
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.owner_references import controller_reference, is_controlled_by
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.volumes.claim_index import BY_CLAIM, index_pods_by_claim
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.histograms import counters


def claim_for(pod: Pod, volume: Volume) -> PersistentVolumeClaim | None:
    """Return the claim behind one of the pod's volumes; None if it is no ephemeral one."""
    template = volume.ephemeral.volume_claim_template if volume.ephemeral is not None else None
    if template is None:
        return None
    given = template.metadata or ObjectMeta()
    metadata = ObjectMeta(
        name=f"{pod.metadata.name}-{volume.name}",
        namespace=pod.metadata.namespace,
        labels=dict(given.labels),
        annotations=dict(given.annotations),
        owner_references=(controller_reference(pod),),
    )
    return PersistentVolumeClaim(metadata=metadata, spec=structs.replace(template.spec))


class EphemeralVolumeController(Controller):
    """The keys are pods."""

    name: ClassVar[str] = "ephemeral-volume-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("ephemeral_volume")
        self._attempts = self._failures = 0
        self._pods = context.informers.informer(Pod)
        self._claims = context.informers.informer(PersistentVolumeClaim)
        index_pods_by_claim(self._pods)
        self._pods.add_handler(self._look)
        self._claims.add_handler(on_delete=self._claim_gone)

    def _look(self, pod: Pod) -> None:
        if any(volume.ephemeral is not None for volume in pod.spec.volumes):
            self.enqueue(pod)

    def _claim_gone(self, claim: PersistentVolumeClaim) -> None:
        """Make the claim anew, or at last if it was another's that had its name."""
        for pod in self._pods.by_index(BY_CLAIM, str(key_of(claim))):
            self._look(pod)

    async def reconcile(self, key: Key) -> AwaitChange:
        pod = self._pods.get(key)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return AwaitChange()
        for volume in pod.spec.volumes:
            claim = claim_for(pod, volume)
            if claim is not None:
                await self._ensure(pod, volume, claim)
        return AwaitChange()

    async def _ensure(self, pod: Pod, volume: Volume, claim: PersistentVolumeClaim) -> None:
        name, namespace = claim.metadata.name or "", claim.metadata.namespace
        try:
            held = await self.client.get(PersistentVolumeClaim, name, namespace)
        except ApiError as error:
            if not is_not_found(error):
                raise
        else:
            if is_controlled_by(held, pod):
                return
            owner = f"pod {namespace}/{pod.metadata.name}"
            problem = f"PVC {namespace}/{name} was not created for {owner} (pod is not owner)"
            self._tell(pod, volume, problem)
            raise NotYet(problem)
        self._attempts += 1
        try:
            await self.client.create(claim)
        except ApiError as error:
            if is_namespace_terminating(error):
                return
            self._failures += 1
            self._tell(pod, volume, f"create PVC {name}: {error}")
            raise

    def families(self) -> Iterator[Any]:
        for name, text, count in (
            ("create", "creation requests", self._attempts),
            ("create_failures", "failed creations requests", self._failures),
        ):
            yield counters(
                f"ephemeral_volume_controller_{name}",
                f"[ALPHA] Number of PersistentVolumeClaims {text}",
                (),
                {(): count},
            )

    def _tell(self, pod: Pod, volume: Volume, problem: str) -> None:
        text = f"ephemeral volume {volume.name}: {problem}"
        self._recorder.event(pod, "Warning", "FailedBinding", text)

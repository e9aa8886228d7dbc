"""Growth of the claims of Advanced StatefulSets. Upstream: ``statefulset_resize_pvc.go``."""

from __future__ import annotations

from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.api.storage_v1 import StorageClass
from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.runner import NotYet
from podling.controllers.workloads.statefulset_rules import ordinal_of
from podling.machinery.errors import ApiError
from podling_kruise.statefulset.claim_sizes import grown, is_alike, is_too_small
from podling_kruise.statefulset.update_plan import AdvancedView


class CannotGrow(NotYet):
    """A claim differs from its template in more than its size, or its volume cannot become larger."""


class ClaimWrites:
    """Makes claims as large as their templates, with events about their set."""

    def __init__(self, client: Client, recorder: EventRecorder) -> None:
        self._client, self._recorder = client, recorder

    async def grow(self, view: AdvancedView, pod: Pod) -> None:
        """Write the claims of a pod that are too small. Raises ``CannotGrow``, and what writing raises."""
        ordinal = ordinal_of(view.stateful, pod)
        for claim, template in view.claims_of(ordinal if ordinal is not None else -1):
            await self._check(view, claim, template, pod)
            if is_too_small(claim, template):
                await self._write(view, claim, template, pod)

    async def _check(
        self, view: AdvancedView, claim: PersistentVolumeClaim, template: PersistentVolumeClaim, pod: Pod
    ) -> None:
        name = claim.metadata.name
        if not is_alike(claim, template):
            why = "contains diff other than spec resource, wait pvc to be deleted"
            text = f"failed to update pvc {name}: {why}"
            self._recorder.event(view.stateful, "Warning", "FailedUpdatePVC", text)
            raise CannotGrow(f"can not patch pvc {name}: {why}")
        class_name = claim.spec.storage_class_name
        if class_name and is_too_small(claim, template):
            found = await self._client.get(StorageClass, class_name)
            if not found.allow_volume_expansion:
                why = f"storage class {class_name} for {pod.metadata.name} does not support volume expansion"
                raise CannotGrow(why)

    async def _write(
        self, view: AdvancedView, claim: PersistentVolumeClaim, template: PersistentVolumeClaim, pod: Pod
    ) -> None:
        owner, name = view.stateful.metadata.name or "", claim.metadata.name
        try:
            await self._client.update(grown(claim, template, owner))
        except ApiError as error:
            doing = f"resize Claim {name} for Pod {pod.metadata.name} in StatefulSet {owner}"
            text = f"{doing} failed error: {error}"
            self._recorder.event(view.stateful, "Warning", "FailedResize", text)
            raise
        text = f"resize Claim {name} Pod {pod.metadata.name} in StatefulSet {owner} success"
        self._recorder.event(view.stateful, "Normal", "SuccessfulResize", text)

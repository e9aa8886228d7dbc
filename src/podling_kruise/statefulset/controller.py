"""Advanced StatefulSets: pods with an identity, updated in place where that is possible.

Flow of one run: find the pods, claims and revisions; bring updates under way forward; create, repair and
delete pods; then, if nothing stands against it, begin updates; write the status. The plan of members is that
of the built-in kind. A run decides nothing before the informer shows all writes of the run before.
Upstream: ``pkg/controller/statefulset``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import structs

from podling import clock
from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import BY_NAMESPACE, Children, child_selector, namespace_index
from podling.controllers.pod_state import seconds_to_next_available
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.workloads.replacement_rate import ReplacementRate
from podling.controllers.workloads.revisions import HASH, RevisionKeeper, by_number, surplus
from podling.controllers.workloads.statefulset_plan import membership
from podling.controllers.workloads.statefulset_rules import is_member, revision_of
from podling_kruise.names import PREDOWNLOAD_GATE
from podling_kruise.predownload.downloads import Downloads
from podling_kruise.statefulset.download_rules import download
from podling_kruise.statefulset.status_rules import status_of, with_conditions
from podling_kruise.statefulset.types import StatefulSet
from podling_kruise.statefulset.update_plan import AdvancedView, scale_limit
from podling_kruise.statefulset.updating import AdvancedPods


class AdvancedStatefulSetController(Controller):
    """One key for each StatefulSet.

    Args:
        gates: the feature gates.
    """

    name: ClassVar[str] = "advanced-statefulset-controller"
    workers: ClassVar[int] = 3

    def __init__(self, context: ControllerContext, gates: Mapping[str, bool]) -> None:
        super().__init__(context)
        self._gates, self._recorder = gates, context.recorder("statefulset-controller")
        informers = context.informers
        self._sets = informers.informer(StatefulSet)
        self._sets.add_handler(self.enqueue, self.enqueue_changed, self.enqueue)
        pods, revisions = informers.informer(Pod), informers.informer(ControllerRevision)
        self._pods = Children(context.client, self._sets, pods, self.queue, child_selector, accepts=is_member)
        self._revisions = Children(
            context.client, self._sets, revisions, self.queue, child_selector, wakes_when_new=False
        )
        self._keeper = RevisionKeeper(context.client, self._revisions, HASH)
        self._replacements = ReplacementRate()
        is_on = gates[PREDOWNLOAD_GATE]
        self._downloads = Downloads(context, self._recorder, self._revisions, is_on=is_on)
        self._claims = informers.informer(PersistentVolumeClaim)
        self._claims.add_indexer(BY_NAMESPACE, namespace_index)
        self._claims.add_handler(on_update=self._claim_changed, on_delete=self._claim_gone)

    def _claim_changed(self, old: PersistentVolumeClaim, new: PersistentVolumeClaim) -> None:
        if old.spec != new.spec or old.status != new.status:
            self._claim_gone(new)

    def _claim_gone(self, claim: PersistentVolumeClaim) -> None:
        """Run every set that may wait for the claim, has to create it again, or counts it."""
        for stateful in self._sets.by_index(BY_NAMESPACE, claim.metadata.namespace or ""):
            if stateful.spec.volume_claim_templates:
                self.enqueue(stateful)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        owner = self._sets.get(key)
        if owner is None or child_selector(owner) is None:
            return AwaitChange()
        if not (self._pods.settled(key) and self._revisions.settled(key)):
            return AwaitChange()
        claimed = by_number(await self._revisions.claim(owner))
        view, revisions, collisions = await self._view(owner, await self._pods.claim(owner), claimed)
        writes = AdvancedPods(owner, self.client, self._recorder, self._pods, self._gates)
        writes.replacements = self._replacements
        seconds, failure = None, None
        if owner.metadata.deletion_timestamp is None:
            try:
                seconds = await self._sync(view, revisions, writes)
            except Exception as error:  # written to the status, then raised
                failure = error
        status = status_of(view, collisions, str(child_selector(owner)))
        status = with_conditions(status, owner.status, writes.failures, view.now)
        if status != owner.status:
            await self.write_status(structs.replace(owner, status=status))
        await self._forget_history(view, revisions)
        if failure is not None and not is_namespace_terminating(failure):
            raise failure
        ready = seconds_to_next_available(view.pods, owner.spec.min_ready_seconds, view.now)
        wait = min((each for each in (seconds, ready) if each is not None), default=None)
        return RequeueAfter(wait) if wait is not None else AwaitChange()

    async def _view(
        self, owner: StatefulSet, pods: Sequence[Pod], claimed: list[ControllerRevision]
    ) -> tuple[AdvancedView, list[ControllerRevision], int]:
        """Return the set as seen, its revisions, and its collision count."""
        update, collisions, _ = await self._keeper.ensure(
            owner, owner.spec.template, claimed, owner.status.collision_count or 0
        )
        revisions = by_number({each.metadata.uid: each for each in (*claimed, update)}.values())
        held = owner.status.current_revision
        current = next((each for each in revisions if each.metadata.name == held), update)
        claims: dict[str, PersistentVolumeClaim] = {}
        if owner.spec.volume_claim_templates:
            found = self._claims.by_index(BY_NAMESPACE, owner.metadata.namespace or "")
            claims = {each.metadata.name or "": each for each in found}
        view = AdvancedView(owner, pods, current, update, clock.now(), claims, self._gates)
        return view, revisions, collisions

    async def _sync(
        self, view: AdvancedView, revisions: Sequence[ControllerRevision], writes: AdvancedPods
    ) -> float | None:
        """Bring the pods nearer to what is wanted. Return the time after which to look again."""
        await self._downloads.sync(
            view.stateful,
            view.update,
            lambda: download(view.stateful, view.current, view.update, self._gates),
            is_over=view.current.metadata.name == view.update.metadata.name,
        )
        looked = await writes.refresh(view, revisions)
        steps, settled = membership(view, view.revision_for, scale_limit(view.stateful.spec))
        failure = await writes.carry_out(view, steps)
        if failure is not None:
            raise failure
        if not settled or looked.changed:
            return looked.seconds
        seconds = await writes.update(view, revisions)
        return min((each for each in (looked.seconds, seconds) if each is not None), default=None)

    async def _forget_history(self, view: AdvancedView, revisions: Sequence[ControllerRevision]) -> None:
        live = {view.current.metadata.name or "", view.update.metadata.name or ""}
        live |= {revision_of(pod) for pod in view.pods}
        doomed = surplus(revisions, live, view.stateful.spec.revision_history_limit)
        await self._keeper.forget(key_of(view.stateful), doomed)

"""CloneSets: a number of equal pods, updated in place where that is possible.

Flow: find the pods, claims and revisions; create or delete pods; if none was to be created or deleted,
bring updates forward and begin new ones; write the status. A run decides nothing before the informer shows
all writes of the run before.
Upstream: ``pkg/controller/cloneset``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import structs, to_builtins

from podling import clock
from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Node, PersistentVolumeClaim, Pod
from podling.api.meta_v1 import OwnerReference
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import BY_CONTROLLER, Children, controller_index
from podling.controllers.owner_references import without_owners
from podling.controllers.pod_state import is_active, seconds_to_next_available
from podling.controllers.workloads.revisions import HASH, RevisionKeeper, by_number, surplus, template_of
from podling.machinery.errors import is_conflict, unless_gone
from podling.machinery.selectors import LabelSelector, readable_selector
from podling_kruise.cloneset.claim_hash import CLAIM_HASH, claim_hash, with_claim_hash
from podling_kruise.cloneset.download_rules import download
from podling_kruise.cloneset.pods import sorted_claims
from podling_kruise.cloneset.scaling import Revisions, Scaling
from podling_kruise.cloneset.status_rules import (
    FAILED_SCALE,
    FAILED_UPDATE,
    counted,
    has_changed,
    with_condition,
    with_progress,
)
from podling_kruise.cloneset.types import CloneSet, CloneSetCondition, CloneSetStatus
from podling_kruise.cloneset.updating import Outcome, Updating
from podling_kruise.lifecycle import is_of_revision
from podling_kruise.names import PREDOWNLOAD_GATE
from podling_kruise.predownload.downloads import Downloads


class CloneSetController(Controller):
    """One key for each CloneSet.

    Args:
        gates: the feature gates.
    """

    name: ClassVar[str] = "cloneset-controller"
    workers: ClassVar[int] = 3

    def __init__(self, context: ControllerContext, gates: Mapping[str, bool]) -> None:
        super().__init__(context)
        informers = context.informers
        self._owners = informers.informer(CloneSet)
        self._owners.add_handler(self.enqueue, self.enqueue_changed, self.enqueue)
        self._claims = informers.informer(PersistentVolumeClaim)
        self._claims.add_indexer(BY_CONTROLLER, controller_index)
        pods = informers.informer(Pod)
        self._pods = Children(context.client, self._owners, pods, self.queue, _selector, adopts=False)
        revisions = informers.informer(ControllerRevision)
        self._revisions = Children(
            context.client, self._owners, revisions, self.queue, _selector, wakes_when_new=False
        )
        self._keeper = RevisionKeeper(context.client, self._revisions, HASH)
        recorder = context.recorder(self.name)
        nodes = informers.informer(Node)
        self._recorder = recorder
        self._scaling = Scaling(context.client, recorder, self._pods, nodes, gates)
        self._updating = Updating(context.client, recorder, self._pods, gates)
        is_on = gates[PREDOWNLOAD_GATE]
        self._gates, self._downloads = gates, Downloads(context, recorder, self._revisions, is_on=is_on)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        owner = self._owners.get(key)
        if owner is None or _selector(owner) is None:
            return AwaitChange()
        if not (self._pods.settled(key) and self._revisions.settled(key)):
            return AwaitChange()
        pods = await self._pods.claim(owner)
        active = [pod for pod in pods if is_active(pod)]
        claims = await self._own_claims(owner, active, [pod for pod in pods if not is_active(pod)])
        revisions = by_number(await self._revisions.claim(owner))
        update, collisions, _ = await self._keeper.ensure(
            with_claim_hash(owner), owner.spec.template, revisions, owner.status.collision_count or 0
        )
        if revisions and update.metadata.name != revisions[-1].metadata.name:
            update = await self._with_claim_hash(owner, update)
        revisions = by_number({each.metadata.uid: each for each in (*revisions, update)}.values())
        held = owner.status.current_revision
        current = next((each for each in revisions if each.metadata.name == held), update)
        status = structs.replace(
            owner.status,
            observed_generation=owner.metadata.generation or 0,
            current_revision=current.metadata.name or "",
            update_revision=update.metadata.name or "",
            collision_count=collisions,
            label_selector=str(_selector(owner)),
        )
        failed, outcome = await self._sync(owner, current, update, revisions, active, claims)
        if outcome.failure is not None and not is_conflict(outcome.failure):
            status = _with_failure(status, failed, outcome.failure)
        wait = await self._finish(owner, status, revisions, active, outcome)
        if outcome.failure is not None:
            raise outcome.failure
        return RequeueAfter(wait) if wait is not None else AwaitChange()

    async def _sync(
        self,
        owner: CloneSet,
        current: ControllerRevision,
        update: ControllerRevision,
        revisions: Sequence[ControllerRevision],
        pods: Sequence[Pod],
        claims: Sequence[PersistentVolumeClaim],
    ) -> tuple[str, Outcome]:
        """Scale, or else update. Return the condition of a failure, and what came of it."""
        if owner.metadata.deletion_timestamp is not None:
            return "", Outcome()
        await self._downloads.sync(
            owner,
            update,
            lambda: download(owner, current, update, self._gates),
            is_over=current.metadata.name == update.metadata.name,
        )
        known = Revisions(
            current.metadata.name or "",
            update.metadata.name or "",
            template_of(current),
            template_of(update),
        )
        failure: Exception | None = None
        try:
            if await self._scaling.scale(owner, known, pods, claims):
                return "", Outcome()
        except Exception as error:
            failure = error
        outcome = await self._updating.update(owner, current, update, revisions, pods)
        if failure is not None:
            return FAILED_SCALE, structs.replace(outcome, failure=failure)
        return FAILED_UPDATE, outcome

    async def _finish(
        self,
        owner: CloneSet,
        status: CloneSetStatus,
        revisions: Sequence[ControllerRevision],
        pods: Sequence[Pod],
        outcome: Outcome,
    ) -> float | None:
        """Write the status, and shorten lists of the past. Return the time after which to look again."""
        now = clock.now()
        status, deadline = with_progress(owner, counted(owner, status, pods, now), now)
        held = owner
        if has_changed(owner.status, status):
            held = await self.write_status(structs.replace(owner, status=status))
        await self._forget_deleted(held, pods)
        await self._forget_revisions(owner, status, revisions, pods)
        ready = seconds_to_next_available(pods, owner.spec.min_ready_seconds, now)
        return min((each for each in (outcome.seconds, deadline, ready) if each is not None), default=None)

    async def _with_claim_hash(self, owner: CloneSet, update: ControllerRevision) -> ControllerRevision:
        """Give a revision that is taken up again the hash of today's claim templates."""
        digest, metadata = claim_hash(owner.spec.volume_claim_templates), update.metadata
        if metadata.annotations.get(CLAIM_HASH) == digest:
            return update
        patch = {"metadata": {"uid": metadata.uid, "annotations": {CLAIM_HASH: digest}}}
        written = await self.client.patch(ControllerRevision, metadata.name or "", patch, metadata.namespace)
        self._revisions.wrote(key_of(owner), written)
        return written

    async def _own_claims(
        self, owner: CloneSet, active: Sequence[Pod], inactive: Sequence[Pod]
    ) -> Sequence[PersistentVolumeClaim]:
        """Return the owner's claims; without reuse, those of pods that are gone are deleted first."""
        held = self._claims.by_index(BY_CONTROLLER, owner.metadata.uid or "")
        claims = [each for each in held if each.metadata.deletion_timestamp is None]
        if owner.spec.scale_strategy.enable_pvc_reuse:
            return claims
        kept, left, unused = sorted_claims(claims, active, inactive)
        for claim, pod in left:
            with unless_gone():
                await self._give_to_pod(owner, claim, pod)
        for claim in unused:
            await self._scaling.delete_claim(owner, claim, "clean up PVC")
        return kept

    async def _give_to_pod(self, owner: CloneSet, claim: PersistentVolumeClaim, pod: Pod) -> None:
        """Make a claim go with the pod that ends, instead of with its CloneSet."""
        mine = OwnerReference(
            api_version="v1", kind="Pod", name=pod.metadata.name or "", uid=pod.metadata.uid or ""
        )
        left = without_owners(claim.metadata, [owner.metadata.uid or "", mine.uid])
        references = [to_builtins(each) for each in (*left, mine)]
        metadata = claim.metadata
        patch = {"resourceVersion": metadata.resource_version, "ownerReferences": references}
        await self.client.patch(
            PersistentVolumeClaim, metadata.name or "", {"metadata": patch}, metadata.namespace
        )

    async def _forget_deleted(self, owner: CloneSet, pods: Sequence[Pod]) -> None:
        """Remove the names of pods that are gone from ``podsToDelete``."""
        names = {pod.metadata.name for pod in pods}
        chosen = owner.spec.scale_strategy.pods_to_delete
        left = [name for name in chosen if name in names]
        if len(left) == len(chosen):
            return
        metadata = owner.metadata
        patch = {
            "metadata": {"resourceVersion": metadata.resource_version},
            "spec": {"scaleStrategy": {"podsToDelete": left or None}},
        }
        with unless_gone():
            await self.client.patch(CloneSet, metadata.name or "", patch, metadata.namespace)

    async def _forget_revisions(
        self,
        owner: CloneSet,
        status: CloneSetStatus,
        revisions: Sequence[ControllerRevision],
        pods: Sequence[Pod],
    ) -> None:
        names = [each.metadata.name or "" for each in revisions]
        live = {name for name in names if any(is_of_revision(pod, name) for pod in pods)}
        live |= {status.current_revision, status.update_revision}
        doomed = surplus(revisions, live, owner.spec.revision_history_limit)
        await self._keeper.forget(Key(owner.metadata.namespace or "", owner.metadata.name or ""), doomed)


def _selector(owner: CloneSet) -> LabelSelector | None:
    """Return the labels of the owner's pods; None where that cannot be read, or would be all."""
    selector = readable_selector(owner.spec.selector)
    return None if selector is None or selector.empty else selector


def _with_failure(status: CloneSetStatus, kind: str, failure: Exception) -> CloneSetStatus:
    condition = CloneSetCondition(type=kind, status="True", message=str(failure))
    return structs.replace(status, conditions=with_condition(status.conditions, condition, clock.now()))

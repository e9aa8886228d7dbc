"""Keeping pods with an identity: names, claims and an order.

Flow of one run: claim pods and revisions, create the revision of the present template if it is new, decide
what is next (``statefulset_plan``), do it step by step until something fails, write the status, forget old
revisions. Upstream: ``pkg/controller/statefulset``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec import structs

from podling import clock
from podling.api.apps_v1 import ControllerRevision, StatefulSet, StatefulSetStatus
from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import BY_NAMESPACE, Children, child_selector, namespace_index
from podling.controllers.pod_state import seconds_to_next_available
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.status_writes import write_status
from podling.controllers.workloads import revisions as history
from podling.controllers.workloads import statefulset_rules as rules
from podling.controllers.workloads.statefulset_metrics import StatefulSetMetrics
from podling.controllers.workloads.statefulset_plan import plan
from podling.controllers.workloads.statefulset_pods import SetPods
from podling.controllers.workloads.statefulset_rules import View


class StatefulSetController(Controller):
    name: ClassVar[str] = "statefulset-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("statefulset-controller")
        self._sets = context.informers.informer(StatefulSet)
        pods, revisions = context.informers.informer(Pod), context.informers.informer(ControllerRevision)
        self._sets.add_handler(self.enqueue, self.enqueue_new, self.enqueue)
        self._pods = Children(
            context.client, self._sets, pods, self.queue, child_selector, accepts=rules.is_member
        )
        self._revisions = Children(
            context.client, self._sets, revisions, self.queue, child_selector, wakes_when_new=False
        )
        self._keeper = history.RevisionKeeper(context.client, self._revisions, history.HASH)
        self._writes = SetPods(context.client, self._recorder, self._pods)
        self._claims = context.informers.informer(PersistentVolumeClaim)
        self._claims.add_indexer(BY_NAMESPACE, namespace_index)
        self._claims.add_handler(on_delete=self._claim_gone)
        self._metrics = StatefulSetMetrics()

    def families(self) -> Iterator[Any]:
        return self._metrics.families()

    def _claim_gone(self, claim: PersistentVolumeClaim) -> None:
        """Run every set that may wait for the claim's end, or has to create it again."""
        for stateful in self._sets.by_index(BY_NAMESPACE, claim.metadata.namespace or ""):
            if stateful.spec.volume_claim_templates:
                self.enqueue(stateful)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        stateful = self._sets.get(key)
        if stateful is None:
            self._metrics.forget(key)
            return AwaitChange()
        if child_selector(stateful) is None:
            return AwaitChange()
        if not self._pods.settled(key) or not self._revisions.settled(key):
            return AwaitChange()
        revisions = await self._revisions.claim(stateful)
        pods = await self._pods.claim(stateful)
        view, collisions = await self._view(stateful, pods, revisions)
        self._metrics.record(view)
        failure = None
        if stateful.metadata.deletion_timestamp is None:
            failure = await self._writes.carry_out(view, plan(view))
        try:
            await self._write(stateful, rules.status_of(view, collisions))
        except Exception as error:  # raised after the history is cut, unless the pods failed, too
            failure = failure or error
        await self._forget_history(view, revisions)
        if failure is not None and not is_namespace_terminating(failure):
            raise failure
        wait = seconds_to_next_available(pods, stateful.spec.min_ready_seconds or 0, view.now)
        return RequeueAfter(wait) if wait is not None else AwaitChange()

    async def _view(
        self, stateful: StatefulSet, pods: list[Pod], revisions: list[ControllerRevision]
    ) -> tuple[View, int]:
        update, collisions, _ = await self._keeper.ensure(
            stateful,
            stateful.spec.template,
            revisions,
            stateful.status.collision_count or 0,
        )
        name = stateful.status.current_revision
        current = next((each for each in revisions if each.metadata.name == name), update)
        claims = self._claims_in(stateful)
        return View(stateful, pods, current, update, clock.now(), claims), collisions

    def _claims_in(self, stateful: StatefulSet) -> dict[str, PersistentVolumeClaim]:
        if not stateful.spec.volume_claim_templates:
            return {}
        found = self._claims.by_index(BY_NAMESPACE, stateful.metadata.namespace or "")
        return {each.metadata.name or "": each for each in found}

    async def _write(self, stateful: StatefulSet, status: StatefulSetStatus) -> None:
        if status != stateful.status:
            await write_status(self.client, structs.replace(stateful, status=status))

    async def _forget_history(self, view: View, revisions: list[ControllerRevision]) -> None:
        live = {view.current.metadata.name or "", view.update.metadata.name or ""}
        live |= {rules.revision_of(pod) for pod in view.pods}
        doomed = history.surplus(revisions, live, view.stateful.spec.revision_history_limit)
        await self._keeper.forget(key_of(view.stateful), doomed)

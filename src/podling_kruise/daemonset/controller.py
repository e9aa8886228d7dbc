"""Advanced DaemonSets: one pod on every node that should have it, updated in place where that is possible.

Flow of one run: find the pods and revisions; create and delete pods; if there was nothing of that to do,
bring updates under way forward, and take the next step of a rolling update; write the status. The plans are
those of the built-in kind. A run decides nothing before the informer shows all writes of the run before.
Upstream: ``pkg/controller/daemonset``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from msgspec import structs

from podling import clock
from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Node, Pod
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import Children, child_selector
from podling.controllers.pod_state import seconds_to_next_available
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.workloads.daemonset_rules import by_node, counts_of, plan, surplus_revisions
from podling.controllers.workloads.revisions import REVISION_LABEL, RevisionKeeper
from podling_kruise.daemonset.download_rules import download, is_over
from podling_kruise.daemonset.status_rules import status_of
from podling_kruise.daemonset.types import DaemonSet
from podling_kruise.daemonset.update_plan import (
    burst_of,
    desired_nodes,
    is_leaving,
    limited_creations,
    next_update,
)
from podling_kruise.daemonset.updating import AdvancedDaemonPods
from podling_kruise.names import DAEMON_PREDOWNLOAD_GATE
from podling_kruise.predownload.downloads import Downloads


class AdvancedDaemonSetController(Controller):
    """One key for each DaemonSet.

    Args:
        gates: the feature gates.
    """

    name: ClassVar[str] = "advanced-daemonset-controller"
    workers: ClassVar[int] = 3

    def __init__(self, context: ControllerContext, gates: Mapping[str, bool]) -> None:
        super().__init__(context)
        informers = context.informers
        self._sets, self._nodes = informers.informer(DaemonSet), informers.informer(Node)
        self._sets.add_handler(self.enqueue, self.enqueue_changed, self.enqueue)
        self._nodes.add_handler(self._wake_all, self._node_changed, self._wake_all)
        pods, revisions = informers.informer(Pod), informers.informer(ControllerRevision)
        self._pods = Children(context.client, self._sets, pods, self.queue, child_selector)
        self._revisions = Children(
            context.client, self._sets, revisions, self.queue, child_selector, wakes_when_new=False
        )
        self._keeper = RevisionKeeper(context.client, self._revisions, REVISION_LABEL)
        recorder = context.recorder("daemonset-controller")
        self._writes = AdvancedDaemonPods(context.client, recorder, self._pods, gates)
        is_on = gates[DAEMON_PREDOWNLOAD_GATE]
        self._downloads = Downloads(context, recorder, self._revisions, is_on=is_on)

    def _wake_all(self, node: Node) -> None:
        for owner in self._sets.values():
            self.enqueue(owner)

    def _node_changed(self, old: Node, new: Node) -> None:
        if old.metadata.labels != new.metadata.labels or old.spec.taints != new.spec.taints:
            self._wake_all(new)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        owner = self._sets.get(key)
        if owner is None:
            self._writes.backoff.forget(key)
            return AwaitChange()
        if child_selector(owner) is None or owner.metadata.deletion_timestamp is not None:
            return AwaitChange()
        if not (self._pods.settled(key) and self._revisions.settled(key)):
            return AwaitChange()
        self._writes.backoff.observe(key, owner.status.observed_generation)
        claimed = await self._revisions.claim(owner)
        ensured = await self._keeper.ensure(
            owner, owner.spec.template, claimed, owner.status.collision_count or 0
        )
        update = ensured.revision
        pods, now = await self._pods.claim(owner), clock.now()
        if await self._keeper.merge(key, ensured, pods, self._pods):
            return AwaitChange()
        wait, failure = None, None
        try:
            wait = await self._sync(owner, pods, update, claimed, now)
        except Exception as error:  # raised after the status is written
            failure = error
        digest = update.metadata.labels.get(REVISION_LABEL, "")
        found = counts_of(owner, self._nodes.values(), by_node(pods), digest, now)
        status = status_of(owner, found, digest, ensured.collisions)
        if status != owner.status:
            await self.write_status(structs.replace(owner, status=status))
        await self._forget_history(owner, claimed, update, pods)
        if failure is not None and not is_namespace_terminating(failure):
            raise failure
        ready = seconds_to_next_available(pods, owner.spec.min_ready_seconds, now)
        seconds = min((each for each in (wait, ready) if each is not None), default=None)
        return RequeueAfter(seconds) if seconds is not None else AwaitChange()

    async def _sync(
        self,
        owner: DaemonSet,
        pods: Sequence[Pod],
        target: ControllerRevision,
        claimed: Sequence[ControllerRevision],
        now: datetime,
    ) -> float | None:
        """Bring the pods nearer to what is wanted. Return the time after which to look again."""
        nodes, present = self._nodes.values(), by_node(pods)
        digest = target.metadata.labels.get(REVISION_LABEL, "")
        old = [each for each in claimed if each.metadata.name != target.metadata.name]
        await self._downloads.sync(
            owner, target, lambda: download(owner, old, target), is_over=is_over(owner, digest)
        )
        burst = burst_of(owner, len(desired_nodes(owner, nodes)))
        found = plan(owner, nodes, present, digest, now, is_leaving)
        wait = self._writes.take_out_ended(owner, found)
        create = limited_creations(owner, found.create, nodes, present, digest)[:burst]
        if await self._replace(owner, create, found.delete, burst, digest):
            return wait
        await self._writes.refresh(owner, pods)
        step = next_update(owner, nodes, present, digest, now)
        doomed = await self._writes.update(owner, step.delete[:burst], target, claimed)
        await self._replace(owner, step.create[:burst], doomed, burst, digest)
        return wait

    async def _replace(
        self, owner: DaemonSet, create: list[str], doomed: Sequence[Pod], burst: int, digest: str
    ) -> bool:
        """Create and delete pods. Return whether something changed. Raises the first failure."""
        free, changed = await self._writes.released(owner, doomed)
        failure = await self._writes.create(owner, create, digest)
        failure = await self._writes.delete(owner, free[:burst]) or failure
        if failure is not None:
            raise failure
        return changed or bool(create or free)

    async def _forget_history(
        self,
        owner: DaemonSet,
        claimed: Sequence[ControllerRevision],
        update: ControllerRevision,
        pods: Sequence[Pod],
    ) -> None:
        digests = {pod.metadata.labels.get(REVISION_LABEL) for pod in pods}
        old = [each for each in claimed if each.metadata.name != update.metadata.name]
        live = {
            each.metadata.name or "" for each in old if each.metadata.labels.get(REVISION_LABEL) in digests
        }
        doomed = surplus_revisions(old, live, owner.spec.revision_history_limit)
        await self._keeper.forget(key_of(owner), doomed)

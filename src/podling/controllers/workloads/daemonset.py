"""Running one pod on every node that should have it.

Flow of one run: claim pods and revisions, compare every node with what it should run, create and delete the
difference (250 at most); when nothing is missing, take the next step of a rolling update; write the status.
What is decided is in ``daemonset_rules``. Upstream: ``pkg/controller/daemon``.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from msgspec import structs

from podling import clock
from podling.api.apps_v1 import ControllerRevision, DaemonSet, DaemonSetStatus
from podling.api.core_v1 import Node, Pod
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import REST_OF_WORKLOADS_SECONDS, Controller, ControllerContext
from podling.controllers.children import Children, child_selector
from podling.controllers.pod_state import seconds_to_next_available
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.status_writes import write_status
from podling.controllers.workloads import daemonset_rules as rules
from podling.controllers.workloads import revisions as history
from podling.controllers.workloads.daemonset_pods import BURST, DaemonPods
from podling.controllers.workloads.daemonset_update_rules import update


class DaemonSetController(Controller):
    name: ClassVar[str] = "daemonset-controller"
    workers: ClassVar[int] = 2
    rest_seconds: ClassVar[float] = REST_OF_WORKLOADS_SECONDS

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("daemonset-controller")
        self._sets = context.informers.informer(DaemonSet)
        self._nodes = context.informers.informer(Node)
        pods, revisions = context.informers.informer(Pod), context.informers.informer(ControllerRevision)
        self._sets.add_handler(self.enqueue, self.enqueue_new, self.enqueue)
        self._nodes.add_handler(self._wake_all, self._node_changed, self._wake_all)
        self._pods = Children(context.client, self._sets, pods, self.queue, child_selector)
        self._writes = DaemonPods(context.client, self._recorder, self._pods)
        self._revisions = Children(
            context.client, self._sets, revisions, self.queue, child_selector, wakes_when_new=False
        )
        self._keeper = history.RevisionKeeper(context.client, self._revisions, history.REVISION_LABEL)

    def _wake_all(self, node: Node) -> None:
        for daemon_set in self._sets.values():
            self.enqueue(daemon_set)

    def _node_changed(self, old: Node, new: Node) -> None:
        if old.metadata.labels != new.metadata.labels or old.spec.taints != new.spec.taints:
            self._wake_all(new)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        daemon_set = self._sets.get(key)
        if daemon_set is None:
            self._writes.backoff.forget(key)
            return AwaitChange()
        if child_selector(daemon_set) is None or not (
            self._pods.settled(key) and self._revisions.settled(key)
        ):
            return AwaitChange()
        if daemon_set.metadata.deletion_timestamp is not None:
            return AwaitChange()  # its revisions may be gone already: nothing can be said about its pods
        self._writes.backoff.observe(key, daemon_set.status.observed_generation or 0)
        claimed = await self._revisions.claim(daemon_set)
        ensured = await self._keeper.ensure(
            daemon_set,
            daemon_set.spec.template,
            claimed,
            daemon_set.status.collision_count or 0,
        )
        revision = ensured.revision
        digest = revision.metadata.labels[history.REVISION_LABEL]
        pods, nodes, now = await self._pods.claim(daemon_set), self._nodes.values(), clock.now()
        if await self._keeper.merge(key, ensured, pods, self._pods):
            return AwaitChange()
        wait, failure = await self._manage(daemon_set, pods, digest, now)
        status = rules.status_of(daemon_set, nodes, rules.by_node(pods), digest, ensured.collisions, now)
        try:
            await self._write(daemon_set, status)
        except Exception as error:  # raised after the history is cut, unless the pods failed, too
            failure = failure or error
        await self._forget_history(daemon_set, claimed, revision, pods)
        if failure is not None and not is_namespace_terminating(failure):
            raise failure
        return RequeueAfter(wait) if wait is not None else AwaitChange()

    async def _manage(
        self, daemon_set: DaemonSet, pods: list[Pod], digest: str, now: datetime
    ) -> tuple[float | None, Exception | None]:
        """Create and delete; returns when to look again, and what went wrong."""
        nodes, present = self._nodes.values(), rules.by_node(pods)
        plan = rules.plan(daemon_set, nodes, present, digest, now)
        wait = self._writes.take_out_ended(daemon_set, plan)
        if not plan.create and not plan.delete:
            plan = update(daemon_set, nodes, present, digest, now)
        failure = await self._writes.create(daemon_set, plan.create[:BURST], digest)
        failure = await self._writes.delete(daemon_set, plan.delete[:BURST]) or failure
        available = seconds_to_next_available(pods, daemon_set.spec.min_ready_seconds or 0, now)
        waits = [each for each in (wait, available) if each is not None]
        return min(waits, default=None), failure

    async def _write(self, daemon_set: DaemonSet, status: DaemonSetStatus) -> None:
        if status != daemon_set.status:
            await write_status(self.client, structs.replace(daemon_set, status=status))

    async def _forget_history(
        self,
        daemon_set: DaemonSet,
        claimed: list[ControllerRevision],
        revision: ControllerRevision,
        pods: list[Pod],
    ) -> None:
        digests = {pod.metadata.labels.get(history.REVISION_LABEL) for pod in pods}
        labelled = ((each, each.metadata.labels.get(history.REVISION_LABEL)) for each in claimed)
        live = {each.metadata.name or "" for each, digest in labelled if digest in digests}
        old = [each for each in claimed if each.metadata.name != revision.metadata.name]
        doomed = rules.surplus_revisions(old, live, daemon_set.spec.revision_history_limit)
        await self._keeper.forget(key_of(daemon_set), doomed)

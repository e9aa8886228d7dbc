"""Keeping pods with an identity: names, claims and an order.

Flow of one run: claim pods and revisions, make the revision of the present template if it is new, decide
what is next (``statefulset_rules``), do it, write the status, forget old revisions. Upstream:
``pkg/controller/statefulset``.
"""

from __future__ import annotations

from typing import ClassVar, assert_never

from msgspec import structs

from podling import clock
from podling.api.apps_v1 import ControllerRevision, StatefulSet, StatefulSetStatus
from podling.api.core_v1 import Pod
from podling.client.base import Key, Unreachable, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers import revisions as history
from podling.controllers import statefulset_rules as rules
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import Children
from podling.controllers.pod_control import together
from podling.controllers.pod_state import seconds_to_next_available
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.statefulset_claims import ensure_claims, give_up_claims
from podling.controllers.statefulset_rules import Action, Create, Delete, Relabel, View
from podling.controllers.status_writes import write_status
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.selectors import LabelSelector, SelectorError, from_label_selector


def selector_of(stateful: StatefulSet) -> LabelSelector | None:
    try:
        selector = from_label_selector(stateful.spec.selector)
    except SelectorError:
        return None
    return None if selector.empty else selector


class StatefulSetController(Controller):
    name: ClassVar[str] = "statefulset-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("statefulset-controller")
        self._sets = context.informers.informer(StatefulSet)
        pods, revisions = context.informers.informer(Pod), context.informers.informer(ControllerRevision)
        self._sets.add_handler(self.enqueue, self.enqueue_new, self.enqueue)
        self._pods = Children(context.client, self._sets, pods, self.queue, selector_of)
        self._revisions = Children(context.client, self._sets, revisions, self.queue, selector_of)
        self._keeper = history.RevisionKeeper(context.client, self._revisions)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        stateful = self._sets.get(key)
        if stateful is None or selector_of(stateful) is None:
            return AwaitChange()
        if not self._pods.settled(key) or not self._revisions.settled(key):
            return AwaitChange()
        revisions = await self._revisions.claim(stateful)
        claimed = await self._pods.claim(stateful)
        pods = [pod for pod in claimed if rules.ordinal_of(stateful, pod) is not None]
        view, collisions = await self._view(stateful, pods, revisions)
        failure = None
        if stateful.metadata.deletion_timestamp is None:
            failure = await together([self._act(view, action) for action in rules.plan(view)])
        await self._write(stateful, rules.status_of(view, collisions))
        await self._forget_history(view, revisions)
        if failure is not None and not is_namespace_terminating(failure):
            raise failure
        wait = seconds_to_next_available(pods, stateful.spec.min_ready_seconds or 0, view.now)
        return RequeueAfter(wait) if wait is not None else AwaitChange()

    async def _view(
        self, stateful: StatefulSet, pods: list[Pod], revisions: list[ControllerRevision]
    ) -> tuple[View, int]:
        update, collisions = await self._keeper.ensure(
            stateful,
            stateful.spec.template,
            dict(stateful.spec.selector.match_labels),
            revisions,
            stateful.status.collision_count or 0,
        )
        name = stateful.status.current_revision
        current = next((each for each in revisions if each.metadata.name == name), update)
        return View(stateful, pods, current, update, clock.now()), collisions

    async def _act(self, view: View, action: Action) -> None:
        stateful = view.stateful
        match action:
            case Create(ordinal=ordinal, revision=revision):
                await self._create(stateful, ordinal, revision)
            case Delete(pod=pod, terminal=terminal):
                if terminal:
                    self._tell_recreation(stateful, pod)
                elif pod in view.condemned:
                    await give_up_claims(self.client, stateful, pod, rules.ordinal_of(stateful, pod) or 0)
                await self._delete(stateful, pod)
            case Relabel(pod=pod, ordinal=ordinal):
                name = pod.metadata.name or ""
                labels = {rules.POD_NAME: name, rules.POD_INDEX: str(ordinal)}
                await self.client.patch(Pod, name, {"metadata": {"labels": labels}}, pod.metadata.namespace)
            case _:
                assert_never(action)

    async def _create(self, stateful: StatefulSet, ordinal: int, revision: ControllerRevision) -> None:
        pod = rules.member(stateful, history.template_of(revision), revision.metadata.name or "", ordinal)
        name = pod.metadata.name or ""
        await ensure_claims(self.client, self._recorder, stateful, name, ordinal)
        what = f"create Pod {name} in StatefulSet {stateful.metadata.name}"
        try:
            created = await self.client.create(pod)
        except (ApiError, Unreachable) as error:
            if not is_namespace_terminating(error):
                self._recorder.event(stateful, "Warning", "FailedCreate", f"{what} failed error: {error}")
            raise
        self._pods.wrote(key_of(stateful), created)
        self._recorder.event(stateful, "Normal", "SuccessfulCreate", f"{what} successful")

    async def _delete(self, stateful: StatefulSet, pod: Pod) -> None:
        name = pod.metadata.name or ""
        what = f"delete Pod {name} in StatefulSet {stateful.metadata.name}"
        try:
            await self.client.delete(Pod, name, pod.metadata.namespace, uid=pod.metadata.uid or "")
        except (ApiError, Unreachable) as error:
            if is_not_found(error):
                return
            self._recorder.event(stateful, "Warning", "FailedDelete", f"{what} failed error: {error}")
            raise
        self._pods.deleted(key_of(stateful), pod)
        self._recorder.event(stateful, "Normal", "SuccessfulDelete", f"{what} successful")

    def _tell_recreation(self, stateful: StatefulSet, pod: Pod) -> None:
        name = f"{stateful.metadata.namespace}/{stateful.metadata.name}"
        if pod.status.phase == "Failed":
            text = f"StatefulSet {name} is recreating failed Pod {pod.metadata.name}"
            self._recorder.event(stateful, "Warning", "RecreatingFailedPod", text)
        else:
            text = f"StatefulSet {name} is recreating terminated Pod {pod.metadata.name}"
            self._recorder.event(stateful, "Normal", "RecreatingTerminatedPod", text)

    async def _write(self, stateful: StatefulSet, status: StatefulSetStatus) -> None:
        if status != stateful.status:
            await write_status(self.client, structs.replace(stateful, status=status))

    async def _forget_history(self, view: View, revisions: list[ControllerRevision]) -> None:
        live = {view.current.metadata.name or "", view.update.metadata.name or ""}
        live |= {rules.revision_of(pod) for pod in view.pods}
        doomed = history.surplus(revisions, live, view.stateful.spec.revision_history_limit)
        await self._keeper.forget(key_of(view.stateful), doomed)

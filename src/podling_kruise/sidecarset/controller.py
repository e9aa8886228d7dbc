"""SidecarSets: their status, their revisions, and updates of the sidecars in living pods.

Flow: find the injected pods; keep the newest revision; write the status; make the older containers of hot
upgrades empty; else give the new images to as many pods as the strategy allows.
Upstream: ``pkg/controller/sidecarset``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from msgspec import structs, to_builtins

from podling import clock
from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Namespace, Pod
from podling.api.meta_v1 import LabelSelector
from podling.client.base import Key, key_of
from podling.client.informer import revision_number
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.status_writes import patch_pod_status
from podling.controllers.workloads.pod_control import together
from podling.machinery.errors import ApiError, is_conflict, is_not_found
from podling.machinery.selectors import readable_selector
from podling_kruise.names import SYSTEM_NAMESPACE
from podling_kruise.sidecarset.annotations import INJECTED_LIST, SET_NAME, injected_names
from podling_kruise.sidecarset.history import History
from podling_kruise.sidecarset.pod_state import can_reset, is_managed
from podling_kruise.sidecarset.pod_update import upgradable_condition, with_empty_images, with_new_images
from podling_kruise.sidecarset.revision_data import surplus
from podling_kruise.sidecarset.types import SidecarSet
from podling_kruise.sidecarset.update_plan import counted, next_pods

BY_SET = "sidecarset"
PARALLEL = 50
"""Pods that are written at the same time, so that writes share commits of the store."""
TRIES = 5
PODS_PER_SECOND = 5000
"""A run looks at all pods of a SidecarSet: that of one with many waits for further changes, 1 s at most."""


class SidecarSetController(Controller):
    """One key for each SidecarSet."""

    name: ClassVar[str] = "sidecarset-controller"
    workers: ClassVar[int] = 3

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        informers = context.informers
        self._owners = informers.informer(SidecarSet)
        self._owners.add_handler(self.enqueue, self.enqueue_changed)
        self._namespaces = informers.informer(Namespace)
        self._pods = informers.informer(Pod)
        self._pods.add_indexer(BY_SET, injected_names)
        self._pods.add_handler(self._of_pod, self._of_changed_pod, self._of_pod)
        self._revisions = informers.informer(ControllerRevision)
        self._revisions.add_indexer(BY_SET, _owner_of_revision)
        self._history = History(context.client)
        self._recorder = context.recorder(self.name)
        self._unseen: dict[str, dict[Key, Pod]] = {}

    def _of_pod(self, pod: Pod) -> None:
        for name in injected_names(pod):
            seconds = min(1.0, self._pods.count_index(BY_SET, name) / PODS_PER_SECOND)
            self.queue.add_after(Key("", name), seconds)

    def _of_changed_pod(self, old: Pod, new: Pod) -> None:
        if _seen(old) != _seen(new):
            self._of_pod(new)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        owner = self._owners.get(key)
        if owner is None:
            self._unseen.pop(key.name, None)
            return AwaitChange()
        if owner.metadata.deletion_timestamp is not None:
            return AwaitChange()
        pods = self._own_pods(owner)
        revisions = list(self._revisions.by_index(BY_SET, key.name))
        latest, collisions = await self._history.register(owner, revisions)
        known = {each.metadata.uid: each for each in (*revisions, latest)}
        await self._history.forget(surplus(owner, list(known.values()), pods))
        status = counted(owner, pods, latest.metadata.name or "", collisions)
        if status != owner.status:
            owner = await self.write_status(structs.replace(owner, status=status))
        strategy = owner.spec.update_strategy
        if not self._is_settled(key.name) or strategy.leaves_pods or strategy.paused:
            return AwaitChange()
        if any(each.is_hot for each in owner.spec.containers):
            resettable = [pod for pod in pods if can_reset(owner, pod)]
            if resettable:
                await self._each(owner, resettable, self._reset)
                return AwaitChange()
        if status.updated_pods < status.matched_pods:
            await self._update(owner, pods)
        return AwaitChange()

    def _own_pods(self, owner: SidecarSet) -> list[Pod]:
        selector = readable_selector(owner.spec.selector)
        places = owner.spec.namespace_selector
        namespaces = self._chosen_namespaces(places) if places is not None else None
        return [
            pod
            for pod in self._pods.by_index(BY_SET, owner.metadata.name or "")
            if selector is not None
            and selector.matches(pod.metadata.labels)
            and (namespaces is None or pod.metadata.namespace in namespaces)
            and is_managed(owner, pod)
        ]

    def _chosen_namespaces(self, selector: LabelSelector) -> set[str]:
        wanted = readable_selector(selector)
        if wanted is None:
            return set()
        found: Iterable[Namespace] = self._namespaces.values()
        return {each.metadata.name or "" for each in found if wanted.matches(each.metadata.labels)}

    async def _update(self, owner: SidecarSet, pods: Sequence[Pod]) -> None:
        plan = next_pods(owner, pods)
        for pod in plan.fixed:
            await self._set_condition(owner, pod, upgradable=False)
        if plan.fixed:
            text = (
                f"SidecarSet in-place update detected {len(plan.fixed)} not upgradable pod(s) in this round, "
                "will skip them."
            )
            self._recorder.event(owner, "Normal", "NotUpgradablePods", text)
        await self._each(owner, plan.chosen, self._upgrade)

    async def _each(self, owner: SidecarSet, pods: Sequence[Pod], call: Callable[..., Any]) -> None:
        """Call for each pod, for some at the same time. Raises the first failure."""
        for begin in range(0, len(pods), PARALLEL):
            failure = await together([call(owner, pod) for pod in pods[begin : begin + PARALLEL]])
            if failure is not None:
                raise failure

    async def _upgrade(self, owner: SidecarSet, pod: Pod) -> None:
        written = await self._rewrite(owner, pod, with_new_images)
        if written is not None:
            await self._set_condition(owner, written, upgradable=True)

    async def _reset(self, owner: SidecarSet, pod: Pod) -> None:
        try:
            await self._rewrite(owner, pod, with_empty_images)
        except ApiError as error:
            text = f"reset sidecar container image empty failed: {error}"
            self._recorder.event(pod, "Warning", "ResetContainerFailed", text)
            raise
        text = "reset sidecar container image empty successfully"
        self._recorder.event(pod, "Normal", "ResetContainerSucceed", text)

    async def _rewrite(self, owner: SidecarSet, pod: Pod, change: Callable[..., Pod]) -> Pod | None:
        """Write the pod as ``change`` makes it; None if it is gone. Conflicts are tried again."""
        metadata = pod.metadata
        for left in range(TRIES - 1, -1, -1):
            try:
                held = await self.client.get(Pod, metadata.name or "", metadata.namespace)
                if held.metadata.uid != metadata.uid or not is_managed(owner, held):
                    return None
                written = await self.client.update(change(owner, held, clock.now()))
            except ApiError as error:
                if is_not_found(error):
                    return None
                if not is_conflict(error) or not left:
                    raise
            else:
                self._unseen.setdefault(owner.metadata.name or "", {})[key_of(pod)] = written
                return written
        return None

    async def _set_condition(self, owner: SidecarSet, pod: Pod, *, upgradable: bool) -> None:
        wanted = upgradable_condition(owner.metadata.name or "", pod, upgradable=upgradable)
        if wanted is None:
            return
        held = next((each for each in pod.status.conditions if each.type == wanted.type), None)
        if held is not None and held.status == wanted.status:
            since = held.last_transition_time
        else:
            since = clock.now()
        condition = structs.replace(wanted, last_transition_time=since)
        await patch_pod_status(self.client, pod, {"conditions": [to_builtins(condition)]})

    def _is_settled(self, name: str) -> bool:
        """Return whether the informer shows all pods as they were last written."""
        waiting = self._unseen.get(name, {})
        for key, written in list(waiting.items()):
            held = self._pods.get(key)
            if (
                held is None
                or held.metadata.uid != written.metadata.uid
                or revision_number(held) >= revision_number(written)
            ):
                del waiting[key]
        return not waiting


def _owner_of_revision(revision: ControllerRevision) -> Iterable[str]:
    metadata = revision.metadata
    name = metadata.labels.get(SET_NAME)
    return (name,) if name and metadata.namespace == SYSTEM_NAMESPACE else ()


def _seen(pod: Pod) -> tuple[Any, ...]:
    """Return the parts of a pod that decisions depend on."""
    metadata, status = pod.metadata, pod.status
    return (
        metadata.labels,
        metadata.annotations if INJECTED_LIST in metadata.annotations else {},
        metadata.deletion_timestamp,
        status.phase,
        [(each.type, each.status) for each in status.conditions],
        [(each.name, each.image_id, each.image, each.ready) for each in status.container_statuses],
    )

"""Updating the pods of a CloneSet, in place or by deletion. Upstream: ``cloneset_update.go``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cmp_to_key

from msgspec import Struct

from podling import clock
from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Pod
from podling.client.base import Client, Unreachable, key_of
from podling.client.events import EventRecorder
from podling.controllers.children import Children
from podling.controllers.workloads.pod_control import together
from podling.machinery.errors import ApiError
from podling_kruise.cloneset.scale_plan import differences
from podling_kruise.cloneset.types import IF_POSSIBLE, ON_DELETE, ONLY, CloneSet
from podling_kruise.cloneset.update_plan import (
    activity,
    is_at_rest,
    limited,
    refreshed_state,
    update_order,
)
from podling_kruise.inplace.completion import unfinished
from podling_kruise.inplace.pod_updates import PodUpdates
from podling_kruise.inplace.revision_diff import update_spec
from podling_kruise.inplace.update_state import UpdateSpec
from podling_kruise.lifecycle import (
    NORMAL,
    PREPARING_DELETE,
    PREPARING_NORMAL,
    PREPARING_UPDATE,
    UPDATED,
    UPDATING,
    is_hooked,
    is_of_revision,
    short_hash,
    state_of,
    with_state,
)
from podling_kruise.names import REVISION_HASH, TEMPLATE_HASH, UPDATE_GRACE
from podling_kruise.pod_writes import PodWrites

PARALLEL = 50
"""Pods that are written at the same time, so that writes share commits of the store."""


class NotInPlace(Exception):
    """A pod that must be updated in place, but cannot be."""


class Outcome(Struct, frozen=True):
    """The outcome of an attempt to update.

    ``seconds``: the time after which to look again; ``failure``: what went wrong with a pod.
    """

    seconds: float | None = None
    failure: Exception | None = None


class Updating:
    """Updates pods. ``gates`` are the feature gates."""

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder,
        children: Children[CloneSet, Pod],
        gates: Mapping[str, bool],
    ) -> None:
        self._client, self._recorder = client, recorder
        self._children, self._gates = children, gates
        self._writes = PodWrites(client, children)
        self._in_place = PodUpdates(client, gates)

    async def update(
        self,
        owner: CloneSet,
        current: ControllerRevision,
        update: ControllerRevision,
        revisions: Sequence[ControllerRevision],
        pods: Sequence[Pod],
    ) -> Outcome:
        """Bring updates under way forward, then begin as many as the strategy allows."""
        waits: list[float] = []
        changed = False

        async def refresh(pod: Pod) -> None:
            nonlocal changed
            did, seconds = await self._refresh(owner, pod, update.metadata.name or "")
            changed = changed or did
            if seconds is not None:
                waits.append(seconds)

        failure = await _in_groups(refresh, [pod for pod in pods if not is_at_rest(pod)])
        if failure is not None or changed or owner.spec.update_strategy.type == ON_DELETE:
            return Outcome(min(waits, default=None), failure)
        if owner.spec.rolling.paused:
            return Outcome(min(waits, default=None))
        names = current.metadata.name or "", update.metadata.name or ""
        found = differences(owner.spec, pods, names, self._gates, clock.now())
        if not found.update_number:
            return Outcome(min(waits, default=None))
        target = update if found.update_number > 0 else current
        waiting = [pod for pod in pods if _may_update(pod, names[1], forward=found.update_number > 0)]
        now = clock.now()
        order = update_order(owner.spec.rolling, sorted(waiting, key=cmp_to_key(activity)), pods)
        chosen = limited(owner.spec, found, order, pods, target.metadata.name or "", now)

        async def begin(pod: Pod) -> None:
            seconds = await self._update_one(owner, target, revisions, pod)
            if seconds is not None:
                waits.append(seconds)

        failure = await _in_groups(begin, chosen)
        return Outcome(min(waits, default=None), failure)

    async def _refresh(self, owner: CloneSet, pod: Pod, update: str) -> tuple[bool, float | None]:
        """Bring a pod's update and lifecycle forward.

        Return whether its state changed, and the time after which to look again.
        """
        looked = await self._in_place.refresh(pod, clock.now())
        if looked.pod is not pod:
            self._children.wrote(key_of(owner), looked.pod)
        lifecycle = owner.spec.lifecycle
        is_done = not unfinished(looked.pod)
        state = refreshed_state(looked.pod, lifecycle, is_of_revision(looked.pod, update), is_done=is_done)
        changed = False
        if state:
            hook = lifecycle.in_place_update if lifecycle is not None else None
            marks = hook is not None and hook.mark_pod_not_ready
            changed = await self._writes.set_state(owner, looked.pod, state, marks=marks)
        if TEMPLATE_HASH not in pod.metadata.labels:
            await self._add_template_hash(owner, pod)
            changed = True
        return changed, looked.seconds

    async def _add_template_hash(self, owner: CloneSet, pod: Pod) -> None:
        metadata = pod.metadata
        digest = short_hash(metadata.labels.get(REVISION_HASH, ""))
        patch = {"metadata": {"uid": metadata.uid, "labels": {TEMPLATE_HASH: digest}}}
        written = await self._client.patch(Pod, metadata.name or "", patch, metadata.namespace)
        self._children.wrote(key_of(owner), written)

    async def _update_one(
        self, owner: CloneSet, target: ControllerRevision, revisions: Sequence[ControllerRevision], pod: Pod
    ) -> float | None:
        """Update one pod. Return the time after which to look at it again.

        Raises ``NotInPlace``, and what writing raises.
        """
        name = target.metadata.name or ""
        policy = owner.spec.rolling.pod_update_policy
        if policy in (IF_POSSIBLE, ONLY):
            spec = self._spec(owner, target, revisions, pod)
            if spec is not None:
                return await self._update_in_place(owner, pod, spec)
            if policy == ONLY:
                raise NotInPlace(
                    f"find Pod {pod.metadata.name} update strategy is InPlaceOnly but can not update in-place"
                )
        try:
            await self._writes.choose_for_deletion(owner, pod)
        except (ApiError, Unreachable) as error:
            doing = f"patch pod specified-delete {pod.metadata.name} for update(revision {name})"
            text = f"failed to {doing}: {error}"
            self._recorder.event(owner, "Warning", "FailedUpdatePodReCreate", text)
            raise
        text = f"successfully patch pod {pod.metadata.name} specified-delete for update(revision {name})"
        self._recorder.event(owner, "Normal", "SuccessfulUpdatePodReCreate", text)
        return None

    def _spec(
        self, owner: CloneSet, target: ControllerRevision, revisions: Sequence[ControllerRevision], pod: Pod
    ) -> UpdateSpec | None:
        """Return the changes from the pod's own revision; None if they cannot be made in place."""
        own = next((each for each in revisions if is_of_revision(pod, each.metadata.name or "")), None)
        if own is None:
            return None
        strategy = owner.spec.rolling.in_place_update_strategy
        grace = strategy.grace_period_seconds if strategy is not None else 0
        return update_spec(own.data, target.data, target.metadata.name or "", self._gates, grace)

    async def _update_in_place(self, owner: CloneSet, pod: Pod, spec: UpdateSpec) -> float | None:
        lifecycle = owner.spec.lifecycle
        hook = lifecycle.in_place_update if lifecycle is not None else None
        state = state_of(pod)
        if state in ("", PREPARING_NORMAL, NORMAL) and is_hooked(hook, pod) and hook is not None:
            marks = hook.mark_pod_not_ready
            await self._writes.set_state(owner, pod, PREPARING_UPDATE, marks=marks)
            return None
        if state == UPDATED:
            if hook is not None:
                marks = hook.mark_pod_not_ready
                await self._writes.set_state(owner, pod, PREPARING_UPDATE, marks=marks, hook=hook)
            return None
        if state == PREPARING_UPDATE and is_hooked(hook, pod):
            return None
        now, name = clock.now(), pod.metadata.name
        try:
            written = await self._in_place.start(pod, spec, lambda held: with_state(held, UPDATING, now), now)
        except (ApiError, Unreachable) as error:
            text = f"failed to update pod {name} in-place(revision {spec.revision}): {error}"
            self._recorder.event(owner, "Warning", "FailedUpdatePodInPlace", text)
            raise
        self._children.wrote(key_of(owner), written)
        text = f"successfully update pod {name} in-place(revision {spec.revision})"
        self._recorder.event(owner, "Normal", "SuccessfulUpdatePodInPlace", text)
        return float(spec.grace_seconds) or None


def _may_update(pod: Pod, update: str, *, forward: bool) -> bool:
    """Return whether the pod is of the wrong revision, and nothing keeps it from being updated now."""
    if is_of_revision(pod, update) is forward or state_of(pod) == PREPARING_DELETE:
        return False
    return state_of(pod) == UPDATED or not pod.metadata.annotations.get(UPDATE_GRACE)


async def _in_groups(call: Callable[[Pod], Awaitable[object]], pods: Sequence[Pod]) -> Exception | None:
    """Call for each pod, for some at the same time, until a group fails; return the first failure."""
    for begin in range(0, len(pods), PARALLEL):
        failure = await together([call(pod) for pod in pods[begin : begin + PARALLEL]])
        if failure is not None:
            return failure
    return None

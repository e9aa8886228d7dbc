"""Updating the pods of a CloneSet, in place or by deletion. Upstream: ``cloneset_update.go``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cmp_to_key, partial

from msgspec import Struct

from podling import clock
from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Pod
from podling.client.base import Client, Unreachable, key_of
from podling.client.events import EventRecorder
from podling.controllers.children import Children
from podling.machinery.errors import ApiError
from podling_kruise.cloneset.claim_hash import needs_new_claims
from podling_kruise.cloneset.scale_plan import differences
from podling_kruise.cloneset.types import IF_POSSIBLE, ON_DELETE, ONLY, CloneSet
from podling_kruise.cloneset.update_plan import (
    activity,
    is_at_rest,
    limited,
    update_order,
)
from podling_kruise.lifecycle import (
    PREPARING_DELETE,
    UPDATED,
    is_of_revision,
    short_hash,
    state_of,
    with_revision,
)
from podling_kruise.names import REVISION_HASH, TEMPLATE_HASH, UPDATE_GRACE
from podling_kruise.pod_writes import PodWrites
from podling_kruise.update_steps import BUDGET_SECONDS, NotInPlace, UpdateSteps, in_groups


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
        self._steps = UpdateSteps(client, recorder, children, gates, partial(with_revision, gates=gates))

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

        failure = await in_groups(refresh, [pod for pod in pods if not is_at_rest(pod)])
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

        failure = await in_groups(begin, chosen)
        return Outcome(min(waits, default=None), failure)

    async def _refresh(self, owner: CloneSet, pod: Pod, update: str) -> tuple[bool, float | None]:
        """Bring a pod's update and lifecycle forward.

        Return whether its state changed, and the time after which to look again.
        """
        looked = await self._steps.refresh(owner, pod, owner.spec.lifecycle, update)
        if TEMPLATE_HASH not in pod.metadata.labels:
            await self._add_template_hash(owner, pod)
            return True, looked.seconds
        return looked.changed, looked.seconds

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
            strategy = owner.spec.rolling.in_place_update_strategy
            excluded = partial(needs_new_claims, owner, gates=self._gates)
            spec = self._steps.spec(pod, revisions, target, strategy, excluded)
            if spec is not None:
                return await self._steps.update(owner, pod, owner.spec.lifecycle, spec)
            if policy == ONLY:
                raise NotInPlace(
                    f"find Pod {pod.metadata.name} update strategy is InPlaceOnly but can not update in-place"
                )
        if not await self._steps.is_allowed(pod):
            return BUDGET_SECONDS
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


def _may_update(pod: Pod, update: str, *, forward: bool) -> bool:
    """Return whether the pod is of the wrong revision, and nothing keeps it from being updated now."""
    if is_of_revision(pod, update) is forward or state_of(pod) == PREPARING_DELETE:
        return False
    return state_of(pod) == UPDATED or not pod.metadata.annotations.get(UPDATE_GRACE)

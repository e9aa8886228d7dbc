"""Writes of the pods of Advanced StatefulSets: new pods, deletions that hooks hold back, updates.

Upstream: ``deletePod``, ``inPlaceUpdatePod`` and ``refreshPodState`` of ``stateful_set_control.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from podling import clock
from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Pod
from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.controllers.children import Children
from podling.controllers.workloads.statefulset_plan import Create, Repair, Step
from podling.controllers.workloads.statefulset_pods import SetPods
from podling.controllers.workloads.statefulset_rules import SetView, StatefulOwner
from podling_kruise.lifecycle import (
    NORMAL,
    PREPARING_DELETE,
    PREPARING_NORMAL,
    has_whole_hook,
    is_hooked,
    is_quiet,
    marks_not_ready,
    with_state,
)
from podling_kruise.names import REVISION_HASH
from podling_kruise.pod_writes import PodWrites
from podling_kruise.policies import IN_PLACE, ONLY
from podling_kruise.statefulset.claim_writes import ClaimWrites
from podling_kruise.statefulset.status_rules import FAILED_CREATE, FAILED_UPDATE
from podling_kruise.statefulset.types import StatefulSet
from podling_kruise.statefulset.update_plan import AdvancedView, next_updates, prepared, released
from podling_kruise.update_steps import NotInPlace, UpdateSteps, in_groups


class Refreshed(Struct, frozen=True):
    """The outcome of a look at all pods.

    ``changed``: some pod is in another state now; ``seconds``: the time after which to look again.
    """

    changed: bool = False
    seconds: float | None = None


def _marked(pod: Pod, revision: str) -> Pod:
    labels = {**pod.metadata.labels, REVISION_HASH: revision}
    return structs.replace(pod, metadata=structs.replace(pod.metadata, labels=labels))


class AdvancedPods(SetPods):
    """Writes the pods of one set in one run. ``failures``: what went wrong, by the type of its condition."""

    def __init__(
        self,
        owner: StatefulSet,
        client: Client,
        recorder: EventRecorder,
        children: Children[StatefulSet, Pod],
        gates: Mapping[str, bool],
    ) -> None:
        super().__init__(client, recorder, children, self._with_state)
        self.failures: dict[str, Exception] = {}
        self._owner, self._writes = owner, PodWrites(client, children)
        self._steps = UpdateSteps(client, recorder, children, gates, _marked)
        self._claims = ClaimWrites(client, recorder)

    def _with_state(self, stateful: StatefulOwner, pod: Pod) -> Pod:
        """Return a new pod in its first state: a hook may hold it back from being normal."""
        lifecycle = self._owner.spec.lifecycle
        hook = lifecycle.pre_normal if lifecycle is not None else None
        state = NORMAL if hook is None or has_whole_hook(hook, pod) else PREPARING_NORMAL
        return with_state(pod, state, clock.now())

    async def act(self, view: SetView[StatefulSet], step: Step, number: int) -> None:
        try:
            await super().act(view, step, number)
        except Exception as error:
            kinds = {Create: FAILED_CREATE, Repair: FAILED_UPDATE}
            if (kind := kinds.get(type(step[number]))) is not None:
                self.failures[kind] = error
            raise

    async def delete(self, stateful: StatefulOwner, pod: Pod) -> None:
        """Delete a pod; one that a hook holds becomes ``PreparingDelete``."""
        lifecycle = self._owner.spec.lifecycle
        hook = lifecycle.pre_delete if lifecycle is not None else None
        if hook is not None and is_hooked(hook, pod):
            marks = hook.mark_pod_not_ready
            await self._writes.set_state(stateful, pod, PREPARING_DELETE, marks=marks)
        else:
            await super().delete(stateful, pod)

    async def refresh(self, view: AdvancedView, revisions: Sequence[ControllerRevision]) -> Refreshed:
        """Bring updates under way, and lifecycle states, forward. Raises what writing raises."""
        owner, changed = self._owner, False
        waits: list[float] = []
        if not marks_not_ready(owner.spec.lifecycle):
            for pod in released(view):
                changed = await self._writes.set_state(owner, pod, PREPARING_NORMAL) or changed
        update = view.update.metadata.name or ""

        async def refresh(pod: Pod) -> None:
            nonlocal changed
            looked = await self._steps.refresh(owner, pod, owner.spec.lifecycle, update)
            changed = changed or looked.changed
            if looked.seconds is not None:
                waits.append(looked.seconds)

        async def begin(pod: Pod) -> None:
            nonlocal changed
            changed = True
            seconds = await self._update_one(view, revisions, pod)
            if seconds is not None:
                waits.append(seconds)

        failure = await in_groups(refresh, [pod for pod in view.pods if not is_quiet(pod)])
        if failure is None:
            failure = await in_groups(begin, prepared(view))
        if failure is not None:
            raise failure
        return Refreshed(changed, min(waits, default=None))

    async def update(self, view: AdvancedView, revisions: Sequence[ControllerRevision]) -> float | None:
        """Begin the updates that are due now. Return the time after which to look again.

        Raises ``NotInPlace``, and what writing raises.
        """
        found = next_updates(view)
        waits: list[float] = []

        async def delete(pod: Pod) -> None:
            await self.delete(self._owner, pod)

        async def begin(pod: Pod) -> None:
            seconds = await self._update_one(view, revisions, pod)
            if seconds is not None:
                waits.append(seconds)

        for pod in found.grow:
            await self._claims.grow(view, pod)
        failure = await in_groups(delete, found.delete) or await in_groups(begin, found.update)
        if failure is not None:
            raise failure
        return min(waits, default=None)

    async def _update_one(
        self, view: AdvancedView, revisions: Sequence[ControllerRevision], pod: Pod
    ) -> float | None:
        owner, rolling = self._owner, self._owner.spec.rolling
        if rolling.pod_update_policy in IN_PLACE:
            spec = self._steps.spec(pod, revisions, view.update, rolling.in_place_update_strategy)
            if spec is not None:
                return await self._steps.update(owner, pod, owner.spec.lifecycle, spec)
            if rolling.pod_update_policy == ONLY:
                raise NotInPlace(
                    f"find strategy is InPlaceOnly but Pod {pod.metadata.name} can not update in-place"
                )
        await self.delete(owner, pod)
        return None

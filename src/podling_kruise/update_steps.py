"""Steps of in-place updates with lifecycle hooks, which CloneSets and Advanced StatefulSets share.

Upstream: ``refreshPodState`` and the in-place half of ``updatePod`` of both controllers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from podling import clock
from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Pod
from podling.client.base import ApiObject, Client, Unreachable, key_of
from podling.client.events import EventRecorder
from podling.controllers.children import Children
from podling.controllers.workloads.pod_control import together
from podling.machinery.errors import ApiError
from podling_kruise.common_types import InPlaceUpdateStrategy, Lifecycle
from podling_kruise.inplace.completion import leaves_running, unfinished
from podling_kruise.inplace.pod_updates import Marked, PodUpdates
from podling_kruise.inplace.revision_diff import update_spec
from podling_kruise.inplace.update_state import UpdateSpec
from podling_kruise.lifecycle import (
    NORMAL,
    PREPARING_NORMAL,
    PREPARING_UPDATE,
    UPDATED,
    UPDATING,
    is_hooked,
    is_of_revision,
    refreshed_state,
    state_of,
    with_state,
)
from podling_kruise.names import BUDGET_UPDATE_GATE
from podling_kruise.pod_writes import PodWrites
from podling_kruise.podunavailablebudget.guard import BudgetGuard
from podling_kruise.podunavailablebudget.types import RESIZE, UPDATE

PARALLEL = 50
"""Pods that are written at the same time, so that writes share commits of the store."""


BUDGET_SECONDS = 1.0
"""Time after which a spent PodUnavailableBudget is tried again."""


class NotInPlace(Exception):
    """A pod that must be updated in place, but cannot be."""


class Looked(Struct, frozen=True):
    """The outcome of a look at a pod: whether its state changed, and the time after which to look again."""

    changed: bool = False
    seconds: float | None = None


class UpdateSteps:
    """Brings updates of pods forward.

    Args:
        children: the pods of the workloads.
        gates: the feature gates.
        marked: returns a pod with the labels of a revision.
    """

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder,
        children: Children[Any, Pod],
        gates: Mapping[str, bool],
        marked: Marked,
    ) -> None:
        self._recorder, self._children, self._gates = recorder, children, gates
        self._writes = PodWrites(client, children)
        self._in_place = PodUpdates(client, marked)
        self._guard = BudgetGuard(client)

    async def refresh(self, owner: ApiObject, pod: Pod, lifecycle: Lifecycle | None, update: str) -> Looked:
        """Bring a pod's update and lifecycle forward. ``update`` is the name of the update revision.

        Raises ``UnreadableRecord``, and what writing raises.
        """
        now = clock.now()
        looked = await self._in_place.advance(pod, now)
        held = looked.pod
        if held is not pod:
            self._children.wrote(key_of(owner), held)
        is_done = not unfinished(held)
        state = refreshed_state(held, lifecycle, is_of_revision(held, update), is_done=is_done)
        moved: Pod | None = None
        if state:
            hook = lifecycle.in_place_update if lifecycle is not None else None
            marks = hook is not None and hook.mark_pod_not_ready
            moved = await self._writes.move(owner, held, state, marks=marks)
        # The gate comes last: the kubelet answers it with a write, which must not meet another one.
        opened = await self._in_place.finish(moved or held, now)
        if opened is not (moved or held):
            self._children.wrote(key_of(owner), opened)
        return Looked(moved is not None, looked.seconds)

    def spec(
        self,
        pod: Pod,
        revisions: Sequence[ControllerRevision],
        target: ControllerRevision,
        strategy: InPlaceUpdateStrategy | None,
        is_excluded: Callable[[ControllerRevision, ControllerRevision], bool] = lambda old, new: False,
    ) -> UpdateSpec | None:
        """Return the changes from the pod's own revision; None if they cannot be made in place.

        Args:
            is_excluded: returns whether more has changed between two revisions than their templates have.
        """
        own = next((each for each in revisions if is_of_revision(pod, each.metadata.name or "")), None)
        if own is None or is_excluded(own, target):
            return None
        grace = strategy.grace_period_seconds if strategy is not None else 0
        return update_spec(own.data, target.data, target.metadata.name or "", self._gates, grace)

    async def is_allowed(self, pod: Pod, operation: str = UPDATE) -> bool:
        """Return whether the pod's PodUnavailableBudget was spent for an operation, or has no say."""
        return not self._gates[BUDGET_UPDATE_GATE] or await self._guard.allows(pod, operation)

    async def update(
        self, owner: ApiObject, pod: Pod, lifecycle: Lifecycle | None, spec: UpdateSpec
    ) -> float | None:
        """Begin an update, or bring the pod into the state in which a hook holds it before.

        Return the time after which to look at it again. Raises what writing raises.
        """
        hook = lifecycle.in_place_update if lifecycle is not None else None
        state = state_of(pod)
        if state == PREPARING_UPDATE and is_hooked(hook, pod):
            return None
        if not await self.is_allowed(pod, operation_of(pod, spec)):
            return BUDGET_SECONDS
        if state in ("", PREPARING_NORMAL, NORMAL) and is_hooked(hook, pod) and hook is not None:
            marks = hook.mark_pod_not_ready
            await self._writes.set_state(owner, pod, PREPARING_UPDATE, marks=marks)
            return None
        if state == UPDATED:
            if hook is not None:
                marks = hook.mark_pod_not_ready
                await self._writes.set_state(owner, pod, PREPARING_UPDATE, marks=marks, hook=hook)
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


def operation_of(pod: Pod, spec: UpdateSpec) -> str:
    """Return the operation that an update in place is to a PodUnavailableBudget."""
    return RESIZE if leaves_running(pod, spec) else UPDATE


async def in_groups(call: Callable[[Pod], Awaitable[object]], pods: Sequence[Pod]) -> Exception | None:
    """Call for each pod, for some at the same time, until a group fails; return the first failure."""
    for begin in range(0, len(pods), PARALLEL):
        failure = await together([call(pod) for pod in pods[begin : begin + PARALLEL]])
        if failure is not None:
            return failure
    return None

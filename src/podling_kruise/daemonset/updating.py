"""Writes of the pods of Advanced DaemonSets: new pods, deletions that hooks hold back, updates in place.

Upstream: ``syncNodes`` and ``inPlaceUpdatePods`` of ``pkg/controller/daemonset``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from podling import clock
from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Pod
from podling.client.base import Client, Unreachable, key_of
from podling.client.events import EventRecorder
from podling.controllers.children import Children
from podling.controllers.workloads.daemonset_pods import DaemonPods
from podling.controllers.workloads.daemonset_rules import DaemonOwner
from podling.controllers.workloads.revisions import REVISION_LABEL
from podling.machinery.errors import ApiError
from podling_kruise.daemonset.types import DaemonSet
from podling_kruise.daemonset.update_plan import own_revision
from podling_kruise.inplace.pod_plan import with_readiness_gate
from podling_kruise.inplace.pod_updates import PodUpdates
from podling_kruise.inplace.revision_diff import update_spec
from podling_kruise.inplace.update_state import UpdateSpec
from podling_kruise.lifecycle import PREPARING_DELETE, is_hooked, is_quiet
from podling_kruise.names import BUDGET_UPDATE_GATE
from podling_kruise.pod_writes import PodWrites
from podling_kruise.podunavailablebudget.guard import BudgetGuard
from podling_kruise.policies import IN_PLACE, ONLY
from podling_kruise.update_steps import NotInPlace, in_groups, operation_of


def with_gate(owner: DaemonOwner, pod: Pod) -> Pod:
    """Return a new pod with the readiness gate, if its set updates pods in place."""
    if not isinstance(owner, DaemonSet) or owner.spec.rolling.rolling_update_type not in IN_PLACE:
        return pod
    return structs.replace(pod, spec=with_readiness_gate(pod.spec))


def _marked(pod: Pod, revision: str) -> Pod:
    labels = {**pod.metadata.labels, REVISION_LABEL: revision}
    return structs.replace(pod, metadata=structs.replace(pod.metadata, labels=labels))


def _unchanged(pod: Pod) -> Pod:
    return pod


class AdvancedDaemonPods(DaemonPods):
    """Writes pods. ``gates`` are the feature gates."""

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder,
        children: Children[DaemonSet, Pod],
        gates: Mapping[str, bool],
    ) -> None:
        super().__init__(client, recorder, children, with_gate)
        self._events, self._owned, self._gates = recorder, children, gates
        self._states = PodWrites(client, children)
        self._in_place = PodUpdates(client, _marked)
        self._guard = BudgetGuard(client)

    async def released(self, owner: DaemonSet, pods: Sequence[Pod]) -> tuple[list[Pod], bool]:
        """Return the pods to delete that no hook holds; the others become ``PreparingDelete``.

        Also return whether the state of a pod changed. Raises what writing raises.
        """
        hook = owner.spec.lifecycle.pre_delete if owner.spec.lifecycle is not None else None
        if hook is None:
            return list(pods), False
        free, changed = [], False
        for pod in pods:
            if is_hooked(hook, pod):
                marks = hook.mark_pod_not_ready
                changed = await self._states.set_state(owner, pod, PREPARING_DELETE, marks=marks) or changed
            else:
                free.append(pod)
        return free, changed

    async def refresh(self, owner: DaemonSet, pods: Sequence[Pod]) -> None:
        """Bring updates under way forward. Raises what writing raises."""

        async def look(pod: Pod) -> None:
            looked = await self._in_place.refresh(pod, clock.now())
            if looked.pod is not pod:
                self._owned.wrote(key_of(owner), looked.pod)

        failure = await in_groups(look, [pod for pod in pods if not is_quiet(pod)])
        if failure is not None:
            raise failure

    async def update(
        self,
        owner: DaemonSet,
        pods: Sequence[Pod],
        target: ControllerRevision,
        revisions: Sequence[ControllerRevision],
    ) -> list[Pod]:
        """Update old pods in place; return those that must be replaced instead.

        Raises ``NotInPlace``, and what writing raises.
        """
        kind = owner.spec.rolling.rolling_update_type
        if kind not in IN_PLACE:
            return list(pods)
        specs = {pod.metadata.uid: self._spec(pod, target, revisions) for pod in pods}
        rest = [pod for pod in pods if specs[pod.metadata.uid] is None]

        async def begin(pod: Pod) -> None:
            spec = specs[pod.metadata.uid]
            if spec is not None:
                await self._begin(owner, pod, spec)

        failure = await in_groups(begin, pods)
        if failure is not None:
            raise failure
        if rest and kind == ONLY:
            name = rest[0].metadata.name
            raise NotInPlace(f"find strategy is InPlaceOnly but Pod {name} can not update in-place")
        return rest

    def _spec(
        self, pod: Pod, target: ControllerRevision, revisions: Sequence[ControllerRevision]
    ) -> UpdateSpec | None:
        own = own_revision(pod, revisions)
        if own is None:
            return None
        digest = target.metadata.labels.get(REVISION_LABEL, "")
        return update_spec(own.data, target.data, digest, self._gates)

    async def _begin(self, owner: DaemonSet, pod: Pod, spec: UpdateSpec) -> None:
        name = pod.metadata.name
        try:
            if self._gates[BUDGET_UPDATE_GATE]:
                await self._guard.spend(pod, operation_of(pod, spec))
            written = await self._in_place.start(pod, spec, _unchanged, clock.now())
        except (ApiError, Unreachable) as error:
            text = f"failed to update pod {name} in-place(revision {spec.revision}): {error}"
            self._events.event(owner, "Warning", "FailedUpdatePodInPlace", text)
            raise
        self._owned.wrote(key_of(owner), written)
        text = f"successfully update pod {name} in-place"
        self._events.event(owner, "Normal", "SuccessfulUpdatePodInPlace", text)

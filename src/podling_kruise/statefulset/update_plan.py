"""The pods of an Advanced StatefulSet that are updated or replaced next. Pure.

Upstream: ``rollingUpdateStatefulsetPods`` and ``sortPodsToUpdate`` of ``pkg/controller/statefulset``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.controllers.workloads.int_or_percent import scaled
from podling.controllers.workloads.statefulset_rules import SetView, claim_name, is_terminating, revision_of
from podling.machinery.pods import is_terminal
from podling_kruise.inplace.completion import unfinished
from podling_kruise.inplace.update_state import UnreadableRecord
from podling_kruise.lifecycle import (
    NORMAL,
    PREPARING_DELETE,
    PREPARING_UPDATE,
    counts_as_updated,
    is_hooked,
    is_of_revision,
    state_of,
)
from podling_kruise.names import AUTO_RESIZE_CLAIMS, FEATURE_GATES, SPECIFIED_DELETE
from podling_kruise.policies import ON_DELETE, ROLLING_UPDATE
from podling_kruise.statefulset.claim_sizes import is_alike, is_compatible, is_grown, is_ready
from podling_kruise.statefulset.ordinals import Ordinals
from podling_kruise.statefulset.types import StatefulSet, StatefulSetSpec
from podling_kruise.update_ranking import by_priority

ClaimCheck = Callable[[PersistentVolumeClaim, PersistentVolumeClaim], bool]
"""A check of a claim beside its template."""


def is_ready_for(claim: PersistentVolumeClaim, template: PersistentVolumeClaim) -> bool:
    """Return whether the volume of a claim is as large as the claim requests, and is of the right kind."""
    return is_alike(claim, template) and is_ready(claim)


def wanted_ordinals(spec: StatefulSetSpec) -> Ordinals:
    """Return the ordinals of the pods that the set should have."""
    start = spec.ordinals.start if spec.ordinals is not None else 0
    return Ordinals(start, spec.wanted, spec.reserve_ordinals)


@dataclass(frozen=True)
class AdvancedView(SetView[StatefulSet]):
    """A set with reserved ordinals, whose pods have lifecycle states. ``gates`` are the feature gates."""

    gates: Mapping[str, bool] = field(default_factory=lambda: FEATURE_GATES)

    @cached_property
    def wanted(self) -> Ordinals:
        return wanted_ordinals(self.stateful.spec)

    def is_available(self, pod: Pod) -> bool:
        return state_of(pod) in ("", NORMAL) and super().is_available(pod)

    @property
    def partition(self) -> int:
        return self.stateful.spec.rolling.partition or 0

    def revision_for(self, ordinal: int) -> ControllerRevision:
        """Return the revision of a new pod: as many as the partition says are made as they were."""
        spec, status = self.stateful.spec, self.stateful.status
        if spec.update_strategy.type != ROLLING_UPDATE:
            return self.update
        position, rolling = self.wanted.position(ordinal), spec.update_strategy.rolling_update
        if rolling is None:
            return self.current if position < status.current_replicas else self.update
        if rolling.unordered_update is None:
            return self.current if position < self.partition else self.update
        old = [pod for pod in self.members.values() if not self.counts_as_updated(pod)]
        missing_before = position - sum(each < ordinal for each in self.members)
        return self.current if len(old) + missing_before < self.partition else self.update

    def claims_of(self, ordinal: int) -> Iterator[tuple[PersistentVolumeClaim, PersistentVolumeClaim]]:
        """Yield the claims of a pod that exist and are not being deleted, each with its template."""
        for template in self.stateful.spec.volume_claim_templates:
            claim = self.claims.get(claim_name(template.metadata.name or "", self.stateful, ordinal))
            if claim is not None and claim.metadata.deletion_timestamp is None:
                yield claim, template

    def claims_are(self, check: ClaimCheck, ordinal: int) -> bool:
        """Return whether a pod's claims pass a check; all do where claims are not made larger."""
        if not self.gates[AUTO_RESIZE_CLAIMS] or not self.stateful.spec.grows_claims:
            return True
        return all(check(claim, template) for claim, template in self.claims_of(ordinal))

    def is_updated(self, pod: Pod) -> bool:
        return is_of_revision(pod, self.update.metadata.name or "")

    def counts_as_updated(self, pod: Pod) -> bool:
        """Return whether an update in any order takes the pod for one of the update revision."""
        return counts_as_updated(pod, self.update.metadata.name or "", self.gates)

    def is_settled(self, pod: Pod) -> bool:
        """Return whether the pod is available, and no update of it in place is under way."""
        try:
            return self.is_available(pod) and not unfinished(pod)
        except UnreadableRecord:
            return False


class Updates(Struct, frozen=True):
    """Pods to delete because their user chose them, and pods of an old revision to update, both in order.

    ``grow``: pods whose claims are to become larger first.
    """

    delete: list[Pod]
    update: list[Pod]
    grow: Sequence[Pod] = ()


def scale_limit(spec: StatefulSetSpec) -> int | None:
    """Return the number of pods that may be unavailable while others are created; None without a limit."""
    given = spec.scale_strategy.max_unavailable if spec.scale_strategy is not None else None
    return None if given is None else max(1, scaled(given, spec.wanted, round_up=False))


def next_updates(view: AdvancedView) -> Updates:
    """Return what to do now, as far as pods may become unavailable.

    A pod that is unavailable already does not count again. Pods that their user chose go first; an update
    stops at the first pod that has to wait. Raises ``ValueError`` for a limit that is no number.
    """
    spec = view.stateful.spec
    if spec.update_strategy.type == ON_DELETE or spec.rolling.paused:
        return Updates([], [])
    given = spec.rolling.max_unavailable
    limit = max(1, scaled(1 if given is None else given, spec.wanted, round_up=False))
    unavailable = {
        ordinal
        for ordinal, pod in view.members.items()
        if not view.is_settled(pod) or not view.claims_are(is_ready_for, ordinal)
    }
    limit -= len(view.wanted) - len(view.members)  # missing pods are unavailable
    doomed, chosen, grow = [], [], []
    for ordinal, pod in reversed(view.members.items()):
        if SPECIFIED_DELETE not in pod.metadata.labels:
            continue
        if len(unavailable) >= limit and ordinal not in unavailable:
            continue
        unavailable.add(ordinal)
        doomed.append(ordinal)
    for ordinal in _update_order(view):
        pod = view.members[ordinal]
        is_large = view.claims_are(is_compatible, ordinal)
        if view.is_updated(pod) and is_large:
            continue
        if len(unavailable) >= limit and ordinal not in unavailable:
            break
        unavailable.add(ordinal)
        if not is_large:
            grow.append(pod)
        if view.is_updated(pod) or not view.claims_are(is_grown, ordinal):
            continue  # the claims come first
        if ordinal not in doomed and _can_be_updated(pod):
            chosen.append(pod)
    going = [view.members[ordinal] for ordinal in doomed if not is_terminating(view.members[ordinal])]
    return Updates(going, chosen, grow)


def prepared(view: AdvancedView) -> list[Pod]:
    """Return the pods that no hook holds any more before their update.

    They are unavailable: with ``OrderedReady`` nothing else would go on before they are updated.
    """
    spec = view.stateful.spec
    if spec.update_strategy.type == ON_DELETE or spec.rolling.paused:
        return []
    hook = spec.lifecycle.in_place_update if spec.lifecycle is not None else None
    pods = [view.members[ordinal] for ordinal in _update_order(view)]
    return [
        pod
        for pod in pods
        if state_of(pod) == PREPARING_UPDATE
        and not view.is_updated(pod)
        and not is_terminating(pod)
        and not is_hooked(hook, pod)
    ]


def _can_be_updated(pod: Pod) -> bool:
    return not is_terminating(pod) and state_of(pod) != PREPARING_DELETE


def _update_order(view: AdvancedView) -> list[int]:
    """Return the ordinals of the pods that should be of the update revision, the first to update first."""
    number = view.stateful.spec.wanted - view.partition
    if number <= 0:
        return []
    descending = list(reversed(view.members))
    unordered = view.stateful.spec.rolling.unordered_update
    if unordered is None:
        return [each for each in descending if view.wanted.position(each) >= view.partition]
    pods = view.members
    done = [each for each in descending if is_terminating(pods[each]) or view.counts_as_updated(pods[each])]
    updated = set(done)
    waiting = {pods[each].metadata.name: each for each in descending if each not in updated}
    ranked = by_priority(unordered.priority_strategy, [pods[each] for each in waiting.values()])
    missing = view.stateful.spec.wanted - len(pods)
    return [*done, *(waiting[pod.metadata.name] for pod in ranked)][: max(0, number - missing)]


def released(view: AdvancedView) -> list[Pod]:
    """Return the pods that a hook keeps from being deleted, and that need not be deleted any more."""
    return [
        pod
        for pod in view.members.values()
        if state_of(pod) == PREPARING_DELETE
        and SPECIFIED_DELETE not in pod.metadata.labels
        and not is_terminating(pod)
        and not is_terminal(pod)
        and revision_of(pod) == view.update.metadata.name
    ]

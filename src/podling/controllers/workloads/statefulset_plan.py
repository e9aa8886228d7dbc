"""The next steps of a stateful set. Pure.

With ``OrderedReady`` a pod is created only when all before it are running and available, and deleted only
when all after it are gone; at most one thing happens at a time. With ``Parallel`` missing pods are created
and excess pods deleted in batches; only updates still go from the highest ordinal down.

The work of one run is proportional to the pods that exist, not to the replicas in the spec.

Upstream: ``stateful_set_control.go`` in ``pkg/controller/statefulset``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from msgspec import Struct

from podling.api.apps_v1 import ControllerRevision, StatefulSet
from podling.api.core_v1 import Pod
from podling.controllers.workloads.int_or_percent import scaled
from podling.controllers.workloads.statefulset_claim_rules import (
    are_claims_missing,
    are_claims_stale,
    are_owners_right,
)
from podling.controllers.workloads.statefulset_rules import (
    SetView,
    View,
    has_identity,
    has_storage,
    is_parallel,
    is_terminating,
    ordinals,
    replicas_of,
    revision_of,
)

BURST = 500
"""The number of pods that one run creates, deletes or changes at most (upstream: ``MaxBatchSize``)."""


class Create(Struct, frozen=True):
    ordinal: int
    revision: ControllerRevision


class Delete(Struct, frozen=True):
    pod: Pod


class Repair(Struct, frozen=True):
    """Gives a pod the labels and the claims of its ordinal, and its claims their owners; with an event."""

    pod: Pod
    ordinal: int


class UpdateClaims(Struct, frozen=True):
    """Creates the missing claims of a pod, and gives its claims the owners that the retention policy says."""

    pod: Pod
    ordinal: int


Action = Create | Delete | Repair | UpdateClaims
Step = list[Action]


RevisionFor = Callable[[int], ControllerRevision]
"""Chooses the revision of a new member by its ordinal."""


def plan(view: View) -> list[Step]:
    """Return what to do now. A step begins when all of the step before has succeeded."""
    steps, settled = membership(view, partial(_revision_for, view))
    if settled and view.stateful.spec.update_strategy.type != "OnDelete":
        steps.append(_updates(view))
    return steps


def membership(
    view: SetView[Any], revision_for: RevisionFor, unavailable_max: int | None = None
) -> tuple[list[Step], bool]:
    """Return the creations, repairs and deletions, and whether updates may go on after them.

    Args:
        unavailable_max: with ``Parallel``, pods are created in the order of their ordinals until so many are
            unavailable.
    """
    if is_parallel(view.stateful):
        living, settled = _parallel(view, revision_for, unavailable_max), True
    else:
        living, settled = _ordered(view, revision_for)
    if not settled:
        return [living], False
    retained = islice(_claims_to_retain(view), BURST)
    removals, settled = _condemned(view)
    return [living, list(retained), removals], settled


def _ordered(view: SetView[Any], revision_for: RevisionFor) -> tuple[Step, bool]:
    """Return the actions up to the first member that is missing or not well, and whether there is none."""
    step: Step = []
    for ordinal in view.wanted:
        pod = view.members.get(ordinal)
        if pod is None:
            if not are_claims_stale(view, ordinal):
                step.append(Create(ordinal, revision_for(ordinal)))
            return step, False
        if _has_ended(pod):
            return step if is_terminating(pod) else [*step, Delete(pod)], False
        if _wants_claims(view, pod, ordinal):
            step.append(UpdateClaims(pod, ordinal))
        if not view.is_available(pod):
            return step, False
        step += _repairs(view, pod, ordinal)
    return step, True


def _parallel(view: SetView[Any], revision_for: RevisionFor, unavailable_max: int | None) -> Step:
    repairs: Step = []
    for ordinal, pod in view.members.items():
        if _has_ended(pod):
            repairs += [] if is_terminating(pod) else [Delete(pod)]
            continue
        if _wants_claims(view, pod, ordinal):
            repairs.append(UpdateClaims(pod, ordinal))
        else:
            repairs += _repairs(view, pod, ordinal)
    creations = islice(_creations(view, revision_for, unavailable_max), BURST)
    return [*repairs[:BURST], *creations]


def _creations(
    view: SetView[Any], revision_for: RevisionFor, unavailable_max: int | None
) -> Iterator[Action]:
    """Yield the missing members, the lowest first, until too many up to there are unavailable."""
    unavailable = 0
    for ordinal in view.wanted:
        if unavailable_max is not None and unavailable >= unavailable_max:
            return
        pod = view.members.get(ordinal)
        if pod is None and not are_claims_stale(view, ordinal):
            unavailable += 1
            yield Create(ordinal, revision_for(ordinal))
        elif pod is not None and unavailable_max is not None:
            unavailable += not view.is_available(pod)


def _has_ended(pod: Pod) -> bool:
    return pod.status.phase in ("Succeeded", "Failed")


def _wants_claims(view: SetView[Any], pod: Pod, ordinal: int) -> bool:
    """Return whether the pod waits for a claim that does not exist, or has one with other owners."""
    if pod.status.phase != "Pending":
        return False
    return are_claims_missing(view, ordinal) or not are_owners_right(view, pod, ordinal)


def _repairs(view: SetView[Any], pod: Pod, ordinal: int) -> Step:
    right = has_identity(pod) and has_storage(view.stateful, pod, ordinal)
    return [] if right and are_owners_right(view, pod, ordinal) else [Repair(pod, ordinal)]


def _claims_to_retain(view: SetView[Any]) -> Iterator[Action]:
    """Before a pod is scaled away its claims get the owners that the retention policy says."""
    for ordinal, pod in view.condemned.items():
        if not are_owners_right(view, pod, ordinal):
            yield UpdateClaims(pod, ordinal)


def _revision_for(view: View, ordinal: int) -> ControllerRevision:
    """Return the revision of a new member: those below the partition are made as they were."""
    strategy, current = view.stateful.spec.update_strategy, view.stateful.status.current_revision
    if current == view.update.metadata.name or strategy.type == "OnDelete":
        return view.update
    return view.current if ordinal < _first_updated(view.stateful) else view.update


def _first_updated(stateful: StatefulSet) -> int:
    rolling = stateful.spec.update_strategy.rolling_update
    return ordinals(stateful).start + (rolling.partition or 0 if rolling is not None else 0)


def _condemned(view: SetView[Any]) -> tuple[Step, bool]:
    """Return what to delete of the pods that are too many, and whether updates may go on.

    In order, only the highest pod may go: it must be available, or the lowest of those that are not.
    """
    doomed = list(view.condemned.values())
    if is_parallel(view.stateful):
        removals: Step = [Delete(pod) for pod in doomed if not is_terminating(pod)]
        return removals[:BURST], True
    if not doomed:
        return [], True
    highest, lowest_unavailable = (
        doomed[0],
        next((pod for pod in reversed(doomed) if not view.is_available(pod)), None),
    )
    waits = is_terminating(highest) or (not view.is_available(highest) and highest is not lowest_unavailable)
    return [] if waits else [Delete(highest)], False


def _updates(view: View) -> Step:
    """Delete outdated members from the highest ordinal down, so that they are created anew."""
    targets = range(_first_updated(view.stateful), ordinals(view.stateful).stop)
    limit = unavailable_max(view.stateful)
    if limit is not None:
        return _updates_within(view, targets, limit)
    for ordinal in reversed(targets):
        pod = view.members.get(ordinal)
        if pod is None or _has_ended(pod):
            return []
        if _is_outdated(view, pod):
            return [Delete(pod)]
        if not view.is_available(pod):
            return []
    return []


def unavailable_max(stateful: StatefulSet) -> int | None:
    """Return the number of members that may be unavailable during an update; None if the set states none."""
    rolling = stateful.spec.update_strategy.rolling_update
    if rolling is None or rolling.max_unavailable is None:
        return None
    return max(1, scaled(rolling.max_unavailable, replicas_of(stateful), round_up=False))


def _updates_within(view: View, targets: range, limit: int) -> Step:
    """Delete as many outdated members as may be unavailable beside those that already are.

    With ``Parallel`` an outdated member that is unavailable already does not wait for the others: it may
    never become available as it is.
    """
    budget = limit - replicas_of(view.stateful) + sum(map(view.is_available, view.members.values()))
    outdated = [
        pod
        for ordinal, pod in reversed(view.members.items())
        if ordinal in targets and _is_outdated(view, pod) and not _has_ended(pod)
    ]
    broken: list[Pod] = []
    if is_parallel(view.stateful):
        broken = [pod for pod in outdated if not view.is_available(pod)]
        outdated = [pod for pod in outdated if view.is_available(pod)]
    return [Delete(pod) for pod in [*broken, *outdated[: max(0, budget)]][:BURST]]


def _is_outdated(view: View, pod: Pod) -> bool:
    return revision_of(pod) != view.update.metadata.name and not is_terminating(pod)

"""Preemption: the node, and its pods of lower priority, to evict so that a pod can run. Pure.

Flow: for each node where evictions could help, take away every pod of lower priority; if the pod fits then,
put back as many as possible, those that a disruption budget protects first, then by importance. The rest
are the victims. The candidate with the least harm is chosen.

Guarantees: only pods of lower priority are victims; the cache is left as it was found.

Upstream: ``pkg/scheduler/framework/preemption``, ``plugins/defaultpreemption``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from msgspec import Struct, structs

from podling.api.core_v1 import Pod
from podling.api.policy_v1 import PodDisruptionBudget
from podling.machinery.fields import aggregate
from podling.scheduler import messages
from podling.scheduler.cache import Cache
from podling.scheduler.decide import Diagnosis, Nominated, feasible, respected_nominations
from podling.scheduler.framework import PluginFailed, one_row
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.profile import Profile
from podling.scheduler.terms import selector_of

CANDIDATES_PERCENT_MIN = 10
"""The share of the nodes that preemption looks for candidates on, and the least number of them."""
CANDIDATES_MIN = 100

_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)


class Victims(Struct, frozen=True):
    """The victims on ``node``, most important first; ``violations``: the number that a budget protects.

    ``candidates``: all nodes that were found, this one included, for extenders to choose from.
    """

    node: str
    pods: tuple[PodFacts, ...]
    violations: int
    candidates: tuple[Victims, ...] = ()


class Refusal(Struct, frozen=True):
    """No pod is preempted; the pod's message ends with the text.

    ``keeps_nomination``: the pod keeps its nominated node.
    ``rejected_by``: the plugins that would reject the pod even after preemption; the pod waits for a change
    that they may accept, too.
    """

    message: str
    keeps_nomination: bool = False
    rejected_by: frozenset[str] = frozenset()


class Attempt(Struct, frozen=True):
    """Everything the decision looks at. ``offset`` draws where among the nodes the search starts."""

    pod: PodFacts
    cache: Cache
    profile: Profile
    nominated: Sequence[Nominated]
    budgets: Sequence[PodDisruptionBudget]
    offset: int = 0


def preempt(
    attempt: Attempt,
    diagnosis: Diagnosis,
    candidates_percent: int = CANDIDATES_PERCENT_MIN,
    candidates_min: int = CANDIDATES_MIN,
) -> Victims | Refusal:
    """Return the victims for a pod without a feasible node, or the reason for none."""
    refusal = _not_eligible(attempt, diagnosis)
    if refusal is not None:
        return refusal
    reasons: Counter[str] = Counter()
    not_helpful = diagnosis.total - len(diagnosis.resolvable())
    if not_helpful:
        reasons[messages.NOT_HELPFUL] = not_helpful
    rejected_by: set[str] = set()
    rows = diagnosis.resolvable()
    wanted = min(max(len(rows) * candidates_percent // 100, candidates_min), len(rows))
    errors: list[str] = []
    candidates = _candidates(attempt, rows, wanted, reasons, rejected_by, errors)
    if candidates:
        return structs.replace(least_harmful(candidates), candidates=tuple(candidates))
    if errors:
        return Refusal(f"preemption: {aggregate(errors)}", keeps_nomination=True)
    text = f"preemption: {messages.fit_error(diagnosis.total, +reasons)}"
    return Refusal(text, rejected_by=frozenset(rejected_by))


def least_harmful(candidates: Sequence[Victims]) -> Victims:
    """Return the node whose victims do the least harm; of equals the first (``pickOneNodeForPreemption``)."""
    return min(candidates, key=_harm)


def more_important(pod: PodFacts) -> tuple[int, datetime, str]:
    """Sorts the more important pods first: higher priority, then running longer; of equals the lower UID."""
    return -pod.priority, started(pod.pod), pod.uid


def started(pod: Pod) -> datetime:
    """When the pod started; one that has not yet is the youngest of all."""
    return pod.status.start_time or _LAST_MOMENT


def _not_eligible(attempt: Attempt, diagnosis: Diagnosis) -> Refusal | None:
    pod, cache = attempt.pod, attempt.cache
    if pod.spec.preemption_policy == "Never":
        return Refusal(f"preemption: {messages.NEVER_PREEMPTS}", keeps_nomination=True)
    nominated = pod.pod.status.nominated_node_name
    row = cache.row_of(nominated) if nominated else None
    if row is None or row not in diagnosis.resolvable():
        # Not nominated, or the capacity freed there would not help any more.
        return None
    for other in cache.pods_on(row):
        if other.terminating and other.priority < pod.priority and _was_preempted(other.pod):
            return Refusal(f"preemption: {messages.VICTIM_STILL_GOING}", keeps_nomination=True)
    return None


def _was_preempted(pod: Pod) -> bool:
    return any(
        condition.type == "DisruptionTarget"
        and condition.status == "True"
        and condition.reason == "PreemptionByScheduler"
        for condition in pod.status.conditions
    )


def _candidates(
    attempt: Attempt,
    rows: Sequence[int],
    wanted: int,
    reasons: Counter[str],
    rejected_by: set[str],
    errors: list[str],
) -> list[Victims]:
    """Return enough nodes where preemption would work, looking from a drawn place on.

    Notes why on others it would not, and by whom. Errors are those of plugins, and each node where the pod
    fits with all pods there, as on one that only an extender has rejected.
    """
    found: list[Victims] = []
    spared: list[Victims] = []
    for number in range(len(rows)):
        try:
            outcome = victims_on(attempt, rows[(attempt.offset + number) % len(rows)])
        except PluginFailed as failed:
            errors.append(str(failed))
            continue
        if isinstance(outcome, Victims) and not outcome.pods:
            errors.append(messages.no_victims_on(outcome.node))
        elif isinstance(outcome, Victims):
            (spared if not outcome.violations else found).append(outcome)
        else:
            reasons.update(outcome.reasons)
            rejected_by |= outcome.rejected_by
        if spared and len(found) + len(spared) >= wanted:
            break
    return spared + found


def victims_on(attempt: Attempt, row: int) -> Victims | Diagnosis:
    """Return the victims on this node, or the reason why evictions do not help. Restores the cache."""
    pod, cache = attempt.pod, attempt.cache
    node = cache.name_of(row)
    potential = sorted(
        (other for other in cache.pods_on(row) if other.priority < pod.priority), key=more_important
    )
    if not potential:
        return Diagnosis(1, Counter((messages.NO_VICTIMS,)))
    assumed = {other.uid for other in potential if _is_assumed(cache, other.uid)}
    for other in potential:
        cache.remove_pod(other.uid)
    gone = {other.uid for other in potential}
    try:
        diagnosis = Diagnosis(1)
        if not _fits(attempt, row, diagnosis):
            return diagnosis
        violating, others = _by_budget(potential, attempt.budgets)
        victims: list[PodFacts] = []
        violations = 0
        for number, other in enumerate((*violating, *others)):
            cache.add_pod(other, node, assumed=other.uid in assumed)
            gone.discard(other.uid)
            if not _fits(attempt, row):
                cache.remove_pod(other.uid)
                gone.add(other.uid)
                victims.append(other)
                violations += number < len(violating)
        return Victims(node, tuple(sorted(victims, key=more_important)), violations)
    finally:
        for other in potential:
            if other.uid in gone:
                cache.add_pod(other, node, assumed=other.uid in assumed)


def _is_assumed(cache: Cache, uid: str) -> bool:
    placed = cache.pod(uid)
    return placed is not None and placed.assumed


def _fits(attempt: Attempt, row: int, diagnosis: Diagnosis | None = None) -> bool:
    respected = respected_nominations(attempt.pod, attempt.nominated)
    found = feasible(attempt.pod, attempt.cache, attempt.profile, one_row(row), respected, diagnosis)
    return len(found) > 0


def _by_budget(
    pods: Iterable[PodFacts], budgets: Sequence[PodDisruptionBudget]
) -> tuple[list[PodFacts], list[PodFacts]]:
    """Those whose removal would overdraw a budget, and the others, each in the given order."""
    left = [budget.status.disruptions_allowed or 0 for budget in budgets]
    selectors = [selector_of(budget.spec.selector) for budget in budgets]
    violating: list[PodFacts] = []
    others: list[PodFacts] = []
    for pod in pods:
        overdraws = False
        for number, budget in enumerate(budgets):
            if budget.metadata.namespace != pod.namespace or not selectors[number].matches(pod.labels):
                continue
            if pod.name in budget.status.disrupted_pods:
                continue
            left[number] -= 1
            if left[number] < 0:
                overdraws = True
                break
        (violating if overdraws else others).append(pod)
    return violating, others


def _harm(victims: Victims) -> tuple[int, int, int, int, float]:
    """Smaller is better: budget violations, highest priority, sum of priorities, number of victims, and
    then the latest start of the most important ones."""
    highest = victims.pods[0].priority
    # Shifted so that priorities below zero count as something, too.
    total = sum(pod.priority + 2**31 for pod in victims.pods)
    earliest = min(started(pod.pod) for pod in victims.pods if pod.priority == highest)
    return (victims.violations, highest, total, len(victims.pods), -earliest.timestamp())

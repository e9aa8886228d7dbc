"""The arithmetic of disruption budgets: the number of pods that may be evicted now. Pure.

===========================  ==========================  ===============================
``spec``                     expected pods               desired healthy pods
===========================  ==========================  ===============================
``minAvailable: 3``          the pods that match         3
``minAvailable: 30%``        their owners' replicas      30 % of that, rounded up
``maxUnavailable: 1``, ``%``  their owners' replicas      that less the share, rounded up
===========================  ==========================  ===============================

An evicted pod counts as gone from the moment the eviction API allowed it, for at most two minutes: a pod
that still exists then counts again. Upstream: ``pkg/controller/disruption``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct, structs

from podling.api.core_v1 import Pod
from podling.api.meta_v1 import Condition, LabelSelector, LabelSelectorRequirement
from podling.api.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetStatus
from podling.controllers.workloads.int_or_percent import scaled
from podling.machinery.conditions import with_condition
from podling.machinery.numbers import INT32_MAX
from podling.machinery.pods import is_ready

DELETION_TIMEOUT = timedelta(minutes=2)
CONDITION = "DisruptionAllowed"


class Expectation(Struct, frozen=True):
    """The expected number of pods, and the desired number of healthy ones."""

    pods: int
    healthy: int


def needs_scale(budget: PodDisruptionBudget) -> bool:
    """Return whether the budget needs the replicas of the pods' owners."""
    spec = budget.spec
    return spec.max_unavailable is not None or isinstance(spec.min_available, str)


def expectation(budget: PodDisruptionBudget, pods: int, scale: int) -> Expectation:
    """Return the numbers that the budget expects for ``pods`` matching pods and the owners' ``scale``.

    Raises ValueError for a share that is no percentage.
    """
    spec = budget.spec
    if spec.max_unavailable is not None:
        allowed = scaled(spec.max_unavailable, scale, round_up=True)
        return Expectation(scale, max(0, scale - allowed))
    if isinstance(spec.min_available, str):
        return Expectation(scale, scaled(spec.min_available, scale, round_up=True))
    return Expectation(pods, spec.min_available) if spec.min_available is not None else Expectation(0, 0)


class Promised(Struct, frozen=True):
    """The evictions that may still be kept, those that were not, and when to look again."""

    pods: dict[str, datetime]
    broken: tuple[Pod, ...]
    seconds: float | None


def promised(budget: PodDisruptionBudget, pods: Iterable[Pod], now: datetime) -> Promised:
    """Sort out the evictions that the eviction API promised."""
    kept: dict[str, datetime] = {}
    broken = []
    for pod in pods:
        name = pod.metadata.name or ""
        since = budget.status.disrupted_pods.get(name)
        if since is None or pod.metadata.deletion_timestamp is not None:
            continue
        if since + DELETION_TIMEOUT < now:
            broken.append(pod)
        else:
            kept[name] = since
    waits = [(since + DELETION_TIMEOUT - now) / timedelta(seconds=1) for since in kept.values()]
    return Promised(kept, tuple(broken), min(waits) if waits else None)


def healthy(pods: Iterable[Pod], disrupted: dict[str, datetime]) -> int:
    """Ready pods that are neither being deleted nor promised to be."""
    return sum(
        is_ready(pod) and pod.metadata.deletion_timestamp is None and pod.metadata.name not in disrupted
        for pod in pods
    )


def status_of(
    budget: PodDisruptionBudget,
    expected: Expectation,
    healthy_now: int,
    disrupted: dict[str, datetime],
    now: datetime,
) -> PodDisruptionBudgetStatus:
    """Return the budget's status."""
    allowed = max(0, healthy_now - expected.healthy) if expected.pods > 0 else 0
    status = structs.replace(
        budget.status,
        expected_pods=min(expected.pods, INT32_MAX),
        desired_healthy=min(expected.healthy, INT32_MAX),
        current_healthy=healthy_now,
        disruptions_allowed=allowed,
        disrupted_pods=disrupted,
        observed_generation=budget.metadata.generation,
    )
    reason = "SufficientPods" if allowed else "InsufficientPods"
    return structs.replace(status, conditions=_conditions(budget, status, reason, "", now))


def failed_status(budget: PodDisruptionBudget, error: str, now: datetime) -> PodDisruptionBudgetStatus:
    """Return the status when nothing could be computed: nothing is allowed."""
    status = structs.replace(budget.status, disruptions_allowed=0)
    return structs.replace(status, conditions=_conditions(budget, status, "SyncFailed", error, now))


def _conditions(
    budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus, reason: str, message: str, now: datetime
) -> tuple[Condition, ...]:
    condition = Condition(
        type=CONDITION,
        status="True" if status.disruptions_allowed else "False",
        reason=reason,
        message=message,
        observed_generation=status.observed_generation,
    )
    return with_condition(budget.status.conditions, condition, now)


def go_text(selector: LabelSelector | None) -> str:
    """Return a selector as Go prints it: so Kubernetes has it in an event."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {selector.match_labels[key]}," for key in sorted(selector.match_labels))
    expressions = "".join(map(_go_requirement, selector.match_expressions))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _go_requirement(each: LabelSelectorRequirement) -> str:
    values = " ".join(each.values)
    return f"LabelSelectorRequirement{{Key:{each.key},Operator:{each.operator},Values:[{values}],}},"


def stale_since(pod: Pod) -> datetime | None:
    """When a pod was marked for a disruption that did not come, if it may still be on its way."""
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget" and condition.status == "True":
            if condition.reason == "TerminationByKubelet":
                return None
            return condition.last_transition_time
    return None

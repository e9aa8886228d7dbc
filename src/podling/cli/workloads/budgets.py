"""PodDisruptionBudgets that allow no eviction. Pure.

Upstream: ``pkg/controller/disruption/disruption.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.core_v1 import Event, Pod
from podling.api.policy_v1 import PodDisruptionBudget
from podling.cli.evidence import Explanation, Source, event_source, one_line, plural, source_of_condition
from podling.controllers.workloads.disruption_rules import CONDITION

AREA = "budget"


def explain_budget(
    budget: PodDisruptionBudget, pods: Sequence[tuple[Pod, Explanation]], events: Sequence[Event]
) -> Explanation:
    """Return why no pod may be evicted. ``pods``: those it selects, with their explanations."""
    name = f"PodDisruptionBudget {budget.metadata.name}"
    return (
        _not_seen(budget, name)
        or _not_computed(budget, name, events)
        or _allows(budget, name)
        or _selects_none(budget, name)
        or _never(budget, name)
        or _under_way(budget, name)
        or _short(budget, name, pods)
    )


def _not_seen(budget: PodDisruptionBudget, name: str) -> Explanation | None:
    if budget.status.observed_generation >= (budget.metadata.generation or 0):
        return None
    text = f"{name} has not been looked at since its last change, and nothing is evicted until then."
    return _answer("NotObserved", text, "Look again in a moment.", ())


def _not_computed(budget: PodDisruptionBudget, name: str, events: Sequence[Event]) -> Explanation | None:
    found = next((each for each in budget.status.conditions if each.type == CONDITION), None)
    if found is None or found.reason != "SyncFailed":
        return None
    text = f"{name} allows nothing, because it could not be computed: {one_line(found.message)}."
    advice = (
        "A percentage and maxUnavailable need pods whose controller has a scale; with a number in "
        "minAvailable any pods will do."
    )
    recorded = [
        each for each in events if each.reason in ("CalculateExpectedPodCountFailed", "UnmanagedPods")
    ]
    return _answer(
        "SyncFailed", text, advice, (source_of_condition(found), *map(event_source, recorded[-1:]))
    )


def _allows(budget: PodDisruptionBudget, name: str) -> Explanation | None:
    status = budget.status
    if not status.disruptions_allowed:
        return None
    text = (
        f"Nothing is wrong: {name} allows {plural(status.disruptions_allowed, 'eviction')} now: "
        f"{plural(status.current_healthy, 'healthy pod')}, of which {status.desired_healthy} must stay."
    )
    return Explanation(healthy=True, area="none", reason="SufficientPods", text=text)


def _selects_none(budget: PodDisruptionBudget, name: str) -> Explanation | None:
    if budget.status.expected_pods:
        return None
    text = f"{name} selects no pods, so it neither protects any nor holds up an eviction."
    advice = (
        f"Compare its selector with the pods: kubectl get pods --show-labels -n {budget.metadata.namespace}"
    )
    return _answer("NoPods", text, advice, (_status(budget, "expectedPods"),))


def _never(budget: PodDisruptionBudget, name: str) -> Explanation | None:
    """It wants at least as many healthy pods as there are to be: no eviction will ever be allowed."""
    status = budget.status
    if status.desired_healthy < status.expected_pods:
        return None
    text = (
        f"{name} allows no eviction, even with all pods healthy: {status.desired_healthy} of "
        f"{status.expected_pods} must stay."
    )
    advice = "Lower minAvailable or raise maxUnavailable, or run more pods."
    return _answer("InsufficientPods", text, advice, (_status(budget, "desiredHealthy"),))


def _under_way(budget: PodDisruptionBudget, name: str) -> Explanation | None:
    promised = sorted(budget.status.disrupted_pods)
    if not promised or budget.status.current_healthy + len(promised) <= budget.status.desired_healthy:
        return None
    text = f"{name} allows no eviction now, because of those that it has allowed: {', '.join(promised)}."
    advice = "Wait until the pods are gone; what does not go within two minutes counts as healthy again."
    return _answer("InsufficientPods", text, advice, (_status(budget, "disruptedPods"),))


def _short(budget: PodDisruptionBudget, name: str, pods: Sequence[tuple[Pod, Explanation]]) -> Explanation:
    status = budget.status
    text = (
        f"{name} allows no eviction now: {status.current_healthy} pods are healthy, "
        f"{status.desired_healthy} of {status.expected_pods} must stay."
    )
    evidence: tuple[Source, ...] = (_status(budget, "currentHealthy"),)
    ill = [(pod, answer) for pod, answer in pods if not answer.healthy]
    if not ill:
        return _answer("InsufficientPods", text, "Wait until more pods are Ready.", evidence)
    pod, answer = ill[0]
    text += f" One that is not is {pod.metadata.name}: {answer.text}"
    advice = answer.advice
    if budget.spec.unhealthy_pod_eviction_policy != "AlwaysAllow":
        advice += (
            " With unhealthyPodEvictionPolicy AlwaysAllow a pod that is not Ready can be evicted at any time."
        )
    return _answer("InsufficientPods", text, advice.strip(), evidence + answer.evidence)


def _status(budget: PodDisruptionBudget, field: str) -> Source:
    values = {
        "expectedPods": budget.status.expected_pods,
        "desiredHealthy": budget.status.desired_healthy,
        "currentHealthy": budget.status.current_healthy,
        "disruptedPods": len(budget.status.disrupted_pods),
    }
    return Source(kind="status", name=f"status.{field}", detail=str(values[field]))


def _answer(reason: str, text: str, advice: str, evidence: tuple[Source, ...]) -> Explanation:
    return Explanation(area=AREA, reason=reason, text=text, advice=advice, evidence=evidence)

"""Explanations of PodUnavailableBudgets for ``podling why``. Pure, but for the collecting of facts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from podling.api.core_v1 import Event, Pod
from podling.extensions.explanations import Explanation, Question, Source
from podling_kruise.podunavailablebudget.protection import (
    budget_name,
    is_available,
    is_exempt,
    protected_operations,
)
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget

AREA = "budget"


class Facts(Struct, frozen=True):
    """A budget, its pods that are not available with the answers for them, and its events."""

    budget: PodUnavailableBudget
    ill: Sequence[tuple[Pod, Explanation]]
    events: Sequence[Event]

    @property
    def name(self) -> str:
        return f"PodUnavailableBudget {self.budget.metadata.name}"


async def explain(question: Question) -> Explanation:
    """Return the answer for a budget. Raises ``ApiError``."""
    budget = await question.client.get(PodUnavailableBudget, question.name, question.namespace)
    listed = (await question.client.list(Pod, question.namespace)).items
    pods = [pod for pod in listed if budget_name(pod) == question.name]
    ill = [(pod, await question.of_pod(pod)) for pod in pods if not is_available(pod)]
    return explain_budget(Facts(budget, ill, await question.events(budget)))


def explain_budget(facts: Facts) -> Explanation:
    """Return what the budget allows now, and why not more."""
    return next(found for ask in QUESTIONS if (found := ask(facts)) is not None)


def _not_seen(facts: Facts) -> Explanation | None:
    if facts.budget.status.observed_generation >= (facts.budget.metadata.generation or 0):
        return None
    text = (
        f"{facts.name} has changed, and its controller has not seen it yet: it protects no pod as it should."
    )
    advice = "Look again in a moment. If that does not help, the controllers of the cluster do not run."
    return _answer("NotObserved", text, advice, Source(kind="status", name="status.observedGeneration"))


def _not_computed(facts: Facts) -> Explanation | None:
    event = next(
        (each for each in reversed(facts.events) if each.reason == "CalculateExpectedPodCountFailed"), None
    )
    if event is None or facts.budget.status.desired_available:
        return None
    source = Source(kind="event", name=event.reason, detail=event.message, last=event.last_timestamp)
    text = f"{facts.name} has no numbers: {event.message}."
    return _answer("CalculateExpectedPodCountFailed", text, "Correct the amount in its spec.", source)


def _selects_none(facts: Facts) -> Explanation | None:
    status, spec = facts.budget.status, facts.budget.spec
    if status.total_replicas or status.current_available or facts.ill:
        return None
    field = "targetRef" if spec.target_ref is not None else "selector"
    text = f"{facts.name} protects nothing: it has no pods that a workload wants."
    advice = (
        f"Compare spec.{field} with the pods, or set spec.protectTotalReplicas for pods without a workload."
    )
    return _answer("NoPods", text, advice, Source(kind="spec", name=f"spec.{field}"))


def _allows(facts: Facts) -> Explanation | None:
    status = facts.budget.status
    counts = f"{status.current_available} of {status.total_replicas} pods are available, "
    counts += f"{status.desired_available} must be"
    if not status.desired_available:
        text = f"Nothing is wrong: {facts.name} lets every pod go: {counts}."
    elif status.unavailable_allowed:
        may = f"{status.unavailable_allowed} may become unavailable now"
        text = f"Nothing is wrong: {facts.name}: {counts}; {may}."
    else:
        return None
    return Explanation(healthy=True, area="none", reason="Ready", text=text)


def _never(facts: Facts) -> Explanation | None:
    status = facts.budget.status
    if status.desired_available < status.total_replicas:
        return None
    operations = ", ".join(protected_operations(facts.budget))
    text = f"{facts.name} never allows an operation ({operations}): {status.desired_available} of "
    text += f"{status.total_replicas} pods must be available."
    advice = "Raise spec.maxUnavailable or lower spec.minAvailable, or add replicas."
    field = "maxUnavailable" if facts.budget.spec.max_unavailable is not None else "minAvailable"
    return _answer("NeverAllows", text, advice, Source(kind="spec", name=f"spec.{field}"))


def _under_way(facts: Facts) -> Explanation | None:
    status = facts.budget.status
    records = {"disruptedPods": status.disrupted_pods, "unavailablePods": status.unavailable_pods}
    found = [(field, name) for field, names in records.items() for name in names]
    if not found:
        return None
    names = ", ".join(name for _, name in found)
    text = f"{facts.name} allows nothing now, as it was just spent for {names}."
    advice = "Wait until these pods are available again, or their successors are."
    sources = [Source(kind="status", name=f"status.{field}", detail=name) for field, name in found]
    return _answer("Spent", text, advice, *sources)


def _short(facts: Facts) -> Explanation:
    status = facts.budget.status
    text = f"{facts.name} allows nothing: {status.current_available} of {status.total_replicas} pods are "
    text += f"available, and {status.desired_available} must be."
    source = Source(kind="status", name="status.currentAvailable", detail=str(status.current_available))
    troubled = [(pod, answer) for pod, answer in facts.ill if not answer.healthy]
    if not troubled:
        waiting = ", ".join(pod.metadata.name or "" for pod, _ in facts.ill if is_exempt(pod))
        more = f" Not available: {waiting}." if waiting else ""
        return _answer("InsufficientPods", text + more, "Wait until more pods are available.", source)
    pod, answer = troubled[0]
    text = f"{text} One that is not is {pod.metadata.name}: {answer.text}"
    return _answer("InsufficientPods", text, answer.advice, source, *answer.evidence)


def _answer(reason: str, text: str, advice: str, *evidence: Source) -> Explanation:
    return Explanation(area=AREA, reason=reason, text=text, advice=advice, evidence=evidence)


QUESTIONS = (_not_seen, _not_computed, _selects_none, _allows, _never, _under_way, _short)

"""Pieces of the answers of ``podling why`` that several kinds share. Pure, but for the collecting of pods."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from podling.api.core_v1 import Event, Pod
from podling.client.base import ApiObject
from podling.controllers.owner_references import controller_of
from podling.extensions.explanations import Explanation, Question, Source

Explained = tuple[Pod, Explanation]


async def owned_pods(question: Question, owner: ApiObject) -> Sequence[Explained]:
    """Return the pods of an owner that are not being deleted, with the answers for them."""
    found = []
    for pod in (await question.client.list(Pod, question.namespace)).items:
        reference = controller_of(pod)
        if reference is None or reference.uid != owner.metadata.uid or pod.metadata.deletion_timestamp:
            continue
        found.append((pod, await question.of_pod(pod)))
    return found


def last_event(events: Sequence[Event], *reasons: str) -> Event | None:
    """Return the newest event with one of the reasons; ``events`` are in the order of time."""
    return next((each for each in reversed(events) if each.reason in reasons), None)


def answer(reason: str, text: str, advice: str = "", *evidence: Source) -> Explanation:
    return Explanation(area="workload", reason=reason, text=text, advice=advice, evidence=evidence)


def not_observed(owner: ApiObject, observed_generation: int, name: str) -> Explanation | None:
    """Return the answer for an object whose controller has not seen its last change; None if it has."""
    if observed_generation >= (owner.metadata.generation or 0):
        return None
    text = f"{name} has changed, and its controller has not seen it yet."
    source = Source(kind="status", name="status.observedGeneration")
    return answer("NotObserved", text, "Look again in a moment.", source)


def well(reason: str, text: str, *evidence: Source) -> Explanation:
    text = f"Nothing is wrong: {text}"
    return Explanation(healthy=True, area="none", reason=reason, text=text, evidence=evidence)


def troubled(head: str, pods: Sequence[Explained]) -> Explanation | None:
    """Return the answer for the first pod with a problem; None if all are well."""
    ill = [(pod, found) for pod, found in pods if not found.healthy]
    if not ill:
        return None
    pod, found = ill[0]
    return structs.replace(
        found,
        text=f"{head}: {len(ill)} of {len(pods)} pods have a problem. "
        f"One is {pod.metadata.name}: {found.text}",
    )

"""Explanations of SidecarSets for ``podling why``. Pure, but for the collecting of facts.

The causes are checked in this order: pods without the sidecars, pods with a problem of their own, sidecars
that still run with an earlier image, and then what holds the update back.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from podling.api.core_v1 import Namespace, Pod
from podling.controllers.pod_state import is_active
from podling.extensions.explanations import Explanation, Question, Source
from podling.machinery.selectors import readable_selector
from podling_kruise.explaining import Explained, answer, not_observed, troubled, well
from podling_kruise.sidecarset.pod_state import (
    can_update,
    is_consistent,
    is_managed,
    is_updated,
)
from podling_kruise.sidecarset.types import SidecarSet
from podling_kruise.sidecarset.update_plan import next_pods

STRATEGY = "spec.updateStrategy"


class Facts(Struct, frozen=True):
    """A SidecarSet, its pods with the answers for them, and pods that match and have not its sidecars."""

    owner: SidecarSet
    pods: Sequence[Explained]
    without: Sequence[Pod]

    @property
    def name(self) -> str:
        return f"SidecarSet {self.owner.metadata.name}"

    @property
    def old(self) -> list[Pod]:
        return [pod for pod, _ in self.pods if not is_updated(self.owner, pod)]

    @property
    def counts(self) -> str:
        return f"{len(self.pods) - len(self.old)} of {len(self.pods)} pods have its newest sidecars"


async def explain(question: Question) -> Explanation:
    """Return the answer for a SidecarSet. Raises ``ApiError``."""
    owner = await question.client.get(SidecarSet, question.name)
    namespaces = (await question.client.list(Namespace)).items
    places = readable_selector(owner.spec.namespace_selector)
    chosen = {
        each.metadata.name
        for each in namespaces
        if owner.spec.namespace_selector is None or (places and places.matches(each.metadata.labels))
    }
    selector = readable_selector(owner.spec.selector)
    pods = [
        pod
        for pod in (await question.client.list(Pod)).items
        if is_active(pod)
        and pod.metadata.namespace in chosen
        and selector is not None
        and selector.matches(pod.metadata.labels)
    ]
    managed = [(pod, await question.of_pod(pod)) for pod in pods if is_managed(owner, pod)]
    return explain_set(Facts(owner, managed, [pod for pod in pods if not is_managed(owner, pod)]))


def explain_set(facts: Facts) -> Explanation:
    """Return why the pods have not the sidecars that they are to have."""
    return next(found for ask in QUESTIONS if (found := ask(facts)) is not None)


def _not_seen(facts: Facts) -> Explanation | None:
    return not_observed(facts.owner, facts.owner.status.observed_generation, facts.name)


def _selects_none(facts: Facts) -> Explanation | None:
    if facts.pods or facts.without:
        return None
    text = f"{facts.name} selects no pod that runs."
    source = Source(kind="spec", name="spec.selector")
    advice = "Compare spec.selector and spec.namespaceSelector with the pods and their namespaces."
    return answer("NoPods", text, advice, source)


def _not_injected(facts: Facts) -> Explanation | None:
    if not facts.without:
        return None
    found = [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in facts.without]
    text = f"{facts.name}: {len(found)} pods that it selects do not have its sidecars, as {found[0]}: "
    if facts.owner.spec.injection_strategy.paused:
        field = Source(kind="spec", name="spec.injectionStrategy.paused", detail="true")
        advice = "Set spec.injectionStrategy.paused to false, and create the pods again."
        return answer("InjectionPaused", f"{text}injection is paused.", advice, field)
    text += "only new pods get them, and these were created before it selected them."
    return answer("NotInjected", text, "Create the pods again: kubectl rollout restart.")


def _troubled(facts: Facts) -> Explanation | None:
    return troubled(facts.name, facts.pods)


def _unchanged(facts: Facts) -> Explanation | None:
    """Return that a pod with the newest sidecars still runs an earlier image."""
    owner = facts.owner
    found = next(
        (pod for pod, _ in facts.pods if is_updated(owner, pod) and not is_consistent(owner, pod)), None
    )
    if found is None:
        return None
    text = f"{facts.name}: {facts.counts}. Pod {found.metadata.name} does not run the new images yet."
    return answer("Updating", text, "Look again in a moment, or at the pod's events.")


def _held_back(facts: Facts) -> Explanation | None:
    owner, old = facts.owner, facts.old
    strategy = owner.spec.update_strategy
    if not old:
        return None
    if strategy.leaves_pods:
        field = Source(kind="spec", name=f"{STRATEGY}.type", detail=strategy.type)
        return well(strategy.type, f"{facts.name} leaves living pods as they are: {facts.counts}.", field)
    if strategy.paused:
        field = Source(kind="spec", name=f"{STRATEGY}.paused", detail="true")
        text = f"{facts.name} is paused: {facts.counts}."
        return answer("Paused", text, f"Set {STRATEGY}.paused to false.", field)
    fixed = [pod for pod in old if not can_update(owner, pod)]
    if fixed:
        text = f"{facts.name}: {facts.counts}. {len(fixed)} cannot be updated in place, as "
        text += f"{fixed[0].metadata.name}: more than images has changed."
        return answer("NotUpgradablePods", text, "Create these pods again: kubectl rollout restart.")
    return _limited(facts, old)


def _limited(facts: Facts, old: Sequence[Pod]) -> Explanation:
    strategy = facts.owner.spec.update_strategy
    selector = readable_selector(strategy.selector)
    selected = [pod for pod in old if selector is None or selector.matches(pod.metadata.labels)]
    if strategy.selector is not None and not selected:
        field = Source(kind="spec", name=f"{STRATEGY}.selector")
        return well("Selector", f"{facts.name} has updated the pods that it selects: {facts.counts}.", field)
    if next_pods(facts.owner, [pod for pod, _ in facts.pods]).chosen:
        return answer(
            "Updating", f"{facts.name} is being updated: {facts.counts}.", "Look again in a moment."
        )
    if strategy.partition:
        field = Source(kind="spec", name=f"{STRATEGY}.partition", detail=str(strategy.partition))
        return well("Partition", f"{facts.name} keeps its partition: {facts.counts}.", field)
    limit = 1 if strategy.max_unavailable is None else strategy.max_unavailable
    field = Source(kind="spec", name=f"{STRATEGY}.maxUnavailable", detail=str(limit))
    text = f"{facts.name}: {facts.counts}. The next pod waits until updated ones are ready: "
    advice = f"Wait, or raise {STRATEGY}.maxUnavailable."
    return answer("MaxUnavailable", f"{text}maxUnavailable allows {limit}.", advice, field)


def _well(facts: Facts) -> Explanation:
    return well("Ready", f"{facts.name}: {facts.counts}.")


QUESTIONS = (
    _not_seen,
    _selects_none,
    _not_injected,
    _troubled,
    _unchanged,
    _held_back,
    _well,
)

"""Explanations of VerticalPodAutoscalers for ``podling why``. Pure, but for the collecting of facts.

The causes are checked in the order of the work: the target is usable, has pods, there is a recommendation,
the update mode lets it reach living pods, a resize or an eviction is possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec import Struct

from podling.api.core_v1 import LimitRange, Pod
from podling.controllers.owner_references import controller_of
from podling.extensions.explanations import Explanation, Question, Source
from podling.machinery.conditions import find, is_true
from podling_vpa.capping import processed
from podling_vpa.limit_ranges import NamespaceLimits, namespace_limits
from podling_vpa.names import (
    IN_PLACE,
    IN_PLACE_OR_RECREATE,
    INITIAL,
    NO_PODS,
    OFF,
    PROVIDED,
    UNSUPPORTED,
)
from podling_vpa.target_readers import read_namespace
from podling_vpa.targets import NoTarget, Targets
from podling_vpa.types import VerticalPodAutoscaler
from podling_vpa.updater.disruption import PENDING, creator_of
from podling_vpa.updater.priority import Candidate, candidate, meets
from podling_vpa.updater.settings import DEFAULT_SETTINGS

FIRST_ROUND = timedelta(minutes=2)
AREA = "autoscaler"


class Facts(Struct, frozen=True):
    """An autoscaler, the living pods of its target, and the bounds of its namespace."""

    autoscaler: VerticalPodAutoscaler
    pods: Sequence[Pod]
    limits: NamespaceLimits
    now: datetime

    @property
    def name(self) -> str:
        return f"VerticalPodAutoscaler {self.autoscaler.metadata.name}"

    @property
    def target(self) -> str:
        reference = self.autoscaler.spec.target_ref
        return f"{reference.kind.lower()}/{reference.name}" if reference is not None else "its target"


async def explain(question: Question) -> Explanation:
    """Return the answer for an autoscaler. Raises ``ApiError``."""
    client, namespace = question.client, question.namespace
    autoscaler = await client.get(VerticalPodAutoscaler, question.name, namespace)
    ranges = (await client.list(LimitRange, namespace)).items
    targets = Targets(await read_namespace(client, namespace))
    pods: list[Pod] = []
    # The conditions report a target that does not exist.
    with suppress(NoTarget):
        selector = await targets.selector(namespace, autoscaler.spec.target_ref)
        listed = (await client.list(Pod, namespace)).items
        pods = [pod for pod in listed if selector.matches(pod.metadata.labels) and _is_living(pod)]
    facts = Facts(autoscaler, pods, namespace_limits(ranges), question.now)
    return explain_autoscaler(facts)


def _is_living(pod: Pod) -> bool:
    is_over = pod.status.phase in ("Succeeded", "Failed") or pod.metadata.deletion_timestamp is not None
    return controller_of(pod) is not None and not is_over


def explain_autoscaler(facts: Facts) -> Explanation:
    """Return why pods do not have the recommended resources, or that they have."""
    return next(found for ask in QUESTIONS if (found := ask(facts)) is not None)


def _not_seen(facts: Facts) -> Explanation | None:
    if facts.autoscaler.status.conditions:
        return None
    created = facts.autoscaler.metadata.creation_timestamp or facts.now
    advice = "Look again in a moment."
    if facts.now - created > FIRST_ROUND:
        advice = "See whether vpa-recommender runs: podling status; podling up --controllers."
    chosen = [each.name for each in facts.autoscaler.spec.recommenders]
    if chosen and chosen != ["default"]:
        advice = f"It is for the recommender {chosen[0]}: run that, or remove spec.recommenders."
    text = f"{facts.name} has no recommendation yet; recommendations are computed once a minute."
    return _answer(
        "NotObserved", text, advice, Source(kind="status", name="status.conditions", detail="none")
    )


def _unsupported(facts: Facts) -> Explanation | None:
    found = find(facts.autoscaler.status.conditions, UNSUPPORTED)
    if found is None or found.status != "True":
        return None
    text = f"{facts.name} recommends nothing, as its target cannot be used: {found.message}."
    if "parent controller" in found.message:
        advice = "Name the controller above it in spec.targetRef: the Deployment of a ReplicaSet."
    elif "does not exist" in found.message or "not found" in found.message:
        advice = f"Create {facts.target}, or correct spec.targetRef."
    else:
        advice = "Correct spec.targetRef (kind and apiVersion): its kind has no scale."
    return _answer(UNSUPPORTED, text, advice, _condition(UNSUPPORTED, "True", found.message))


def _without_pods(facts: Facts) -> Explanation | None:
    found = find(facts.autoscaler.status.conditions, NO_PODS)
    if found is None or found.status != "True" or facts.pods:
        return None
    held = " The recommendation is that of its checkpoints." if _is_provided(facts) else ""
    text = f"{facts.name} has no pods to look at: {facts.target} has none that run.{held}"
    advice = f"podling why {facts.target} -n {facts.autoscaler.metadata.namespace}"
    return _answer(NO_PODS, text, advice, _condition(NO_PODS, "True", found.message))


def _without_recommendation(facts: Facts) -> Explanation | None:
    if _is_provided(facts):
        return None
    policy = facts.autoscaler.spec.resource_policy
    policies = policy.container_policies if policy is not None else ()
    off = [each.container_name for each in policies if each.mode == OFF]
    if off:
        text = f"{facts.name} recommends nothing: its policies exclude containers ({', '.join(off)})."
        source = Source(kind="spec", name="spec.resourcePolicy.containerPolicies", detail="mode: Off")
        return _answer(PROVIDED, text, "Remove mode: Off of a container that is to be scaled.", source)
    text = f"{facts.name} has no recommendation yet: there are no metrics of its pods."
    advice = f"kubectl top pod -n {facts.autoscaler.metadata.namespace}; podling why {facts.target}"
    return _answer(PROVIDED, text, advice, _condition(PROVIDED, "False", ""))


def _is_provided(facts: Facts) -> bool:
    return is_true(facts.autoscaler.status.conditions, PROVIDED)


def _waiting(facts: Facts) -> Explanation | None:
    """Pods that need an update, and what holds it back."""
    waiting = _candidates(facts)
    if not waiting:
        return None
    mode, pod = facts.autoscaler.update_mode, waiting[0].pod
    state = f"{facts.name}: {len(waiting)} of {len(facts.pods)} pods differ from the recommendation"
    if mode in (OFF, INITIAL):
        change = "the mode Off changes no pods" if mode == OFF else "the mode Initial changes new pods only"
        text = f"Nothing is wrong: {state}, and {change}."
        source = Source(kind="spec", name="spec.updatePolicy.updateMode", detail=mode)
        return Explanation(healthy=True, area="none", reason=mode, text=text, evidence=(source,))
    return (
        _too_few(facts, pod, state)
        or _not_met(facts, waiting, state)
        or _resize_pending(facts, waiting, state)
        or _in_turn(facts, state)
    )


def _candidates(facts: Facts) -> list[Candidate]:
    found = []
    for pod in facts.pods:
        wanted = processed(facts.autoscaler, pod, facts.limits)
        if wanted is not None:
            args = (pod, facts.autoscaler, wanted.recommendation, DEFAULT_SETTINGS, facts.now)
            each = candidate(*args)
            if each is not None:
                found.append(each)
    return found


def _too_few(facts: Facts, pod: Pod, state: str) -> Explanation | None:
    policy = facts.autoscaler.spec.update_policy
    own = policy.min_replicas if policy is not None else None
    least = own if own is not None else DEFAULT_SETTINGS.min_replicas
    there = sum(creator_of(each) == creator_of(pod) for each in facts.pods)
    if there >= least:
        return None
    text = f"{state}, but the updater changes no controller's of fewer than {least} pods: it has {there}."
    patch = """'{"spec":{"updatePolicy":{"minReplicas":1}}}'"""
    metadata = facts.autoscaler.metadata
    command = f"kubectl patch vpa {metadata.name} -n {metadata.namespace} --type merge -p {patch}"
    source = Source(kind="spec", name="spec.updatePolicy.minReplicas", detail=str(least))
    return _answer("MinReplicas", text, f"Scale {facts.target}, or allow it: {command}", source)


def _not_met(facts: Facts, waiting: Sequence[Candidate], state: str) -> Explanation | None:
    policy = facts.autoscaler.spec.update_policy
    requirements = policy.eviction_requirements if policy is not None else ()
    if any(meets(each.pod, each.recommendation, requirements) for each in waiting):
        return None
    wanted = "; ".join(f"{each.change_requirement} of {', '.join(each.resources)}" for each in requirements)
    reason = "EvictionRequirements"
    text = f"Nothing is wrong: {state}, and the requirements for an eviction do not hold ({wanted})."
    source = Source(kind="spec", name="spec.updatePolicy.evictionRequirements", detail=wanted)
    return Explanation(healthy=True, area="none", reason=reason, text=text, evidence=(source,))


def _resize_pending(facts: Facts, waiting: Sequence[Candidate], state: str) -> Explanation | None:
    if facts.autoscaler.update_mode not in (IN_PLACE, IN_PLACE_OR_RECREATE):
        return None
    for each in waiting:
        found = find(each.pod.status.conditions, PENDING)
        if found is not None and found.status == "True":
            text = f"{state}. The resize of pod {each.pod.metadata.name} is {found.reason}: {found.message}."
            advice = "Make room on its node, or lower maxAllowed."
            if facts.autoscaler.update_mode == IN_PLACE_OR_RECREATE:
                advice += " The updater evicts the pod if that takes too long."
            source = Source(kind="condition", name=PENDING, detail=f"True ({found.reason}: {found.message})")
            return _answer(found.reason or PENDING, text, advice, source)
    return None


def _in_turn(facts: Facts, state: str) -> Explanation:
    text = (
        f"{state}. The updater changes them in turn, once a minute, and half of a controller's pods at most."
    )
    advice = "Look again in a moment. If nothing changes, a PodDisruptionBudget may refuse evictions: "
    advice += f"kubectl get pdb -n {facts.autoscaler.metadata.namespace}"
    return _answer("InTurn", text, advice)


def _well(facts: Facts) -> Explanation:
    found = facts.autoscaler.status.recommendation
    targets: list[str] = []
    capped: list[str] = []
    for each in found.container_recommendations if found is not None else ():
        amounts = ", ".join(f"{name} {text}" for name, text in sorted(each.wanted.items()))
        targets.append(f"{each.container_name}: {amounts}")
        capped += _capped(each.container_name, each.wanted, each.uncapped_target)
    text = f"Nothing is wrong: {facts.name} recommends {'; '.join(targets)}. Its pods need no change now."
    if capped:
        text += f" The resource policy changes what is needed: {'; '.join(capped)}."
    return Explanation(healthy=True, area="none", reason="Recommended", text=text)


def _capped(container: str, target: Mapping[str, str], uncapped: Mapping[str, str]) -> list[str]:
    return [
        f"{container} {name} {uncapped[name]} to {text}"
        for name, text in sorted(target.items())
        if uncapped.get(name, text) != text
    ]


def _answer(reason: str, text: str, advice: str, *evidence: Source) -> Explanation:
    return Explanation(area=AREA, reason=reason, text=text, advice=advice, evidence=evidence)


def _condition(name: str, status: str, message: str) -> Source:
    return Source(kind="condition", name=name, detail=f"{status} ({message})" if message else status)


QUESTIONS = (_not_seen, _unsupported, _without_pods, _without_recommendation, _waiting, _well)

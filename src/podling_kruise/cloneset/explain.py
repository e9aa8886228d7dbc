"""Explanations of CloneSets for ``podling why``. Pure, but for the collecting of facts.

The causes are checked in the order in which a CloneSet meets them: its pods are not let in, an update in
place stands still, a lifecycle hook holds a pod, a pod has a problem of its own, the update is held back by
its strategy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct, structs

from podling.api.core_v1 import Event, Pod
from podling.controllers.owner_references import controller_of
from podling.extensions.explanations import Explanation, Question, Source
from podling.machinery.conditions import find
from podling.machinery.pods import is_ready
from podling_kruise.cloneset.scale_plan import differences, is_pod_available
from podling_kruise.cloneset.status_rules import EXCEEDED, FAILED_SCALE, FAILED_UPDATE, PROGRESSING
from podling_kruise.cloneset.types import ON_DELETE, CloneSet
from podling_kruise.inplace.explain import explain_update
from podling_kruise.lifecycle import (
    PREPARING_DELETE,
    PREPARING_NORMAL,
    PREPARING_UPDATE,
    UPDATED,
    is_of_revision,
    state_of,
)
from podling_kruise.names import FEATURE_GATES

Explained = tuple[Pod, Explanation]

COMBINED = "(combined from similar events): "


class Facts(Struct, frozen=True):
    """A CloneSet, its pods that are not being deleted with the answers for them, and its events."""

    owner: CloneSet
    pods: Sequence[Explained]
    events: Sequence[Event]
    now: datetime

    @property
    def name(self) -> str:
        return f"CloneSet {self.owner.metadata.name}"

    @property
    def old(self) -> list[Pod]:
        """The pods that are not of the update revision."""
        revision = self.owner.status.update_revision
        return [pod for pod, _ in self.pods if not is_of_revision(pod, revision)]


async def explain(question: Question) -> Explanation:
    """Return the answer for a CloneSet. Raises ``ApiError``."""
    owner = await question.client.get(CloneSet, question.name, question.namespace)
    listed = (await question.client.list(Pod, question.namespace)).items
    pods = [pod for pod in listed if _is_owned(pod, owner) and pod.metadata.deletion_timestamp is None]
    explained = [(pod, await question.of_pod(pod)) for pod in pods]
    return explain_clone_set(Facts(owner, explained, await question.events(owner), question.now))


def _is_owned(pod: Pod, owner: CloneSet) -> bool:
    reference = controller_of(pod)
    return reference is not None and reference.uid == owner.metadata.uid


def explain_clone_set(facts: Facts) -> Explanation:
    """Return why the CloneSet has not the pods that it is to have."""
    answer = next((found for ask in QUESTIONS if (found := ask(facts)) is not None), None)
    return _with_deadline(facts, answer) if answer is not None else _well(facts)


def _refused(facts: Facts) -> Explanation | None:
    """Pods that the API server did not let in."""
    failed = next((each for each in reversed(facts.events) if each.reason == "FailedCreate"), None)
    if failed is None or len(facts.pods) >= facts.owner.spec.wanted:
        return None
    message = (failed.message or "").removeprefix(COMBINED).partition(", pod: {")[0]
    text = f"{facts.name} has {len(facts.pods)} of {facts.owner.spec.wanted} pods: {message}."
    advice = "Change the pod template, or what refuses the pods; the message names it."
    source = Source(kind="event", name="FailedCreate", detail=message, last=failed.last_timestamp)
    return _answer("FailedCreate", text, advice, source)


def _updating(facts: Facts) -> Explanation | None:
    """An update in place that is not complete."""
    for pod, answer in facts.pods:
        found = explain_update(pod, answer, facts.now)
        if found is not None:
            updated = f"{len(facts.pods) - len(facts.old)} of {facts.owner.spec.wanted} pods are updated"
            return structs.replace(found, text=f"{facts.name}: {updated}. {found.text}")
    return None


_HELD = {
    PREPARING_UPDATE: ("in_place_update", "its update in place"),
    PREPARING_DELETE: ("pre_delete", "its deletion"),
    UPDATED: ("in_place_update", "the end of its update in place"),
    PREPARING_NORMAL: ("pre_normal", "its entry into service"),
}
"""The hook that a lifecycle state waits for, and what comes after it."""


def _hooked(facts: Facts) -> Explanation | None:
    """A pod that a lifecycle hook holds."""
    lifecycle = facts.owner.spec.lifecycle
    for pod, _ in facts.pods:
        state = state_of(pod)
        field, what = _HELD.get(state, ("", ""))
        hook = getattr(lifecycle, field) if field and lifecycle is not None else None
        if hook is None:
            continue
        labels = [f"{key}={value}" for key, value in hook.labels_handler.items()]
        marks = ", ".join((*(f"label {each}" for each in labels), *_finalizers(hook.finalizers_handler)))
        waits = state in (PREPARING_UPDATE, PREPARING_DELETE)
        verb = f"keeps {marks}" if waits else f"has not {marks} yet"
        text = f"{facts.name}: pod {pod.metadata.name} is in state {state}: it {verb}, so {what} waits."
        do = "removes them from" if waits else "puts them on"
        advice = f"The component that the hook is for {do} the pod; see whether it runs."
        return _answer(state, text, advice, Source(kind="spec", name=f"spec.lifecycle.{_camel(field)}"))
    return None


def _finalizers(names: Sequence[str]) -> Iterator[str]:
    return (f"finalizer {each}" for each in names)


def _camel(field: str) -> str:
    head, *rest = field.split("_")
    return head + "".join(each.title() for each in rest)


def _failed(facts: Facts) -> Explanation | None:
    """The controller could not scale or update."""
    for kind in (FAILED_SCALE, FAILED_UPDATE):
        found = find(facts.owner.status.conditions, kind)
        if found is not None and found.status == "True" and (facts.old or len(facts.pods) != _wanted(facts)):
            text = f"{facts.name} could not be {'scaled' if kind == FAILED_SCALE else 'updated'}: "
            advice = ""
            if "InPlaceOnly" in found.message:
                advice = "Undo the change, or choose podUpdatePolicy InPlaceIfPossible or ReCreate."
            source = Source(kind="condition", name=kind, detail=f"True ({found.message})")
            return _answer(kind, f"{text}{found.message}.", advice, source)
    return None


def _wanted(facts: Facts) -> int:
    return facts.owner.spec.wanted


def _troubled(facts: Facts) -> Explanation | None:
    ill = [(pod, answer) for pod, answer in facts.pods if not answer.healthy]
    if not ill:
        return None
    ready = sum(is_ready(pod) for pod, _ in facts.pods)
    pod, answer = ill[0]
    others = f" ({len(ill)} are not)" if len(ill) > 1 else ""
    text = f"{facts.name} has {ready} of {_wanted(facts)} pods Ready. One that is not{others} is "
    return structs.replace(answer, text=f"{text}{pod.metadata.name}: {answer.text}")


def _held_back(facts: Facts) -> Explanation | None:
    """The strategy holds the update back."""
    owner, old = facts.owner, facts.old
    if not old:
        return None
    counts = f"{len(facts.pods) - len(old)} of {_wanted(facts)} pods are of its newest template"
    rolling, patch = owner.spec.rolling, f"kubectl patch cloneset {_arguments(owner)} --type merge -p "
    if owner.spec.update_strategy.type == ON_DELETE:
        text = f"{facts.name} updates pods only when they are deleted: {counts}."
        field = Source(kind="spec", name="spec.updateStrategy.type", detail=ON_DELETE)
        return _answer(ON_DELETE, text, "Delete the pods of the old template.", field)
    if rolling.paused:
        text = f"{facts.name} is paused: {counts}, and no more are updated."
        let = """'{"spec":{"updateStrategy":{"rollingUpdate":{"paused":false}}}}'"""
        field = Source(kind="spec", name="spec.updateStrategy.rollingUpdate.paused", detail="true")
        return _answer("Paused", text, f"Let it go on: {patch}{let}", field)
    pods = [pod for pod, _ in facts.pods]
    revisions = owner.status.current_revision, owner.status.update_revision
    found = differences(owner.spec, pods, revisions, FEATURE_GATES, facts.now)
    if not found.update_number:
        partition = Source(
            kind="spec", name="spec.updateStrategy.rollingUpdate.partition", detail=str(rolling.partition)
        )
        text = f"Nothing is wrong: {facts.name} has reached its partition of {rolling.partition}: {counts}; "
        text += f"{len(old)} keep the earlier one."
        return structs.replace(_answer("Partition", text, "", partition), healthy=True, area="none")
    seconds = owner.spec.min_ready_seconds
    missing = sum(not is_pod_available(pod, seconds, facts.now) for pod in pods)
    limit = found.update_max_unavailable
    if missing < limit:
        return None
    text = f"{facts.name}: {counts}. The next pod waits, as {missing} are not available now, and "
    text += f"maxUnavailable allows {limit}."
    advice = "Wait until they are available, or raise spec.updateStrategy.rollingUpdate.maxUnavailable."
    field = Source(kind="spec", name="spec.updateStrategy.rollingUpdate.maxUnavailable", detail=str(limit))
    return _answer("MaxUnavailable", text, advice, field)


def _arguments(owner: CloneSet) -> str:
    return f"{owner.metadata.name} -n {owner.metadata.namespace}"


def _with_deadline(facts: Facts, answer: Explanation) -> Explanation:
    """Add that the update takes longer than ``progressDeadlineSeconds``."""
    found = find(facts.owner.status.conditions, PROGRESSING)
    if found is None or found.reason != EXCEEDED:
        return answer
    source = Source(kind="condition", name=PROGRESSING, detail=f"False ({EXCEEDED}: {found.message})")
    text = f"{answer.text} It takes longer than progressDeadlineSeconds allows."
    return structs.replace(answer, text=text, evidence=(*answer.evidence, source))


def _well(facts: Facts) -> Explanation:
    count, needed, old = len(facts.pods), _wanted(facts), len(facts.old)
    if count == needed and not old:
        text = f"Nothing is wrong: {facts.name} has the {needed} pods that it is to have."
        return Explanation(healthy=True, area="none", reason="Ready", text=text)
    state = f"{count} of {needed} pods" + (f", {old} of them of an earlier template" if old else "")
    text = f"{facts.name} has {state}, and nothing that was recorded says why."
    advice = f"Look again in a moment, or: kubectl describe cloneset {_arguments(facts.owner)}"
    return _with_deadline(facts, _answer("NotProgressing", text, advice))


def _answer(reason: str, text: str, advice: str, *evidence: Source) -> Explanation:
    return Explanation(area="workload", reason=reason, text=text, advice=advice, evidence=evidence)


QUESTIONS = (_refused, _updating, _hooked, _failed, _troubled, _held_back)

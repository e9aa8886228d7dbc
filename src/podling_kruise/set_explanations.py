"""Explanations of Advanced StatefulSets for ``podling why``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import structs

from podling.extensions.explanations import Explanation, Question, Source
from podling_kruise.explaining import Explained, answer, owned_pods, troubled, well
from podling_kruise.inplace.explain import explain_update
from podling_kruise.lifecycle import is_of_revision
from podling_kruise.policies import ON_DELETE
from podling_kruise.statefulset.types import StatefulSet


async def explain_stateful_set(question: Question) -> Explanation:
    """Return the answer for an Advanced StatefulSet. Raises ``ApiError``."""
    owner = await question.client.get(StatefulSet, question.name, question.namespace)
    return explain_set(owner, owner.spec.wanted, await owned_pods(question, owner), question.now)


def explain_set(owner: StatefulSet, wanted: int, pods: Sequence[Explained], now: datetime) -> Explanation:
    """Return why the set has not the pods that it is to have: the pods first, then the strategy."""
    name = f"StatefulSet {owner.metadata.name}"
    revision = owner.status.update_revision
    old = [pod for pod, _ in pods if not is_of_revision(pod, revision)]
    counts = f"{len(pods) - len(old)} of {wanted} pods are of its newest template"
    for pod, found in pods:
        update = explain_update(pod, found, now)
        if update is not None:
            return structs.replace(update, text=f"{name}: {counts}. {update.text}")
    ill = troubled(name, pods)
    if ill is not None:
        return ill
    if old:
        return _held_back(owner, name, counts)
    if len(pods) != wanted:
        text = f"{name} has {len(pods)} of {wanted} pods, and nothing that was recorded says why."
        return answer("NotProgressing", text, "Look again in a moment, or at its events.")
    return well("Ready", f"{name} has the {wanted} pods that it is to have.")


def _held_back(owner: StatefulSet, name: str, counts: str) -> Explanation:
    strategy = owner.spec.update_strategy
    rolling = strategy.rolling_update
    if strategy.type == ON_DELETE:
        field = Source(kind="spec", name="spec.updateStrategy.type", detail=ON_DELETE)
        text = f"{name} updates pods only when they are deleted: {counts}."
        return answer(ON_DELETE, text, "Delete the pods of the old template.", field)
    where = "spec.updateStrategy.rollingUpdate"
    if rolling is not None and rolling.paused:
        field = Source(kind="spec", name=f"{where}.paused", detail="true")
        return answer("Paused", f"{name} is paused: {counts}.", f"Set {where}.paused to false.", field)
    if rolling is not None and rolling.partition:
        field = Source(kind="spec", name=f"{where}.partition", detail=str(rolling.partition))
        return well("Partition", f"{name} keeps its partition of {rolling.partition}: {counts}.", field)
    return answer("Updating", f"{name} is being updated: {counts}.", "Look again in a moment.")

"""Explanations of Advanced DaemonSets for ``podling why``. Pure, but for the collecting of facts.

The causes are checked in this order: pods that are not let in, an update in place that stands still, a hook
that holds a pod, pods with a problem of their own, and then the strategy.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct, structs

from podling.api.core_v1 import Event, Node, Pod
from podling.controllers.workloads.daemonset_rules import by_node, counts_of, is_updated, node_of
from podling.controllers.workloads.daemonset_update_rules import max_unavailable
from podling.extensions.explanations import Explanation, Question, Source
from podling.machinery.selectors import readable_selector
from podling_kruise.daemonset.types import DaemonSet
from podling_kruise.daemonset.update_plan import desired_nodes, is_leaving, partition_of
from podling_kruise.explaining import Explained, answer, last_event, not_observed, owned_pods, troubled, well
from podling_kruise.inplace.explain import explain_update
from podling_kruise.policies import ON_DELETE

ROLLING = "spec.updateStrategy.rollingUpdate"


class Facts(Struct, frozen=True):
    """A DaemonSet, its pods that are not being deleted with the answers for them, nodes, and events."""

    owner: DaemonSet
    pods: Sequence[Explained]
    nodes: Sequence[Node]
    events: Sequence[Event]
    now: datetime

    @property
    def name(self) -> str:
        return f"DaemonSet {self.owner.metadata.name}"

    @property
    def wanted(self) -> int:
        """The number of nodes that are to have a pod."""
        return len(desired_nodes(self.owner, self.nodes))

    @property
    def have(self) -> int:
        """The number of nodes that have a pod."""
        return len({node_of(pod) for pod, _ in self.pods})

    @property
    def old(self) -> list[Pod]:
        revision = self.owner.status.update_revision
        return [pod for pod, _ in self.pods if not is_updated(self.owner, pod, revision)]

    @property
    def counts(self) -> str:
        return f"{len(self.pods) - len(self.old)} of {self.wanted} pods are of its newest template"


async def explain(question: Question) -> Explanation:
    """Return the answer for a DaemonSet. Raises ``ApiError``."""
    owner = await question.client.get(DaemonSet, question.name, question.namespace)
    pods = await owned_pods(question, owner)
    nodes = (await question.client.list(Node)).items
    return explain_set(Facts(owner, pods, nodes, await question.events(owner), question.now))


def explain_set(facts: Facts) -> Explanation:
    """Return why the nodes have not the pods that they are to have."""
    return next(found for ask in QUESTIONS if (found := ask(facts)) is not None)


def _not_seen(facts: Facts) -> Explanation | None:
    return not_observed(facts.owner, facts.owner.status.observed_generation, facts.name)


def _no_nodes(facts: Facts) -> Explanation | None:
    if facts.wanted or facts.pods:
        return None
    text = f"{facts.name} has no pods: none of {len(facts.nodes)} nodes fits its node selector, affinity and "
    return answer("NoNodes", f"{text}tolerations.", "Compare spec.template.spec with the nodes.")


def _refused(facts: Facts) -> Explanation | None:
    failed = last_event(facts.events, "FailedCreate")
    if failed is None or len(facts.pods) >= facts.wanted:
        return None
    source = Source(kind="event", name="FailedCreate", detail=failed.message, last=failed.last_timestamp)
    text = f"{facts.name} has pods on {len(facts.pods)} of {facts.wanted} nodes: {failed.message}."
    return answer("FailedCreate", text, "Change the pod template, or what refuses the pods.", source)


def _updating(facts: Facts) -> Explanation | None:
    for pod, of_pod in facts.pods:
        found = explain_update(pod, of_pod, facts.now)
        if found is not None:
            return structs.replace(found, text=f"{facts.name}: {facts.counts}. {found.text}")
    return None


def _hooked(facts: Facts) -> Explanation | None:
    held = next((pod for pod, _ in facts.pods if is_leaving(pod)), None)
    if held is None:
        return None
    text = f"{facts.name}: pod {held.metadata.name} is in state PreparingDelete: its hook preDelete holds it."
    source = Source(kind="spec", name="spec.lifecycle.preDelete")
    advice = "The component that the hook is for removes its labels or finalizers from the pod."
    return answer("PreparingDelete", text, advice, source)


def _troubled(facts: Facts) -> Explanation | None:
    return troubled(facts.name, facts.pods)


def _held_back(facts: Facts) -> Explanation | None:
    """Return that the strategy holds the update back."""
    owner, old = facts.owner, facts.old
    if not old:
        return None
    rolling = owner.spec.rolling
    if owner.spec.update_strategy.type == ON_DELETE:
        field = Source(kind="spec", name="spec.updateStrategy.type", detail=ON_DELETE)
        text = f"{facts.name} updates pods only when they are deleted: {facts.counts}."
        return answer(ON_DELETE, text, "Delete the pods of the old template.", field)
    if rolling.paused:
        field = Source(kind="spec", name=f"{ROLLING}.paused", detail="true")
        return answer(
            "Paused", f"{facts.name} is paused: {facts.counts}.", f"Set {ROLLING}.paused to false.", field
        )
    if facts.have < facts.wanted and not _leaves_out(facts):
        return _updating_pods(facts)
    partition = partition_of(owner.spec, facts.wanted)
    if len(old) <= partition:
        field = Source(kind="spec", name=f"{ROLLING}.partition", detail=str(rolling.partition))
        return well("Partition", f"{facts.name} keeps its partition of {partition}: {facts.counts}.", field)
    if rolling.selector is not None and not _selected(facts, old):
        field = Source(kind="spec", name=f"{ROLLING}.selector")
        text = f"{facts.name} has updated the nodes that its update selects: {facts.counts}."
        return well("Selector", text, field)
    return _bounded(facts)


def _selected(facts: Facts, old: Sequence[Pod]) -> bool:
    """Return whether the update selects the node of an old pod."""
    selector = readable_selector(facts.owner.spec.rolling.selector)
    labels = {each.metadata.name: each.metadata.labels for each in facts.nodes}
    return selector is not None and any(selector.matches(labels.get(node_of(pod), {})) for pod in old)


def _updating_pods(facts: Facts) -> Explanation:
    return answer("Updating", f"{facts.name} is being updated: {facts.counts}.", "Look again in a moment.")


def _leaves_out(facts: Facts) -> bool:
    """Return whether the nodes of the partition get no pods at all."""
    scale = facts.owner.spec.scale_strategy
    partition = partition_of(facts.owner.spec, facts.wanted)
    return scale is not None and scale.partitioned_scaling and partition > 0


def _bounded(facts: Facts) -> Explanation:
    owner, pods = facts.owner, by_node([pod for pod, _ in facts.pods])
    found = counts_of(owner, facts.nodes, pods, owner.status.update_revision, facts.now)
    limit, missing = max_unavailable(owner, facts.wanted), max(0, found.desired - found.available)
    if owner.spec.rolling.max_surge is not None or missing < limit:
        return _updating_pods(facts)
    field = Source(kind="spec", name=f"{ROLLING}.maxUnavailable", detail=str(limit))
    text = f"{facts.name}: {facts.counts}. The next node waits, as {missing} have no available pod now, and "
    advice = f"Wait until they have, or raise {ROLLING}.maxUnavailable."
    return answer("MaxUnavailable", f"{text}maxUnavailable allows {limit}.", advice, field)


def _missing(facts: Facts) -> Explanation | None:
    if facts.have >= facts.wanted:
        return None
    counts = f"{facts.have} of {facts.wanted} nodes have a pod"
    if _leaves_out(facts):
        field = Source(kind="spec", name="spec.scaleStrategy.partitionedScaling", detail="true")
        return well("Partition", f"{facts.name} creates no pods in its partition: {counts}.", field)
    text = f"{facts.name}: {counts}, and nothing that was recorded says why."
    return answer("NotProgressing", text, "Look again in a moment, or at its events.")


def _well(facts: Facts) -> Explanation:
    return well("Ready", f"{facts.name} has a pod on each of the {facts.wanted} nodes that are to have one.")


QUESTIONS = (
    _not_seen,
    _no_nodes,
    _refused,
    _updating,
    _hooked,
    _troubled,
    _held_back,
    _missing,
    _well,
)

"""NodeAffinity: ``nodeSelector`` and node affinity, required and preferred.

Terms are alternatives; within a term everything must hold. An empty term matches nothing.
Terms that all name nodes (``metadata.name``, as daemon pods do) narrow the search before it starts.
A profile may add an affinity that every one of its pods has besides its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podling.api.core_v1 import NodeAffinity as NodeAffinitySpec
from podling.api.core_v1 import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from podling.machinery.selectors import (
    LabelSelector,
    SelectorError,
    from_labels,
    from_node_selector_requirements,
)
from podling.scheduler.cache import Cache
from podling.scheduler.configuration.plugin_args import NodeAffinityArgs
from podling.scheduler.framework import (
    Aspect,
    Hopeless,
    OwnChange,
    Plugin,
    PodEvent,
    Rejected,
    Scores,
    normalised,
)
from podling.scheduler.labelcolumns import Mask, Rows
from podling.scheduler.podfacts import PodFacts

REASON = "node(s) didn't match Pod's node affinity/selector"
ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
CONFLICT = "pod affinity terms conflict"


class NodeAffinity(Plugin):
    name = "NodeAffinity"
    arguments = NodeAffinityArgs
    also_at = frozenset({"pre_score"})
    wakes_on = Aspect.ADDED | Aspect.LABELS
    wakes_on_own = OwnChange.NONE
    wakes_on_pods = PodEvent(0)
    judges_nodes_alone = True

    def __init__(self, args: NodeAffinityArgs | None = None) -> None:
        super().__init__(args)
        self._added = args.added_affinity if args is not None else None

    def candidates(self, pod: PodFacts, cache: Cache) -> Rows | None:
        names: set[str] = set()
        terms = required_terms(pod)
        if not terms:
            return None
        for term in terms:
            named = [set(field.values) for field in term.match_fields if field.operator == "In"]
            if not named:
                return None
            names |= set.intersection(*named)
        if not names:
            raise Hopeless(CONFLICT)
        found = (cache.row_of(name) for name in sorted(names))
        return np.array([row for row in found if row is not None], np.intp)

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        rejected = []
        matched = required_match(pod, cache, rows)
        added = self._added.required_during_scheduling_ignored_during_execution if self._added else None
        if added is not None:
            enforced = selector_match(added, cache, rows)
            rejected.append(Rejected(ENFORCED, ~enforced, unresolvable=True))
            matched = matched if matched is None else matched | ~enforced
        if matched is not None:
            rejected.append(Rejected(REASON, ~matched, unresolvable=True))
        return rejected

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        preferred = [
            each
            for affinity in (self._added, _affinity(pod))
            if affinity is not None
            for each in affinity.preferred_during_scheduling_ignored_during_execution
        ]
        if not preferred:
            return None
        total = np.zeros(len(rows), np.int64)
        for each in preferred:
            total += each.weight * term_match(each.preference, cache, rows)
        return normalised(total)


def required_match(pod: PodFacts, cache: Cache, rows: Rows) -> Mask | None:
    """Return the rows where ``nodeSelector`` and the required affinity hold; None without both."""
    affinity = _affinity(pod)
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if not pod.spec.node_selector and required is None:
        return None
    matched: Mask = np.ones(len(rows), np.bool_)
    if pod.spec.node_selector:
        matched &= cache.labels.selected(from_labels(pod.spec.node_selector), rows)
    if required is not None:
        matched &= selector_match(required, cache, rows)
    return matched


def selector_match(selector: NodeSelector, cache: Cache, rows: Rows) -> Mask:
    """Return the rows where any term holds."""
    alternatives: Mask = np.zeros(len(rows), np.bool_)
    for term in selector.node_selector_terms:
        alternatives |= term_match(term, cache, rows)
    return alternatives


def required_terms(pod: PodFacts) -> tuple[NodeSelectorTerm, ...]:
    affinity = _affinity(pod)
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return required.node_selector_terms if required else ()


def term_match(term: NodeSelectorTerm, cache: Cache, rows: Rows) -> Mask:
    """Return the rows where one term holds."""
    if not term.match_expressions and not term.match_fields:
        return np.zeros(len(rows), np.bool_)
    selector = _selector(term.match_expressions)
    if selector is None:
        return np.zeros(len(rows), np.bool_)
    matched = cache.labels.selected(selector, rows)
    for field in term.match_fields:
        matched &= _field_match(field, cache, rows)
    return matched


def _selector(expressions: tuple[NodeSelectorRequirement, ...]) -> LabelSelector | None:
    """None for expressions that cannot be read: they match nothing."""
    try:
        return from_node_selector_requirements(expressions)
    except SelectorError:
        return None


def _field_match(field: NodeSelectorRequirement, cache: Cache, rows: Rows) -> Mask:
    """``metadata.name`` is the only field there is, with one value (validated on creation)."""
    if field.key != "metadata.name" or field.operator not in ("In", "NotIn"):
        return np.zeros(len(rows), np.bool_)
    named = [row for row in map(cache.row_of, field.values) if row is not None]
    inside: Mask = np.isin(rows, np.array(named, np.intp))
    return inside if field.operator == "In" else ~inside


def _affinity(pod: PodFacts) -> NodeAffinitySpec | None:
    affinity = pod.spec.affinity
    return affinity.node_affinity if affinity else None

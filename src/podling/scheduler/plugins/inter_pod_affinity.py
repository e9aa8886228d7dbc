"""InterPodAffinity: near the pods that the pod wants, away from those it or they do not want.

Every question is "how many pods that match are in this topology domain": groups of pods are matched once,
their counts per row are added up per domain, and the nodes look their domain up.

Three rejections, in Kubernetes' order: required affinity, required anti-affinity, and the anti-affinity of
pods that are there already. The first pod of a self-affine set is let in: where nothing matches anywhere,
a pod that matches its own terms may start the set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from podling.scheduler.cache import Cache
from podling.scheduler.framework import (
    ALL,
    SCORE_MAX,
    Aspect,
    Plugin,
    PodChange,
    PodEvent,
    Rejected,
    Scores,
)
from podling.scheduler.labelcolumns import ABSENT, Mask, Rows
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.podgroups import PodGroup, counts_per_row
from podling.scheduler.terms import Term

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"

HARD_AFFINITY_WEIGHT = 1
"""The weight of an existing pod's required affinity when a pod that matches it is scheduled."""

Counts = npt.NDArray[np.int64]


class InterPodAffinity(Plugin):
    name = "InterPodAffinity"
    weight = 2
    wakes_on = Aspect.ADDED | Aspect.LABELS | Aspect.REMOVED
    wakes_on_pods = PodEvent.ADDED | PodEvent.LABELS | PodEvent.DELETED

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        found = []
        if pod.affinities.required:
            missing = ~_affinity_satisfied(pod, cache, rows)
            found.append(Rejected(AFFINITY, missing, unresolvable=True))
        if pod.affinities.required_anti:
            found.append(Rejected(ANTI_AFFINITY, _near_unwanted(pod, cache, rows)))
        unwelcome = _unwelcome(pod, cache, rows)
        if unwelcome is not None:
            found.append(Rejected(EXISTING_ANTI_AFFINITY, unwelcome))
        return _first_reason_only(found)

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        raw = np.zeros(len(rows), np.int64)
        scored = _score_own_preferences(pod, cache, rows, raw)
        scored |= _score_others_preferences(pod, cache, rows, raw)
        if not scored or not len(rows):
            return None
        lowest, highest = int(raw.min()), int(raw.max())
        if highest == lowest:
            return np.zeros(len(rows), np.int64)
        return (SCORE_MAX * ((raw - lowest) / (highest - lowest))).astype(np.int64)

    def wakes_for_nodes(self, pod: PodFacts, rows: Rows, cache: Cache) -> int:
        """Always: where one node belongs changes what is right on others."""
        return ALL

    def wakes_for_pod(self, pod: PodFacts, change: PodChange, cache: Cache) -> bool:
        """When the change is about a pod that one of the terms, of either side, means."""
        other = change.facts
        own = (*pod.affinities.required, *pod.affinities.required_anti)
        return any(_means(term, other, cache) for term in own) or any(
            _means(term, pod, cache) for term in other.affinities.required_anti
        )


def _means(term: Term, pod: PodFacts, cache: Cache) -> bool:
    return term.matches(pod.namespace, pod.labels, cache.namespace_labels.get(pod.namespace, {}))


def _means_group(term: Term, group: PodGroup, cache: Cache) -> bool:
    labels = cache.namespace_labels.get(group.namespace, {})
    return term.matches(group.namespace, group.labels, labels)


def per_domain(counts: Counts, topology_key: str, cache: Cache) -> Counts:
    """Counts per row added up per value of a node label, by the value's code."""
    codes = cache.labels.codes(topology_key, cache.rows)
    inside = codes != ABSENT
    weights = counts[cache.rows][inside]
    length = cache.labels.distinct(topology_key)
    totals = np.zeros(length, np.int64)
    np.add.at(totals, codes[inside], weights)
    return totals


def looked_up(totals: Counts, topology_key: str, cache: Cache, rows: Rows) -> Counts:
    """Return the total of each row's domain; 0 for rows outside of any."""
    codes = cache.labels.codes(topology_key, rows)
    return np.concatenate((totals, np.zeros(1, np.int64)))[codes]


def _affinity_satisfied(pod: PodFacts, cache: Cache, rows: Rows) -> Mask:
    terms = pod.affinities.required
    groups = [
        group for group in cache.groups.all() if all(_means_group(term, group, cache) for term in terms)
    ]
    counts = counts_per_row(groups, cache.capacity)
    satisfied = np.ones(len(rows), np.bool_)
    everywhere = np.ones(len(rows), np.bool_)
    anything = False
    for term in terms:
        totals = per_domain(counts, term.topology_key, cache)
        anything = anything or bool(totals.any())
        satisfied &= looked_up(totals, term.topology_key, cache, rows) > 0
        everywhere &= cache.labels.codes(term.topology_key, rows) != ABSENT
    if not anything and all(_means(term, pod, cache) for term in terms):
        return everywhere
    return satisfied


def _near_unwanted(pod: PodFacts, cache: Cache, rows: Rows) -> Mask:
    near: Mask = np.zeros(len(rows), np.bool_)
    for term in pod.affinities.required_anti:
        groups = [group for group in cache.groups.all() if _means_group(term, group, cache)]
        if groups:
            totals = per_domain(counts_per_row(groups, cache.capacity), term.topology_key, cache)
            near |= looked_up(totals, term.topology_key, cache, rows) > 0
    return near


def _unwelcome(pod: PodFacts, cache: Cache, rows: Rows) -> Mask | None:
    """Return the rows where an existing pod's anti-affinity excludes this pod."""
    result: Mask | None = None
    for group in cache.groups.with_affinity():
        for term in group.affinities.required_anti:
            if _means(term, pod, cache):
                totals = per_domain(counts_per_row((group,), cache.capacity), term.topology_key, cache)
                near = looked_up(totals, term.topology_key, cache, rows) > 0
                result = near if result is None else result | near
    return result


def _score_own_preferences(pod: PodFacts, cache: Cache, rows: Rows, raw: Scores) -> bool:
    """Add what the pod likes and dislikes; whether there was anything."""
    signed = [(term, term.weight) for term in pod.affinities.preferred]
    signed += [(term, -term.weight) for term in pod.affinities.preferred_anti]
    any_found = False
    for term, weight in signed:
        groups = [group for group in cache.groups.all() if _means_group(term, group, cache)]
        any_found |= bool(groups)
        _add(raw, groups, term, weight, cache, rows)
    return any_found


def _score_others_preferences(pod: PodFacts, cache: Cache, rows: Rows, raw: Scores) -> bool:
    """Add what the pods that are there think of this one."""
    any_found = False
    for group in cache.groups.with_affinity():
        signed = [(term, HARD_AFFINITY_WEIGHT) for term in group.affinities.required]
        signed += [(term, term.weight) for term in group.affinities.preferred]
        signed += [(term, -term.weight) for term in group.affinities.preferred_anti]
        for term, weight in signed:
            if _means(term, pod, cache):
                any_found = True
                _add(raw, (group,), term, weight, cache, rows)
    return any_found


def _add(raw: Scores, groups: Sequence[PodGroup], term: Term, weight: int, cache: Cache, rows: Rows) -> None:
    if groups:
        totals = per_domain(counts_per_row(groups, cache.capacity), term.topology_key, cache)
        raw += weight * looked_up(totals, term.topology_key, cache, rows)


def _first_reason_only(found: Sequence[Rejected]) -> Sequence[Rejected]:
    """A node that several rules reject counts under the first."""
    result: list[Rejected] = []
    taken: Mask | None = None
    for rejected in found:
        where = rejected.where if taken is None else rejected.where & ~taken
        taken = where if taken is None else taken | where
        if where.any():
            result.append(Rejected(rejected.reason, where, rejected.unresolvable))
    return result

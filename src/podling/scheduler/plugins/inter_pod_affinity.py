"""InterPodAffinity: near the pods that the pod wants, away from those it or they do not want.

Every question is "how many pods that match are in this topology domain": groups of pods are matched once,
their counts per row are added up per domain, and the nodes look their domain up.

Three rejections, in Kubernetes' order: required affinity, required anti-affinity, and the anti-affinity of
pods that are there already. The first pod of a self-affine set is let in: where nothing matches anywhere,
a pod that matches its own terms may start the set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from podling.scheduler.cache import Cache
from podling.scheduler.configuration.plugin_args import InterPodAffinityArgs, default_args
from podling.scheduler.framework import (
    ALL,
    SCORE_MAX,
    Aspect,
    OwnChange,
    Plugin,
    PodChange,
    PodEvent,
    Prepared,
    Rejected,
    Scores,
)
from podling.scheduler.labelcolumns import ABSENT, Mask, Rows
from podling.scheduler.podfacts import NO_AFFINITIES, PodFacts
from podling.scheduler.podgroups import PodGroup, counts_per_row
from podling.scheduler.terms import Term

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"

Counts = npt.NDArray[np.int64]


Domain = tuple[str, Counts]
"""A topology key, and the number of pods in each of its domains."""
Domains = tuple[Domain, ...]


class _Neighbours(Struct, frozen=True):
    """The neighbours that matter to a pod. ``starts``: it may begin the set that it wants to join."""

    wanted: Domains
    starts: bool
    unwanted: Domains
    unwelcome: Domains


class InterPodAffinity(Plugin):
    name = "InterPodAffinity"
    arguments = InterPodAffinityArgs
    also_at = frozenset({"pre_filter", "pre_score"})
    wakes_on = Aspect.ADDED | Aspect.LABELS | Aspect.REMOVED
    wakes_on_own = OwnChange.LABELS
    wakes_on_pods = PodEvent.ADDED | PodEvent.LABELS | PodEvent.DELETED

    def __init__(self, args: InterPodAffinityArgs | None = None) -> None:
        super().__init__(args or default_args(self.name))
        self._neighbours = Prepared(_neighbours)

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        if pod.affinities is NO_AFFINITIES and not cache.groups.with_affinity():
            return ()
        there, found = self._neighbours.of(pod, cache), []
        if there.wanted:
            missing = ~_affinity_satisfied(there, cache, rows)
            found.append(Rejected(AFFINITY, missing, unresolvable=True))
        if there.unwanted:
            found.append(Rejected(ANTI_AFFINITY, _is_near(there.unwanted, cache, rows)))
        if there.unwelcome:
            found.append(Rejected(EXISTING_ANTI_AFFINITY, _is_near(there.unwelcome, cache, rows)))
        return _first_reason_only(found)

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        if pod.affinities is NO_AFFINITIES and not cache.groups.with_affinity():
            return None
        own = pod.affinities.preferred or pod.affinities.preferred_anti
        if self.args.ignore_preferred_terms_of_existing_pods and not own:
            return None
        raw = np.zeros(len(rows), np.int64)
        scored = _score_own_preferences(pod, cache, rows, raw)
        scored |= _score_others_preferences(pod, cache, rows, raw, self.args.hard_pod_affinity_weight)
        if not scored or not len(rows):
            return None
        lowest, highest = int(raw.min()), int(raw.max())
        if highest == lowest:
            return np.zeros(len(rows), np.int64)
        return (SCORE_MAX * ((raw - lowest) / (highest - lowest))).astype(np.int64)

    def wakes_for_nodes(self, pod: PodFacts, rows: Rows, cache: Cache) -> int:
        """When a node has a topology that the pod's affinity names; without affinity, always.

        The place of one node changes what is right on others.
        """
        keys = {term.topology_key for term in pod.affinities.required}
        return ALL if not keys or any(_has_key(key, cache, rows) for key in keys) else 0

    def wakes_for_pod(self, pod: PodFacts, change: PodChange, cache: Cache) -> bool:
        """When a pod comes that the affinity wants, or one goes that an anti-affinity of either means.

        A pod whose labels change is gone as what it was, and comes as what it is. The last pod of a set that
        goes lets another one begin the set, which Kubernetes' hint leaves out.
        """
        wanted = pod.affinities.required
        is_wanted = bool(wanted) and all(_means(term, change.facts, cache) for term in wanted)
        if change.event & PodEvent.DELETED:
            return is_wanted or _is_in_the_way(pod, change.facts, cache)
        before = change.before
        if before is None:
            return is_wanted
        was_wanted = bool(wanted) and all(_means(term, before, cache) for term in wanted)
        return is_wanted != was_wanted or any(
            _means(term, before, cache) and not _means(term, change.facts, cache)
            for term in pod.affinities.required_anti
        )


def _means(term: Term, pod: PodFacts, cache: Cache) -> bool:
    return term.matches(pod.namespace, pod.labels, cache.namespace_labels.get(pod.namespace, {}))


def _is_in_the_way(pod: PodFacts, other: PodFacts, cache: Cache) -> bool:
    """Return whether required anti-affinity keeps one of the two pods away from the other."""
    return any(_means(term, other, cache) for term in pod.affinities.required_anti) or any(
        _means(term, pod, cache) for term in other.affinities.required_anti
    )


def _has_key(key: str, cache: Cache, rows: Rows) -> bool:
    return bool((cache.labels.codes(key, rows) != ABSENT).any())


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


def _neighbours(pod: PodFacts, cache: Cache) -> _Neighbours:
    terms = pod.affinities.required
    wanted: Domains = ()
    if terms:
        groups = [
            group for group in cache.groups.all() if all(_means_group(term, group, cache) for term in terms)
        ]
        counts = counts_per_row(groups, cache.capacity)
        wanted = tuple((term.topology_key, per_domain(counts, term.topology_key, cache)) for term in terms)
    starts = all(not totals.any() for _, totals in wanted) and all(_means(term, pod, cache) for term in terms)
    return _Neighbours(wanted, starts, tuple(_unwanted(pod, cache)), tuple(_unwelcome(pod, cache)))


def _unwanted(pod: PodFacts, cache: Cache) -> Iterator[Domain]:
    """Yield where the pods are that this pod keeps away from."""
    for term in pod.affinities.required_anti:
        groups = [group for group in cache.groups.all() if _means_group(term, group, cache)]
        yield term.topology_key, per_domain(counts_per_row(groups, cache.capacity), term.topology_key, cache)


def _unwelcome(pod: PodFacts, cache: Cache) -> Iterator[Domain]:
    """Yield where the pods are whose anti-affinity excludes this pod."""
    for group in cache.groups.with_affinity():
        for term in group.affinities.required_anti:
            if _means(term, pod, cache):
                counts = counts_per_row((group,), cache.capacity)
                yield term.topology_key, per_domain(counts, term.topology_key, cache)


def _affinity_satisfied(there: _Neighbours, cache: Cache, rows: Rows) -> Mask:
    satisfied = np.ones(len(rows), np.bool_)
    for key, totals in there.wanted:
        if there.starts:
            satisfied &= cache.labels.codes(key, rows) != ABSENT
        else:
            satisfied &= looked_up(totals, key, cache, rows) > 0
    return satisfied


def _is_near(domains: Domains, cache: Cache, rows: Rows) -> Mask:
    near: Mask = np.zeros(len(rows), np.bool_)
    for key, totals in domains:
        near |= looked_up(totals, key, cache, rows) > 0
    return near


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


def _score_others_preferences(pod: PodFacts, cache: Cache, rows: Rows, raw: Scores, hard: int) -> bool:
    """Add what the pods that are there think of this one; their required affinity has the weight ``hard``."""
    any_found = False
    for group in cache.groups.with_affinity():
        signed = [(term, hard) for term in group.affinities.required if hard]
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

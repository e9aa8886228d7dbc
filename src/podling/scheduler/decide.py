"""The choice of a pod's node: candidates, filters, scores, over one state of the cache. Pure.

Filters run in order on the remaining nodes, each over many of them at once. In a large cluster the search
ends once enough nodes are feasible; the next begins behind them. Among equal scores the choice is random.

Nominated pods (those that preempted others and wait for the capacity) count on their nodes for pods of lower
or equal priority; a node must also be feasible without them, because they may never be bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from msgspec import Struct

from podling.scheduler import messages
from podling.scheduler.cache import Cache
from podling.scheduler.framework import Hopeless, Scores
from podling.scheduler.labelcolumns import Mask, Rows
from podling.scheduler.measures import NO_MEASURES, Measures
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.profile import Profile

Choose = Callable[[Sequence[int]], int]
"""Draws one of several equally good rows."""

PRE_FILTER, FILTER, SCORE = "PreFilter", "Filter", "Score"
SUCCESS, UNSCHEDULABLE, UNRESOLVABLE = "Success", "Unschedulable", "UnschedulableAndUnresolvable"

MANY_TIMES = 3


class Nominated(Struct, frozen=True):
    """A pod that waits for capacity on the node ``row``."""

    facts: PodFacts
    row: int


class Placement(Struct, frozen=True):
    """The pod goes to ``node``. ``examined``: the number of nodes that the search looked at."""

    node: str
    examined: int = 0


@dataclass(slots=True)
class Diagnosis:
    """Why no node was right."""

    total: int
    reasons: Counter[str] = field(default_factory=Counter)
    rejected_by: set[str] = field(default_factory=set)
    hopeless: str = ""
    resolvable_parts: list[Rows] = field(default_factory=list)
    examined: int = 0

    def resolvable(self) -> list[int]:
        """Return the rows where removing pods could help, each once, in order."""
        return sorted({row for part in self.resolvable_parts for row in part.tolist()})

    def message(self, preemption: str = "") -> str:
        if not self.total:
            return messages.NO_NODES
        return messages.fit_error(self.total, self.reasons, hopeless=self.hopeless, preemption=preemption)


def decide(
    pod: PodFacts,
    cache: Cache,
    profile: Profile,
    nominated: Iterable[Nominated],
    choose: Choose,
    measures: Measures = NO_MEASURES,
    start: int = 0,
) -> Placement | Diagnosis:
    """Return the best node for the pod, or why there is none. ``start``: where the search begins."""
    diagnosis = Diagnosis(len(cache.rows))
    if not diagnosis.total:
        return diagnosis
    candidates = _candidates(pod, cache, profile, diagnosis, measures)
    measures.ended(PRE_FILTER, UNRESOLVABLE if diagnosis.hopeless else SUCCESS)
    if diagnosis.hopeless:
        return diagnosis
    respected = respected_nominations(pod, nominated)
    own = pod.pod.status.nominated_node_name
    own_row = cache.row_of(own) if own else None
    if own_row is not None:
        # Preemption freed capacity there for this pod: the node is tried first, and taken if feasible.
        preferred = feasible(pod, cache, profile, np.array([own_row], np.intp), respected)
        measures.ended(FILTER, SUCCESS)
        if len(preferred):
            return Placement(cache.name_of(own_row))
    order = _in_order(cache, candidates, start)
    rows = _search(pod, cache, profile, order, respected, diagnosis, measures)
    measures.ended(FILTER, SUCCESS)
    if not len(rows):
        return diagnosis
    if len(rows) == 1:
        return Placement(cache.name_of(int(rows[0])), diagnosis.examined)
    total = scores(pod, cache, profile, rows, measures)
    measures.ended(SCORE, SUCCESS)
    best = rows[total == total.max()]
    return Placement(cache.name_of(choose(best.tolist())), diagnosis.examined)


def _in_order(cache: Cache, candidates: Rows | None, start: int) -> Rows:
    """Return the candidates in the order in which the search looks at them."""
    order = cache.search_order
    if candidates is not None:
        order = order[np.isin(order, candidates)]
    begin = start % len(order) if len(order) else 0
    return np.concatenate((order[begin:], order[:begin])) if begin else order


def _search(
    pod: PodFacts,
    cache: Cache,
    profile: Profile,
    rows: Rows,
    nominated: Sequence[Nominated],
    diagnosis: Diagnosis,
    measures: Measures,
) -> Rows:
    """Return feasible rows, as many as are to be scored, the first in the given order."""
    wanted = profile.nodes_to_find(len(rows))
    # One pass over all is cheaper than two over parts, unless the first part is small.
    found, at, size = rows[:0], 0, wanted if len(rows) > MANY_TIMES * wanted else len(rows)
    while at < len(rows) and len(found) < wanted:
        part = feasible(pod, cache, profile, rows[at : at + size], nominated, diagnosis, measures)
        found = np.concatenate((found, part)) if len(found) else part
        at, size = at + size, len(rows)
    diagnosis.examined = len(rows)
    if len(found) >= wanted and wanted < len(rows):
        found = found[:wanted]
        diagnosis.examined = int(np.flatnonzero(rows == found[-1])[0]) + 1
    return found


def feasible(
    pod: PodFacts,
    cache: Cache,
    profile: Profile,
    rows: Rows,
    nominated: Sequence[Nominated] = (),
    diagnosis: Diagnosis | None = None,
    measures: Measures = NO_MEASURES,
) -> Rows:
    """Those of ``rows`` that every filter accepts, with the nominated pods there and without them."""
    if not nominated:
        return _filtered(pod, cache, profile, rows, diagnosis, measures)
    with assumed_there(cache, nominated):
        rows = _filtered(pod, cache, profile, rows, diagnosis, measures)
    return _filtered(pod, cache, profile, rows, diagnosis, measures)


def scores(
    pod: PodFacts, cache: Cache, profile: Profile, rows: Rows, measures: Measures = NO_MEASURES
) -> Scores:
    """Return the weighted sum over all plugins that score."""
    total: Scores = np.zeros(len(rows), np.int64)
    for scorer in profile.score:
        if measures.sampled:
            measures.mark()
        found = scorer.plugin.score(pod, cache, rows)
        if measures.sampled:
            measures.ran(scorer.plugin.name, SCORE, SUCCESS)
        if found is not None:
            total += scorer.weight * found
    return total


def respected_nominations(pod: PodFacts, nominated: Iterable[Nominated]) -> list[Nominated]:
    """Return the nominations that this pod may not ignore."""
    return [each for each in nominated if each.facts.priority >= pod.priority and each.facts.uid != pod.uid]


@contextmanager
def assumed_there(cache: Cache, nominated: Sequence[Nominated]) -> Iterator[None]:
    """Count the nominated pods on their nodes for the while."""
    added = [each for each in nominated if cache.pod(each.facts.uid) is None]
    for each in added:
        cache.add_pod(each.facts, cache.name_of(each.row), assumed=True)
    try:
        yield
    finally:
        for each in added:
            cache.remove_pod(each.facts.uid)


def _candidates(
    pod: PodFacts, cache: Cache, profile: Profile, diagnosis: Diagnosis, measures: Measures
) -> Rows | None:
    """Return the rows that plugins narrow the search to; None for all. Notes the others in ``diagnosis``."""
    rows: Rows | None = None
    narrowed_by: list[str] = []
    for plugin in profile.pre_filter:
        if measures.sampled:
            measures.mark()
        try:
            found = plugin.candidates(pod, cache)
        except Hopeless as hopeless:
            diagnosis.hopeless = str(hopeless)
            diagnosis.rejected_by.add(plugin.name)
            measures.ran(plugin.name, PRE_FILTER, UNRESOLVABLE)
            return None
        if measures.sampled:
            measures.ran(plugin.name, PRE_FILTER, SUCCESS)
        if found is not None:
            rows = found if rows is None else np.intersect1d(rows, found)
            narrowed_by.append(plugin.name)
            if len(narrowed_by) > 1 and not len(rows):
                diagnosis.hopeless = f"{messages.not_in_candidates(narrowed_by)} simultaneously"
                break
    diagnosis.rejected_by.update(narrowed_by)
    if rows is not None and len(rows) < diagnosis.total:
        diagnosis.reasons[messages.not_in_candidates(narrowed_by)] += diagnosis.total - len(rows)
    return rows


def _filtered(
    pod: PodFacts,
    cache: Cache,
    profile: Profile,
    rows: Rows,
    diagnosis: Diagnosis | None,
    measures: Measures,
) -> Rows:
    for plugin in profile.filter:
        if not len(rows):
            break
        if measures.sampled:
            measures.mark()
        rejections = plugin.filter(pod, cache, rows)
        if measures.sampled:
            measures.ran(plugin.name, FILTER, UNSCHEDULABLE if rejections else SUCCESS)
        if not rejections:
            continue
        out: Mask = np.zeros(len(rows), np.bool_)
        unresolvable: Mask = np.zeros(len(rows), np.bool_)
        for rejected in rejections:
            out |= rejected.where
            unresolvable |= rejected.where & rejected.unresolvable
            if diagnosis is not None:
                diagnosis.reasons[rejected.reason] += int(rejected.where.sum())
        if diagnosis is not None and out.any():
            diagnosis.rejected_by.add(plugin.name)
            diagnosis.resolvable_parts.append(rows[out & ~unresolvable])
        rows = rows[~out]
    if diagnosis is not None:
        # Filters may report a reason that holds nowhere.
        diagnosis.reasons = +diagnosis.reasons
    return rows

"""The choice of a pod's node: candidates, filters, scores, over one state of the cache. Pure.

Filters run in order on the remaining nodes, each over all of them at once. All feasible nodes are scored:
Kubernetes stops after a share of a large cluster to save time that columns do not take. Among equal scores
the choice is random.

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
from podling.scheduler.framework import Hopeless, Plugin, Scores
from podling.scheduler.labelcolumns import Mask, Rows
from podling.scheduler.podfacts import PodFacts

Choose = Callable[[Sequence[int]], int]
"""Draws one of several equally good rows."""

Ended = Callable[[str, str], None]
"""Receives the end of each extension point of Kubernetes' framework, with its status."""

PRE_FILTER, FILTER, SCORE = "PreFilter", "Filter", "Score"
SUCCESS = "Success"


def _unheard(point: str, status: str) -> None:
    """Measures nothing."""


class Nominated(Struct, frozen=True):
    """A pod that waits for capacity on the node ``row``."""

    facts: PodFacts
    row: int


class Placement(Struct, frozen=True):
    """The pod goes to ``node``."""

    node: str


@dataclass(slots=True)
class Diagnosis:
    """Why no node was right."""

    total: int
    reasons: Counter[str] = field(default_factory=Counter)
    rejected_by: set[str] = field(default_factory=set)
    hopeless: str = ""
    resolvable_parts: list[Rows] = field(default_factory=list)

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
    plugins: Sequence[Plugin],
    nominated: Iterable[Nominated],
    choose: Choose,
    ended: Ended = _unheard,
) -> Placement | Diagnosis:
    """Return the best node for the pod, or why there is none."""
    diagnosis = Diagnosis(len(cache.rows))
    if not diagnosis.total:
        return diagnosis
    rows = _candidates(pod, cache, plugins, diagnosis)
    ended(PRE_FILTER, "UnschedulableAndUnresolvable" if diagnosis.hopeless else SUCCESS)
    respected = respected_nominations(pod, nominated)
    own = pod.pod.status.nominated_node_name
    own_row = cache.row_of(own) if own else None
    if own_row is not None and own_row in rows:
        # Preemption freed capacity there for this pod: the node is tried first, and taken if feasible.
        preferred = feasible(pod, cache, plugins, np.array([own_row], np.intp), respected)
        ended(FILTER, SUCCESS)
        if len(preferred):
            return Placement(cache.name_of(own_row))
    rows = feasible(pod, cache, plugins, rows, respected, diagnosis)
    if not diagnosis.hopeless:
        ended(FILTER, SUCCESS)
    if not len(rows):
        return diagnosis
    if len(rows) == 1:
        return Placement(cache.name_of(int(rows[0])))
    total = scores(pod, cache, plugins, rows)
    ended(SCORE, SUCCESS)
    best = rows[total == total.max()]
    return Placement(cache.name_of(choose(best.tolist())))


def feasible(
    pod: PodFacts,
    cache: Cache,
    plugins: Sequence[Plugin],
    rows: Rows,
    nominated: Sequence[Nominated] = (),
    diagnosis: Diagnosis | None = None,
) -> Rows:
    """Those of ``rows`` that every filter accepts, with the nominated pods there and without them."""
    if not nominated:
        return _filtered(pod, cache, plugins, rows, diagnosis)
    with assumed_there(cache, nominated):
        rows = _filtered(pod, cache, plugins, rows, diagnosis)
    return _filtered(pod, cache, plugins, rows, diagnosis)


def scores(pod: PodFacts, cache: Cache, plugins: Sequence[Plugin], rows: Rows) -> Scores:
    """Return the weighted sum over all plugins."""
    total: Scores = np.zeros(len(rows), np.int64)
    for plugin in plugins:
        if plugin.weight:
            found = plugin.score(pod, cache, rows)
            if found is not None:
                total += plugin.weight * found
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


def _candidates(pod: PodFacts, cache: Cache, plugins: Sequence[Plugin], diagnosis: Diagnosis) -> Rows:
    rows = cache.rows
    narrowed_by: list[str] = []
    for plugin in plugins:
        try:
            found = plugin.candidates(pod, cache)
        except Hopeless as hopeless:
            diagnosis.hopeless = str(hopeless)
            diagnosis.rejected_by.add(plugin.name)
            return rows[:0]
        if found is not None:
            rows = np.intersect1d(rows, found)
            narrowed_by.append(plugin.name)
    if narrowed_by and len(rows) < diagnosis.total:
        diagnosis.reasons[messages.not_in_candidates(narrowed_by)] += diagnosis.total - len(rows)
        diagnosis.rejected_by.update(narrowed_by)
    return rows


def _filtered(
    pod: PodFacts, cache: Cache, plugins: Sequence[Plugin], rows: Rows, diagnosis: Diagnosis | None
) -> Rows:
    for plugin in plugins:
        if not len(rows):
            break
        rejections = plugin.filter(pod, cache, rows)
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

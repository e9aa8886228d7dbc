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
from podling.scheduler.framework import SCORE_MAX, Hopeless, Plugin, PluginFailed, Scores, one_row
from podling.scheduler.labelcolumns import Mask, Rows
from podling.scheduler.measures import NO_MEASURES, Measures
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.profile import Profile, Scorer

Choose = Callable[[Sequence[int]], int]
"""Draws one of several equally good rows."""

PRE_FILTER, FILTER, PRE_SCORE, SCORE = "PreFilter", "Filter", "PreScore", "Score"
SUCCESS, UNSCHEDULABLE, UNRESOLVABLE = "Success", "Unschedulable", "UnschedulableAndUnresolvable"
ERROR_STATUS = "Error"

MANY_TIMES = 3

NO_ROWS: Rows = np.zeros(0, np.intp)


class Nominated(Struct, frozen=True):
    """A pod that waits for capacity on the node ``row``."""

    facts: PodFacts
    row: int


class Placement(Struct, frozen=True):
    """The pod goes to ``node``. ``examined``: the number of nodes that the search looked at.

    ``failure``: the error of a plugin about the nominated node, which the pod does not get then.
    """

    node: str
    examined: int = 0
    failure: str = ""


@dataclass(slots=True)
class Diagnosis:
    """Why no node was right."""

    total: int
    reasons: Counter[str] = field(default_factory=Counter)
    rejected_by: set[str] = field(default_factory=set)
    hopeless: str = ""
    resolvable_parts: list[Rows] = field(default_factory=list)
    resolvable_names: set[str] = field(default_factory=set)
    """The nodes where an extender says that removing pods could help."""
    examined: int = 0
    failure: str = ""
    """The error of a plugin about the nominated node; others were tried nevertheless."""

    def resolvable(self) -> list[int]:
        """Return the rows where removing pods could help, each once, in order."""
        return sorted({row for part in self.resolvable_parts for row in part.tolist()})

    def message(self, preemption: str = "") -> str:
        if not self.total:
            return messages.NO_NODES
        return messages.fit_error(self.total, self.reasons, hopeless=self.hopeless, preemption=preemption)


class Case(Struct, frozen=True, gc=False):
    """A pod that needs a node, and what decides about it."""

    pod: PodFacts
    cache: Cache
    profile: Profile
    measures: Measures = NO_MEASURES


def decide(
    pod: PodFacts,
    cache: Cache,
    profile: Profile,
    nominated: Iterable[Nominated],
    choose: Choose,
    measures: Measures = NO_MEASURES,
    start: int = 0,
) -> Placement | Diagnosis:
    """Return the best node for the pod, or why there is none. ``start``: where the search begins.

    Raises ``PluginFailed``.
    """
    diagnosis = Diagnosis(len(cache.rows))
    if not diagnosis.total:
        return diagnosis
    case = Case(pod, cache, profile, measures)
    candidates = narrowed(case, diagnosis)
    if diagnosis.hopeless:
        return diagnosis
    respected = respected_nominations(pod, nominated)
    there = on_nominated_node(case, candidates, respected, diagnosis)
    if len(there):
        return Placement(cache.name_of(int(there[0])))
    rows = search(case, candidates, respected, diagnosis, start)
    if not len(rows):
        return diagnosis
    return best_of(case, rows, choose, diagnosis)


def on_nominated_node(
    case: Case, candidates: Rows | None, respected: Sequence[Nominated], diagnosis: Diagnosis
) -> Rows:
    """Return the row of the pod's nominated node if it is feasible; preemption freed capacity there.

    It is tried before all others, even if plugins narrow the search to other nodes; ``diagnosis`` has its
    reasons then. If a plugin fails, the other nodes are tried (``evaluateNominatedNode``).
    """
    own = case.pod.pod.status.nominated_node_name
    row = case.cache.row_of(own) if own else None
    if row is None:
        return NO_ROWS
    is_outside = candidates is not None and row not in candidates
    outside = list(diagnosis.reasons) if is_outside else []
    noted = diagnosis if is_outside else None
    try:
        rows = feasible(case.pod, case.cache, case.profile, one_row(row), respected, noted)
    except PluginFailed as failed:
        diagnosis.failure = str(failed)
        case.measures.ended(FILTER, ERROR_STATUS)
        return NO_ROWS
    for reason in outside:
        diagnosis.reasons[reason] -= 1
    case.measures.ended(FILTER, SUCCESS)
    return rows


def search(
    case: Case, candidates: Rows | None, respected: Sequence[Nominated], diagnosis: Diagnosis, start: int
) -> Rows:
    """Return feasible rows, as many as are to be scored; notes in ``diagnosis`` why others are not."""
    order = _in_order(case.cache, candidates, start)
    rows = _search(case.pod, case.cache, case.profile, order, respected, diagnosis, case.measures)
    case.measures.ended(FILTER, SUCCESS)
    return rows


def best_of(
    case: Case, rows: Rows, choose: Choose, diagnosis: Diagnosis, more: Scores | None = None
) -> Placement:
    """Return the row with the highest score. ``more`` is added to the scores of the plugins."""
    cache = case.cache
    if len(rows) == 1:
        return Placement(cache.name_of(int(rows[0])), diagnosis.examined, diagnosis.failure)
    total = scores(case.pod, cache, case.profile, rows, case.measures)
    if more is not None:
        total = total + more
    case.measures.ended(SCORE, SUCCESS)
    best = rows[total == total.max()]
    return Placement(cache.name_of(choose(best.tolist())), diagnosis.examined, diagnosis.failure)


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
    """Return the weighted sum over all plugins that score. Raises ``PluginFailed``."""
    total: Scores = np.zeros(len(rows), np.int64)
    scorers = _scorers(pod, cache, profile, rows, measures) if profile.pre_score else profile.score
    for scorer in scorers:
        plugin = scorer.plugin
        if measures.sampled:
            measures.mark()
        try:
            found = plugin.score(pod, cache, rows)
        except Exception as error:
            text = f'running Score plugins: plugin "{plugin.name}" failed with: {error}'
            raise _failed(measures, plugin, SCORE, text) from error
        if measures.sampled:
            measures.ran(plugin.name, SCORE, SUCCESS)
        if found is not None:
            if scorer.is_checked:
                _check_range(plugin, found, measures)
            total += scorer.weight * found
    return total


def _scorers(
    pod: PodFacts, cache: Cache, profile: Profile, rows: Rows, measures: Measures
) -> tuple[Scorer, ...]:
    """Run PreScore; return the plugins that want to score this pod. Raises ``PluginFailed``."""
    skipped: set[str] = set()
    for plugin in profile.pre_score:
        try:
            if not plugin.pre_score(pod, cache, rows):
                skipped.add(plugin.name)
        except Exception as error:
            text = f'running PreScore plugin "{plugin.name}": {error}'
            raise _failed(measures, plugin, PRE_SCORE, text) from error
    measures.ended(PRE_SCORE, SUCCESS)
    return tuple(each for each in profile.score if each.plugin.name not in skipped)


def _check_range(plugin: Plugin, found: Scores, measures: Measures) -> None:
    """Raise ``PluginFailed`` for scores outside of 0 to 100, in Kubernetes' words."""
    outside = found[(found < 0) | (found > SCORE_MAX)]
    if len(outside):
        measures.ended(SCORE, ERROR_STATUS)
        raise PluginFailed(
            f'applying score defaultWeights on Score plugins: plugin "{plugin.name}" returns an invalid '
            f"score {int(outside[0])}, it should in the range of [0, {SCORE_MAX}] after normalizing"
        )


def _failed(measures: Measures, plugin: Plugin, point: str, text: str) -> PluginFailed:
    """Return the error of a plugin, which is the status of the extension point, too."""
    measures.ran(plugin.name, point, ERROR_STATUS)
    measures.ended(point, ERROR_STATUS)
    return PluginFailed(text)


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


def narrowed(case: Case, diagnosis: Diagnosis) -> Rows | None:
    """Return the rows that plugins narrow the search to; None for all. Notes the others in ``diagnosis``."""
    pod, cache, measures = case.pod, case.cache, case.measures
    rows: Rows | None = None
    narrowed_by: list[str] = []
    for plugin in case.profile.pre_filter:
        if measures.sampled:
            measures.mark()
        try:
            found = plugin.candidates(pod, cache)
        except Hopeless as hopeless:
            diagnosis.hopeless = str(hopeless)
            diagnosis.rejected_by.add(plugin.name)
            measures.ran(plugin.name, PRE_FILTER, UNRESOLVABLE)
            measures.ended(PRE_FILTER, UNRESOLVABLE)
            return None
        except Exception as error:
            text = f'running PreFilter plugin "{plugin.name}": {error}'
            raise _failed(measures, plugin, PRE_FILTER, text) from error
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
    measures.ended(PRE_FILTER, UNRESOLVABLE if diagnosis.hopeless else SUCCESS)
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
        try:
            rejections = plugin.filter(pod, cache, rows)
        except Exception as error:
            text = f'running "{plugin.name}" filter plugin: {error}'
            raise _failed(measures, plugin, FILTER, text) from error
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
    if diagnosis is not None and diagnosis.reasons:
        # Filters may report a reason that holds nowhere.
        diagnosis.reasons = +diagnosis.reasons
    return rows

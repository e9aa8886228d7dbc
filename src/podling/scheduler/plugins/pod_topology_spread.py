"""PodTopologySpread: pods of a kind spread over zones, nodes, or any other label.

A constraint counts the pods its selector means per domain. ``DoNotSchedule`` rejects a node whose domain
would then be more than ``maxSkew`` ahead of the emptiest; ``ScheduleAnyway`` only scores. A pod without
constraints of its own that belongs to a service or a workload is spread, softly, over nodes and zones.

Nodes that count for a constraint have all of the pod's topology keys and, by default policies, match the
pod's node selector and affinity, with any taints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from podling.api.core_v1 import TopologySpreadConstraint
from podling.machinery.selectors import LabelSelector, from_labels
from podling.scheduler.cache import Cache
from podling.scheduler.configuration.plugin_args import SYSTEM_DEFAULTING, PodTopologySpreadArgs, default_args
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
from podling.scheduler.plugins.inter_pod_affinity import looked_up
from podling.scheduler.plugins.node_affinity import required_match
from podling.scheduler.plugins.taint_toleration import KEEPS_AWAY, tolerates
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.podgroups import counts_per_row
from podling.scheduler.terms import selector_of

REASON = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL = f"{REASON} (missing required label)"

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

DO_NOT_SCHEDULE, SCHEDULE_ANYWAY = "DoNotSchedule", "ScheduleAnyway"

SYSTEM_CONSTRAINTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME, max_skew=3, when_unsatisfiable=SCHEDULE_ANYWAY),
    TopologySpreadConstraint(topology_key=ZONE, max_skew=5, when_unsatisfiable=SCHEDULE_ANYWAY),
)

Counts = npt.NDArray[np.int64]


class _Constraint(Struct, frozen=True):
    topology_key: str
    max_skew: int
    selector: LabelSelector
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False


class _Skew(Struct, frozen=True):
    """The pods of each domain, by the code of its label, and the most of them that another pod may join."""

    constraint: _Constraint
    totals: Counts
    most: int


class PodTopologySpread(Plugin):
    name = "PodTopologySpread"
    arguments = PodTopologySpreadArgs
    also_at = frozenset({"pre_filter", "pre_score"})
    wakes_on = Aspect.ADDED | Aspect.LABELS | Aspect.TAINTS | Aspect.REMOVED
    wakes_on_own = OwnChange.LABELS | OwnChange.TOLERATIONS
    wakes_on_pods = PodEvent.ADDED | PodEvent.LABELS | PodEvent.DELETED

    def __init__(self, args: PodTopologySpreadArgs | None = None) -> None:
        super().__init__(args or default_args(self.name))
        self._by_system = self.args.defaulting_type == SYSTEM_DEFAULTING
        self._defaults = SYSTEM_CONSTRAINTS if self._by_system else self.args.default_constraints
        self._may_reject = any(each.when_unsatisfiable == DO_NOT_SCHEDULE for each in self._defaults)
        self._skews = Prepared(self._count)

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        if not pod.spec.topology_spread_constraints and not self._may_reject:
            return ()
        skews = self._skews.of(pod, cache)
        if not skews:
            return ()
        skewed, missing = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
        for skew in skews:
            # The first constraint that a node violates gives the reason.
            key, open_rows = skew.constraint.topology_key, ~(skewed | missing)
            absent = cache.labels.codes(key, rows) == ABSENT
            missing |= open_rows & absent
            skewed |= open_rows & ~absent & (looked_up(skew.totals, key, cache, rows) > skew.most)
        found = (Rejected(REASON, skewed), Rejected(MISSING_LABEL, missing, unresolvable=True))
        return tuple(rejected for rejected in found if rejected.where.any())

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        constraints = self._constraints(pod, cache, SCHEDULE_ANYWAY)
        if not constraints:
            return None
        # By the system's defaults nodes without a zone still spread by host name.
        own = bool(pod.spec.topology_spread_constraints) or not self._by_system
        eligible = _has_all_keys(constraints, cache, rows) if own else np.ones(len(rows), np.bool_)
        everything = (
            _has_all_keys(constraints, cache, cache.rows) if own else np.ones(len(cache.rows), np.bool_)
        )
        raw = np.zeros(len(rows), np.float64)
        for constraint in constraints:
            counted = cache.rows[everything & _included(constraint, pod, cache, cache.rows)]
            raw += _spread_score(constraint, pod, cache, counted, rows, eligible)
        return _normalised(np.rint(raw).astype(np.int64), eligible)

    def wakes_for_nodes(self, pod: PodFacts, rows: Rows, cache: Cache) -> int:
        """Always: where one node belongs changes what is right on others."""
        return ALL

    def wakes_for_pod(self, pod: PodFacts, change: PodChange, cache: Cache) -> bool:
        """When a pod that one of the constraints counts comes or goes, or an update changes that."""
        if change.facts.namespace != pod.namespace:
            return False
        labels = change.facts.labels
        was = change.before.labels if change.before is not None else None
        return any(
            each.selector.matches(labels) != (was is not None and each.selector.matches(was))
            for each in self._constraints(pod, cache, DO_NOT_SCHEDULE)
        )

    def wakes_for_own(self, before: PodFacts, pod: PodFacts, change: OwnChange, cache: Cache) -> bool:
        """When other constraints count the pod, or other taints matter to them."""
        constraints = self._constraints(pod, cache, DO_NOT_SCHEDULE)
        if OwnChange.TOLERATIONS in change and any(each.honor_taints for each in constraints):
            return True
        return any(
            each.selector.matches(before.labels) != each.selector.matches(pod.labels) for each in constraints
        )

    def _count(self, pod: PodFacts, cache: Cache) -> tuple[_Skew, ...]:
        """Return the pods of each domain, for the constraints that may reject nodes."""
        constraints = self._constraints(pod, cache, DO_NOT_SCHEDULE)
        if not constraints:
            return ()
        everything = _has_all_keys(constraints, cache, cache.rows)
        return tuple(
            _skew(each, pod, cache, cache.rows[everything & _included(each, pod, cache, cache.rows)])
            for each in constraints
        )

    def _constraints(self, pod: PodFacts, cache: Cache, when: str) -> tuple[_Constraint, ...]:
        """Return the pod's own constraints or, without any, the defaults of pods that something selects."""
        own = pod.spec.topology_spread_constraints
        if own:
            return tuple(
                _read(each, _selector(each, pod.labels)) for each in own if each.when_unsatisfiable == when
            )
        chosen = [each for each in self._defaults if each.when_unsatisfiable == when]
        selector = cache.workloads.selector_for(pod) if chosen else None
        return () if selector is None else tuple(_read(each, selector) for each in chosen)


def _read(constraint: TopologySpreadConstraint, selector: LabelSelector) -> _Constraint:
    return _Constraint(
        constraint.topology_key,
        constraint.max_skew,
        selector,
        constraint.min_domains or 1,
        honor_affinity=(constraint.node_affinity_policy or "Honor") == "Honor",
        honor_taints=(constraint.node_taints_policy or "Ignore") == "Honor",
    )


def _selector(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> LabelSelector:
    """Return the selector, narrowed to the pod's own values of ``matchLabelKeys``.

    The API server merges them when a pod is created. As in Kubernetes, the labels that the pod has now count,
    too.
    """
    selector = selector_of(constraint.label_selector)
    same = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    if not same or selector.never:
        return selector
    return LabelSelector((*from_labels(same).requirements, *selector.requirements))


def _has_all_keys(constraints: Sequence[_Constraint], cache: Cache, rows: Rows) -> Mask:
    result: Mask = np.ones(len(rows), np.bool_)
    for constraint in constraints:
        result &= cache.labels.codes(constraint.topology_key, rows) != ABSENT
    return result


def _included(constraint: _Constraint, pod: PodFacts, cache: Cache, rows: Rows) -> Mask:
    """Return the rows that count by the constraint's policies."""
    result: Mask = np.ones(len(rows), np.bool_)
    if constraint.honor_affinity:
        matched = required_match(pod, cache, rows)
        if matched is not None:
            result &= matched
    if constraint.honor_taints:
        tolerations = pod.spec.tolerations
        tolerated = [
            all(taint[2] not in KEEPS_AWAY or tolerates(tolerations, taint) for taint in taints)
            for taints in cache.taint_sets
        ]
        result &= np.array(tolerated)[cache.taints[rows]]
    return result


def _counts(constraint: _Constraint, pod: PodFacts, cache: Cache) -> Counts:
    """Return the pods of each row that count; an empty selector counts none (``countPodsMatchSelector``)."""
    if constraint.selector.empty:
        return np.zeros(cache.capacity, np.int64)
    selected = cache.groups.selected(pod.namespace, constraint.selector)
    return counts_per_row((group for group in selected if not group.terminating), cache.capacity)


def _domain_totals(key: str, counts: Counts, cache: Cache, counted: Rows) -> Counts:
    """Per code of the key: the pods in that domain, -1 where the domain has no node that counts."""
    codes = cache.labels.codes(key, counted)
    inside = codes != ABSENT
    totals: Counts = np.zeros(cache.labels.distinct(key), np.int64)
    np.add.at(totals, codes[inside], counts[counted][inside])
    there = np.zeros(len(totals), np.bool_)
    there[codes[inside]] = True
    totals[~there] = -1
    return totals


def _skew(constraint: _Constraint, pod: PodFacts, cache: Cache, counted: Rows) -> _Skew:
    totals = _domain_totals(constraint.topology_key, _counts(constraint, pod, cache), cache, counted)
    there = totals[totals >= 0]
    fewest = 0 if len(there) < constraint.min_domains else int(there.min(initial=2**31 - 1))
    most = constraint.max_skew + fewest - int(constraint.selector.matches(pod.labels))
    return _Skew(constraint, np.maximum(totals, 0), most)


def _spread_score(
    constraint: _Constraint, pod: PodFacts, cache: Cache, counted: Rows, rows: Rows, eligible: Mask
) -> npt.NDArray[np.float64]:
    """More pods in the domain, more points; the fewer domains there are, the less each pod weighs."""
    key = constraint.topology_key
    counts = _counts(constraint, pod, cache)
    codes = cache.labels.codes(key, rows)
    if key == HOSTNAME:
        here, domains = counts[rows], int(eligible.sum())
    else:
        totals = _domain_totals(key, counts, cache, counted)
        here = looked_up(np.maximum(totals, 0), key, cache, rows)
        domains = len(np.unique(codes[eligible]))
    points = here * np.log(domains + 2) + (constraint.max_skew - 1)
    return np.where(codes != ABSENT, points, 0.0)


def _normalised(raw: Scores, eligible: Mask) -> Scores:
    """Fewest points, best score; nodes that do not take part get none."""
    taking_part = raw[eligible]
    if not len(taking_part):
        return np.zeros(len(raw), np.int64)
    lowest, highest = int(taking_part.min()), int(taking_part.max())
    if highest == 0:
        return np.where(eligible, SCORE_MAX, 0)
    return np.where(eligible, SCORE_MAX * (highest + lowest - raw) // highest, 0)

"""``matchLabelKeys``: labels of the incoming pod itself, made part of its own selectors.

A pod that says "spread me among those of my own revision" names the label key; its value is known only
when the pod exists. So the key is turned into an expression of the selector once, at creation.

Upstream: ``applyMatchLabelKeysAndMismatchLabelKeys`` in ``pkg/registry/core/pod/strategy.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from podling.api.core_v1 import (
    Affinity,
    PodAffinityTerm,
    PodSpec,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement
from podling.apiserver.kinds.common.filling import change, each


def apply_label_keys(spec: PodSpec, labels: Mapping[str, str]) -> PodSpec:
    """``spec`` with every ``matchLabelKeys`` and ``mismatchLabelKeys`` merged into its selector."""
    if spec.affinity is None and not spec.topology_spread_constraints:
        return spec

    def spread(constraint: TopologySpreadConstraint) -> TopologySpreadConstraint:
        selector = _merged(constraint.label_selector, constraint.match_label_keys, (), labels)
        return change(constraint, label_selector=selector)

    def term(found: PodAffinityTerm) -> PodAffinityTerm:
        selector = _merged(found.label_selector, found.match_label_keys, found.mismatch_label_keys, labels)
        return change(found, label_selector=selector)

    def weighted(found: WeightedPodAffinityTerm) -> WeightedPodAffinityTerm:
        return change(found, pod_affinity_term=term(found.pod_affinity_term))

    affinity = spec.affinity
    if affinity is not None:
        affinity = _affinity(affinity, term, weighted)
    constraints = each(spec.topology_spread_constraints, spread)
    return change(spec, affinity=affinity, topology_spread_constraints=constraints)


def _affinity(
    affinity: Affinity,
    term: Callable[[PodAffinityTerm], PodAffinityTerm],
    weighted: Callable[[WeightedPodAffinityTerm], WeightedPodAffinityTerm],
) -> Affinity:
    pod, anti = affinity.pod_affinity, affinity.pod_anti_affinity
    if pod is not None:
        pod = change(
            pod,
            required_during_scheduling_ignored_during_execution=each(
                pod.required_during_scheduling_ignored_during_execution, term
            ),
            preferred_during_scheduling_ignored_during_execution=each(
                pod.preferred_during_scheduling_ignored_during_execution, weighted
            ),
        )
    if anti is not None:
        anti = change(
            anti,
            required_during_scheduling_ignored_during_execution=each(
                anti.required_during_scheduling_ignored_during_execution, term
            ),
            preferred_during_scheduling_ignored_during_execution=each(
                anti.preferred_during_scheduling_ignored_during_execution, weighted
            ),
        )
    return change(affinity, pod_affinity=pod, pod_anti_affinity=anti)


def _merged(
    selector: LabelSelector | None,
    match: tuple[str, ...],
    mismatch: tuple[str, ...],
    labels: Mapping[str, str],
) -> LabelSelector | None:
    if selector is None or not (match or mismatch):
        return selector
    added = [
        LabelSelectorRequirement(key=key, operator=operator, values=(labels[key],))
        for keys, operator in ((match, "In"), (mismatch, "NotIn"))
        for key in keys
        if key in labels
    ]
    return change(selector, match_expressions=(*selector.match_expressions, *added)) if added else selector

"""``matchLabelKeys``: keys of the new pod's labels that become part of its own selectors.

A pod that spreads among the pods of its own revision names only the label's key, because the value is known
once the pod exists. Its creation replaces the key by an expression in the selector.

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
from podling.apiserver.kinds.common.filling import change, map_items


def apply_label_keys(spec: PodSpec, labels: Mapping[str, str]) -> PodSpec:
    """Return ``spec`` with every ``matchLabelKeys`` and ``mismatchLabelKeys`` merged into its selector."""
    if spec.affinity is None and not spec.topology_spread_constraints:
        return spec

    def merge_constraint(constraint: TopologySpreadConstraint) -> TopologySpreadConstraint:
        selector = _merge(constraint.label_selector, constraint.match_label_keys, (), labels)
        return change(constraint, label_selector=selector)

    def merge_term(found: PodAffinityTerm) -> PodAffinityTerm:
        selector = _merge(found.label_selector, found.match_label_keys, found.mismatch_label_keys, labels)
        return change(found, label_selector=selector)

    def merge_weighted_term(found: WeightedPodAffinityTerm) -> WeightedPodAffinityTerm:
        return change(found, pod_affinity_term=merge_term(found.pod_affinity_term))

    affinity = spec.affinity
    if affinity is not None:
        affinity = _affinity(affinity, merge_term, merge_weighted_term)
    constraints = map_items(spec.topology_spread_constraints, merge_constraint)
    return change(spec, affinity=affinity, topology_spread_constraints=constraints)


def _affinity(
    affinity: Affinity,
    merge_term: Callable[[PodAffinityTerm], PodAffinityTerm],
    merge_weighted_term: Callable[[WeightedPodAffinityTerm], WeightedPodAffinityTerm],
) -> Affinity:
    pod, anti = affinity.pod_affinity, affinity.pod_anti_affinity
    if pod is not None:
        pod = change(
            pod,
            required_during_scheduling_ignored_during_execution=map_items(
                pod.required_during_scheduling_ignored_during_execution, merge_term
            ),
            preferred_during_scheduling_ignored_during_execution=map_items(
                pod.preferred_during_scheduling_ignored_during_execution, merge_weighted_term
            ),
        )
    if anti is not None:
        anti = change(
            anti,
            required_during_scheduling_ignored_during_execution=map_items(
                anti.required_during_scheduling_ignored_during_execution, merge_term
            ),
            preferred_during_scheduling_ignored_during_execution=map_items(
                anti.preferred_during_scheduling_ignored_during_execution, merge_weighted_term
            ),
        )
    return change(affinity, pod_affinity=pod, pod_anti_affinity=anti)


def _merge(
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

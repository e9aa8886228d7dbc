"""Warnings about deprecated node labels and selectors that match nothing.

Upstream: ``pkg/api/pod/warnings.go``, ``pkg/api/node/util.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from podling.api.core_v1 import Affinity, NodeSelectorTerm, PodAffinity, PodAntiAffinity, PodSpec
from podling.apiserver.kinds.common.deprecated_labels import DEPRECATED_NODE_LABELS, node_term_warnings
from podling.machinery import names
from podling.machinery.fields import Path

_NO_SELECTOR = "a null labelSelector results in matching no pod"


def scheduling_warnings(path: Path, spec: PodSpec) -> Iterator[str]:
    for key in spec.node_selector:
        if key in DEPRECATED_NODE_LABELS:
            yield f"{path.child('nodeSelector').key(key)}: {DEPRECATED_NODE_LABELS[key]}"
    affinity = spec.affinity
    if affinity is not None and affinity.node_affinity is not None:
        here, node = path.child("affinity", "nodeAffinity"), affinity.node_affinity
        required = node.required_during_scheduling_ignored_during_execution
        terms = here.child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
        for position, term in enumerate(required.node_selector_terms if required else ()):
            yield from node_term_warnings(terms.index(position), term)
        preferred = here.child("preferredDuringSchedulingIgnoredDuringExecution")
        for position, weighted in enumerate(node.preferred_during_scheduling_ignored_during_execution):
            where = preferred.index(position).child("preference")
            yield from node_term_warnings(where, weighted.preference)
            yield from _impossible_values(where, weighted.preference)
    for position, constraint in enumerate(spec.topology_spread_constraints):
        where = path.child("topologySpreadConstraints").index(position)
        if constraint.topology_key in DEPRECATED_NODE_LABELS:
            text = DEPRECATED_NODE_LABELS[constraint.topology_key]
            yield f"{where.child('topologyKey')}: {constraint.topology_key} is {text}"
        if constraint.label_selector is None:
            yield f"{where.child('labelSelector')}: {_NO_SELECTOR}"


def _impossible_values(path: Path, term: NodeSelectorTerm) -> Iterator[str]:
    """Yield warnings about a preference for label values that no node can have."""
    for position, expression in enumerate(term.match_expressions):
        for number, value in enumerate(expression.values):
            where = path.child("matchExpressions").index(position).child("values").index(number)
            for problem in names.label_value_errors(value):
                yield f"{where}: {value} is invalid, {problem}"


def pod_affinity_warnings(path: Path, affinity: Affinity) -> Iterator[str]:
    yield from _pod_affinity(path.child("podAffinity"), affinity.pod_affinity)
    yield from _pod_affinity(path.child("podAntiAffinity"), affinity.pod_anti_affinity)


def _pod_affinity(path: Path, affinity: PodAffinity | PodAntiAffinity | None) -> Iterator[str]:
    if affinity is None:
        return
    required = path.child("requiredDuringSchedulingIgnoredDuringExecution")
    for position, term in enumerate(affinity.required_during_scheduling_ignored_during_execution):
        if term.label_selector is None:
            yield f"{required.index(position).child('labelSelector')}: {_NO_SELECTOR}"
    preferred = path.child("preferredDuringSchedulingIgnoredDuringExecution")
    for position, weighted in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        if weighted.pod_affinity_term.label_selector is None:
            yield f"{preferred.index(position).child('podAffinityTerm', 'labelSelector')}: {_NO_SELECTOR}"

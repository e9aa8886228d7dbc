"""Warnings about selectors that use deprecated labels of nodes.

Upstream: ``pkg/api/node/util.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podling.api.core_v1 import NodeSelectorRequirement, NodeSelectorTerm
from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement
from podling.machinery.fields import Path

_RENAMED = (
    ("failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"),
    ("beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type"),
    ("beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"),
)

NEWER_NODE_LABELS = {old: new for old, _, new in _RENAMED}
DEPRECATED_NODE_LABELS = {
    old: f'deprecated since {since}; use "{new}" instead' for old, since, new in _RENAMED
}


def node_term_warnings(path: Path, term: NodeSelectorTerm) -> Iterator[str]:
    yield from _expressions(path, term.match_expressions)


def node_selector_warnings(path: Path, selector: LabelSelector | None) -> Iterator[str]:
    """Yield the warnings about a label selector that selects nodes."""
    if selector is None:
        return
    yield from _expressions(path, selector.match_expressions)
    for label in selector.match_labels:
        if label in DEPRECATED_NODE_LABELS:
            yield f"{path.child('matchLabels').child(label)}: {DEPRECATED_NODE_LABELS[label]}"


def _expressions(
    path: Path, expressions: Iterable[NodeSelectorRequirement | LabelSelectorRequirement]
) -> Iterator[str]:
    for position, expression in enumerate(expressions):
        if expression.key in DEPRECATED_NODE_LABELS:
            where = path.child("matchExpressions").index(position).child("key")
            yield f"{where}: {expression.key} is {DEPRECATED_NODE_LABELS[expression.key]}"

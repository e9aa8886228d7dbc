"""Matching of nodes by node selectors. Pure.

Upstream: ``k8s.io/component-helpers/scheduling/corev1/nodeaffinity``.
"""

from __future__ import annotations

from podling.api.core_v1 import Node, NodeSelector, NodeSelectorTerm
from podling.machinery.selectors import SelectorError, from_node_selector_requirements

NODE_NAME_FIELD = "metadata.name"


def selects_node(selector: NodeSelector | None, node: Node) -> bool:
    """Any of the terms is enough; no selector at all names every node."""
    return selector is None or any(_matches(term, node) for term in selector.node_selector_terms)


def _matches(term: NodeSelectorTerm, node: Node) -> bool:
    """Return an empty term matches nothing, one that cannot be read neither."""
    if not term.match_expressions and not term.match_fields:
        return False
    try:
        labels = from_node_selector_requirements(term.match_expressions)
        fields = from_node_selector_requirements(term.match_fields)
    except SelectorError:
        return False
    named = {NODE_NAME_FIELD: node.metadata.name or ""}
    return labels.matches(node.metadata.labels) and fields.matches(named)

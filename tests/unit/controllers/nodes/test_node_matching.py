"""Node selectors over nodes (cases of nodeaffinity_test.go)."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.nodes.node_matching import selects_node

NODE = Node(metadata=ObjectMeta(name="n1", labels={"zone": "a", "cores": "8"}))


def needs(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


ZONE_A = needs("zone", "In", "a")
ZONE_B = needs("zone", "In", "b")
BY_NAME = needs("metadata.name", "In", "n1")
BY_OTHER_NAME = needs("metadata.name", "NotIn", "n1")


@pytest.mark.parametrize(
    ("terms", "selected"),
    [
        ((), False),
        ((NodeSelectorTerm(),), False),
        ((NodeSelectorTerm(match_expressions=(ZONE_A,)),), True),
        ((NodeSelectorTerm(match_expressions=(ZONE_A, ZONE_B)),), False),
        ((NodeSelectorTerm(match_expressions=(ZONE_B,)), NodeSelectorTerm(match_fields=(BY_NAME,))), True),
        ((NodeSelectorTerm(match_fields=(BY_OTHER_NAME,)),), False),
        ((NodeSelectorTerm(match_expressions=(ZONE_A,), match_fields=(BY_OTHER_NAME,)),), False),
        ((NodeSelectorTerm(match_expressions=(needs("cores", "Gt", "4"),)),), True),
        ((NodeSelectorTerm(match_expressions=(needs("cores", "Gt", "many"),)),), False),
        ((NodeSelectorTerm(match_expressions=(needs("gpu", "DoesNotExist"),)),), True),
    ],
)
def test_node_selector_needs_one_matching_term(terms: tuple[NodeSelectorTerm, ...], selected: bool) -> None:
    assert selects_node(NodeSelector(node_selector_terms=terms), NODE) is selected


def test_missing_node_selector_selects_every_node() -> None:
    assert selects_node(None, NODE)

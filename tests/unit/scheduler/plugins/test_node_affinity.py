"""The NodeAffinity plugin."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from podling.scheduler.framework import Hopeless
from podling.scheduler.plugins import node_affinity
from tests.unit.scheduler.scheduling import (
    accepted,
    cache_of,
    facts,
    node,
    rejections,
    scores,
)


def requires(*terms: NodeSelectorTerm) -> Affinity:
    required = NodeSelector(node_selector_terms=terms)
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required))


def labelled(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        match_expressions=(NodeSelectorRequirement(key=key, operator=operator, values=values),)
    )


def named(operator: str, *values: str) -> NodeSelectorTerm:
    requirement = NodeSelectorRequirement(key="metadata.name", operator=operator, values=values)
    return NodeSelectorTerm(match_fields=(requirement,))


class TestNodeAffinity:
    nodes = (
        node("small", labels={"zone": "a", "cores": "2"}),
        node("big", labels={"zone": "b", "cores": "16"}),
        node("bare"),
    )

    @pytest.mark.parametrize(
        ("term", "taken"),
        [
            (labelled("zone", "In", "a"), ["small"]),
            (labelled("zone", "In", "a", "b", "nowhere"), ["small", "big"]),
            (labelled("zone", "In", "nowhere"), []),
            (labelled("zone", "NotIn", "a"), ["big", "bare"]),
            (labelled("zone", "Exists"), ["small", "big"]),
            (labelled("zone", "DoesNotExist"), ["bare"]),
            (labelled("cores", "Gt", "4"), ["big"]),
            (labelled("cores", "Lt", "4"), ["small"]),
            (labelled("zone", "Gt", "4"), []),
            (labelled("unknown", "Exists"), []),
            (labelled("unknown", "NotIn", "x"), ["small", "big", "bare"]),
            (named("In", "bare"), ["bare"]),
            (named("NotIn", "bare"), ["small", "big"]),
            (NodeSelectorTerm(), []),
        ],
    )
    def test_single_term_selects_nodes(self, term: NodeSelectorTerm, taken: list[str]) -> None:
        cache = cache_of(*self.nodes)
        assert accepted(node_affinity.NodeAffinity(), facts(affinity=requires(term)), cache) == taken

    def test_terms_are_alternatives_and_what_is_in_one_must_all_hold(self) -> None:
        both = NodeSelectorTerm(
            match_expressions=(
                NodeSelectorRequirement(key="zone", operator="Exists"),
                NodeSelectorRequirement(key="cores", operator="In", values=("16",)),
            )
        )
        cache = cache_of(*self.nodes)
        one = facts(affinity=requires(both, labelled("zone", "DoesNotExist")))
        assert accepted(node_affinity.NodeAffinity(), one, cache) == ["big", "bare"]

    def test_the_node_selector_and_the_affinity_must_both_hold(self) -> None:
        cache = cache_of(*self.nodes)
        one = facts(node_selector={"zone": "a"}, affinity=requires(labelled("cores", "In", "16")))
        assert accepted(node_affinity.NodeAffinity(), one, cache) == []
        reason = "node(s) didn't match Pod's node affinity/selector"
        assert rejections(node_affinity.NodeAffinity(), one, cache)["big"] == [reason]

    @pytest.mark.parametrize(
        ("terms", "candidates"),
        [
            ((named("In", "big"),), ["big"]),
            ((named("In", "big"), named("In", "bare", "gone")), ["big", "bare"]),
            ((named("In", "big"), labelled("zone", "Exists")), None),
            ((named("NotIn", "big"),), None),
            ((), None),
        ],
    )
    def test_terms_that_all_name_nodes_narrow_the_search(
        self, terms: tuple[NodeSelectorTerm, ...], candidates: list[str] | None
    ) -> None:
        cache = cache_of(*self.nodes)
        rows = node_affinity.NodeAffinity().candidates(facts(affinity=requires(*terms)), cache)
        found = None if rows is None else [cache.name_of(int(row)) for row in rows]
        assert (sorted(found) if found is not None else None) == (sorted(candidates) if candidates else None)

    def test_names_that_contradict_each_other_are_hopeless(self) -> None:
        fields = tuple(
            NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,))
            for name in ("small", "big")
        )
        one = facts(affinity=requires(NodeSelectorTerm(match_fields=fields)))
        with pytest.raises(Hopeless, match="pod affinity terms conflict"):
            node_affinity.NodeAffinity().candidates(one, cache_of(*self.nodes))

    def test_preferred_terms_add_up_and_the_best_node_gets_a_hundred(self) -> None:
        preferred = NodeAffinity(
            preferred_during_scheduling_ignored_during_execution=(
                PreferredSchedulingTerm(weight=10, preference=labelled("zone", "Exists")),
                PreferredSchedulingTerm(weight=30, preference=labelled("cores", "Gt", "4")),
            )
        )
        one = facts(affinity=Affinity(node_affinity=preferred))
        cache = cache_of(*self.nodes)
        assert scores(node_affinity.NodeAffinity(), one, cache) == {"small": 25, "big": 100, "bare": 0}
        assert scores(node_affinity.NodeAffinity(), facts(), cache) is None

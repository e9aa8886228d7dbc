"""States of nodes over time, and sums over them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from podling.machinery.scheme import resource_of
from podling.sim.changes import Change
from podling.sim.node_figures import NodeFigures, node_state
from tests.support.checked import BEGIN, node


def played(stages: list[Any], end: float) -> NodeFigures:
    """Return the figures after a node had these states, ten seconds each."""
    figures = NodeFigures()
    for number, (old, new) in enumerate(pairwise([None, *stages])):
        last = new if new is not None else old
        change = Change(BEGIN, 1, resource_of(type(last)), "", last.metadata.name, old, new, last)
        figures.change(change, number * 10)
    figures.end(end)
    return figures


def test_states_of_a_node_are_spans() -> None:
    figures = played([node(), node(), node(ready="Unknown"), node()], 40)
    assert [(each.state, each.begin, each.end) for each in figures.spans] == [
        ("Ready", 0, 20),
        ("NotReady", 20, 30),
        ("Ready", 30, 40),
    ]
    assert figures.totals["ready"] == figures.totals["nodes"] == 1
    assert node_state(node()) == "Ready"


def test_amounts_follow_the_node() -> None:
    assert played([node(cpu="4")], 10).totals["milli"] == 4000
    assert played([node(cpu="4"), node(cpu="6")], 20).totals["milli"] == 6000
    gone = played([node(cpu="4"), None], 20)
    assert not any(gone.totals.values())
    assert [(each.begin, each.end) for each in gone.spans] == [(0, 10)]

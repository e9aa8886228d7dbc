"""Events about a node, by the changes of its conditions."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Node, NodeCondition, NodeSpec, NodeStatus
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.node.node_events import node_events


def conditions(**states: str) -> tuple[NodeCondition, ...]:
    return tuple(NodeCondition(type=type_, status=status) for type_, status in states.items())


def node(unschedulable: bool = False, /, **states: str) -> Node:
    return Node(
        metadata=ObjectMeta(name="one"),
        spec=NodeSpec(unschedulable=unschedulable),
        status=NodeStatus(conditions=conditions(**states)),
    )


GOOD = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}


def test_first_report_has_event_for_each_condition() -> None:
    found = node_events((), node(**GOOD), was_unschedulable=None)
    assert found == [
        ("NodeHasSufficientMemory", "Node one status is now: NodeHasSufficientMemory"),
        ("NodeHasNoDiskPressure", "Node one status is now: NodeHasNoDiskPressure"),
        ("NodeHasSufficientPID", "Node one status is now: NodeHasSufficientPID"),
        ("NodeReady", "Node one status is now: NodeReady"),
    ]
    assert node_events(conditions(**GOOD), node(**GOOD), was_unschedulable=False) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"MemoryPressure": "True"}, "NodeHasInsufficientMemory"),
        ({"DiskPressure": "True"}, "NodeHasDiskPressure"),
        ({"PIDPressure": "True"}, "NodeHasInsufficientPID"),
        ({"Ready": "False"}, "NodeNotReady"),
    ],
)
def test_changed_condition_has_event(change: dict[str, str], reason: str) -> None:
    found = node_events(conditions(**GOOD), node(**GOOD | change), was_unschedulable=False)
    assert [name for name, _ in found] == [reason]


def test_cordoning_has_event_unless_it_was_so_at_the_start() -> None:
    good = conditions(**GOOD)
    cordoned = node(True, **GOOD)
    assert node_events(good, cordoned, was_unschedulable=None) == []
    assert [name for name, _ in node_events(good, cordoned, was_unschedulable=False)] == [
        "NodeNotSchedulable"
    ]
    assert [name for name, _ in node_events(good, node(**GOOD), was_unschedulable=True)] == [
        "NodeSchedulable"
    ]

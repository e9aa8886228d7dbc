"""The node's condition NetworkUnavailable."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from podling.api.core_v1 import Node, NodeCondition, NodeStatus
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.conditions import find
from podling.network.overlay.node_condition import NetworkCondition, condition_for, is_registered
from podling.testing import ControlPlane
from tests.support.control_loops import add_node

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def node(*conditions: NodeCondition) -> Node:
    return Node(metadata=ObjectMeta(name="n"), status=NodeStatus(conditions=conditions))


def test_network_is_available_unless_there_is_a_problem() -> None:
    found = condition_for(node(), "", NOW)
    assert found is not None
    assert (found.type, found.status, found.reason) == ("NetworkUnavailable", "False", "RouteCreated")
    assert found.last_transition_time == NOW
    assert condition_for(node(found), "", LATER) is None
    broken = condition_for(node(found), "no way", LATER)
    assert broken is not None
    assert (broken.status, broken.reason, broken.message) == ("True", "NoRouteCreated", "no way")
    assert broken.last_transition_time == LATER


def test_other_problem_keeps_the_time_of_the_first() -> None:
    first = condition_for(node(), "one", NOW)
    assert first is not None
    second = condition_for(node(first), "two", LATER)
    assert second is not None
    assert (second.message, second.last_transition_time, second.last_heartbeat_time) == ("two", NOW, LATER)


async def test_condition_is_written_beside_those_of_the_kubelet(cluster: ControlPlane) -> None:
    before = await cluster.client.create(node())
    condition = NetworkCondition(cluster.client)
    await condition.write(before, "")
    await condition.write(None, "")
    assert find((await cluster.client.get(Node, "n")).status.conditions, "NetworkUnavailable") is None
    await cluster.client.delete(Node, "n")
    registered = await add_node(cluster.client, "n")
    assert is_registered(registered)
    await condition.write(registered, "no way")
    found = (await cluster.client.get(Node, "n")).status.conditions
    assert {each.type: each.status for each in found} == {"Ready": "True", "NetworkUnavailable": "True"}

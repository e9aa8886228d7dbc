"""Taints and tolerations as tables."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podling.api.core_v1 import Node, NodeCondition, NodeSpec, NodeStatus, Pod, PodSpec, Taint, Toleration
from podling.controllers.nodes.taint_eviction import Fate, Leave, Stay, decide
from podling.controllers.nodes.taints import stale_state_taints, state_taints, swapped
from podling.sim.loop import EPOCH

DOWN = Taint(key="node.kubernetes.io/unreachable", effect="NoExecute")
SLOW = Taint(key="slow", value="disk", effect="NoExecute")


@pytest.mark.parametrize(
    ("type_", "status", "key"),
    [
        ("Ready", "False", "not-ready"),
        ("Ready", "Unknown", "unreachable"),
        ("MemoryPressure", "True", "memory-pressure"),
        ("DiskPressure", "True", "disk-pressure"),
        ("PIDPressure", "True", "pid-pressure"),
        ("NetworkUnavailable", "True", "network-unavailable"),
    ],
)
def test_bad_condition_yields_its_taint(type_: str, status: str, key: str) -> None:
    node = Node(status=NodeStatus(conditions=(NodeCondition(type=type_, status=status),)))
    assert state_taints(node) == (Taint(key=f"node.kubernetes.io/{key}", effect="NoSchedule"),)


def test_good_conditions_yield_no_taints() -> None:
    conditions = (
        NodeCondition(type="Ready", status="True"),
        NodeCondition(type="DiskPressure", status="False"),
        NodeCondition(type="MemoryPressure", status="Unknown"),
    )
    assert state_taints(Node(status=NodeStatus(conditions=conditions))) == ()


def test_a_taint_whose_cause_is_over_goes_and_other_peoples_stay() -> None:
    stale = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    other = Taint(key="dedicated", value="db", effect="NoSchedule")
    executing = Taint(key="node.kubernetes.io/not-ready", effect="NoExecute")
    node = Node(spec=NodeSpec(taints=(stale, other, executing)))
    assert stale_state_taints(node) == (stale,)


def test_swapping_adds_with_the_time_and_removes() -> None:
    (added,) = swapped((DOWN,), (SLOW,), (DOWN,), EPOCH + timedelta(milliseconds=5))
    assert (added.key, added.time_added) == ("slow", EPOCH)
    assert swapped((DOWN,), (DOWN,), (SLOW,), EPOCH) == (DOWN,)


FOREVER = Toleration(operator="Exists")
FIVE_MINUTES = Toleration(key=DOWN.key, operator="Exists", effect="NoExecute", toleration_seconds=300)
A_MINUTE = Toleration(key="slow", operator="Exists", effect="NoExecute", toleration_seconds=60)
NOT_AT_ALL = Toleration(key="slow", operator="Exists", effect="NoExecute", toleration_seconds=-5)


@pytest.mark.parametrize(
    ("tolerations", "taints", "fate"),
    [
        pytest.param((), (), Stay(), id="no taints"),
        pytest.param((), (DOWN,), Leave(EPOCH), id="not tolerated"),
        pytest.param((FOREVER,), (DOWN, SLOW), Stay(), id="tolerated for ever"),
        pytest.param((FIVE_MINUTES,), (DOWN,), Leave(EPOCH + timedelta(minutes=5)), id="for a time"),
        pytest.param(
            (FIVE_MINUTES, A_MINUTE), (DOWN, SLOW), Leave(EPOCH + timedelta(minutes=1)), id="the least counts"
        ),
        pytest.param((FIVE_MINUTES,), (DOWN, SLOW), Leave(EPOCH), id="one of two is not tolerated"),
        pytest.param((NOT_AT_ALL,), (SLOW,), Leave(EPOCH), id="a negative time is none"),
    ],
)
def test_the_fate_of_a_pod(
    tolerations: tuple[Toleration, ...], taints: tuple[Taint, ...], fate: Fate
) -> None:
    pod = Pod(spec=PodSpec(tolerations=tolerations))
    assert decide(pod, taints, None, EPOCH) == fate


def test_a_deadline_once_set_stands() -> None:
    pod = Pod(spec=PodSpec(tolerations=(FIVE_MINUTES, A_MINUTE)))
    deadline = EPOCH + timedelta(minutes=3)
    assert decide(pod, (DOWN,), deadline, EPOCH + timedelta(minutes=2)) == Leave(deadline)
    assert decide(pod, (), deadline, EPOCH) == Stay()

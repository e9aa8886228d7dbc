"""Silent nodes and their conditions, judged by the controller's own clock."""

from __future__ import annotations

from datetime import datetime, timedelta

from podling.api.coordination_v1 import Lease, LeaseSpec
from podling.api.core_v1 import Node, NodeCondition, NodeStatus
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.nodes.node_health import is_silent, observe, silent_conditions
from podling.controllers.options import DEFAULT_OPTIONS
from podling.sim.loop import EPOCH

CREATED = EPOCH


def at(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def node(*conditions: NodeCondition, uid: str = "u1") -> Node:
    metadata = ObjectMeta(name="n", uid=uid, creation_timestamp=CREATED)
    return Node(metadata=metadata, status=NodeStatus(conditions=conditions))


def ready(heartbeat: float, status: str = "True") -> NodeCondition:
    return NodeCondition(type="Ready", status=status, last_heartbeat_time=at(heartbeat))


def lease(renewed: float) -> Lease:
    return Lease(spec=LeaseSpec(renew_time=at(renewed)))


def test_fifty_seconds_after_the_last_heartbeat_a_node_is_silent() -> None:
    quiet = node(ready(0))
    health = observe(None, quiet, None, at(100))
    health = observe(health, quiet, None, at(140))
    assert not is_silent(health, quiet, at(150), DEFAULT_OPTIONS)
    assert is_silent(health, quiet, at(151), DEFAULT_OPTIONS)


def test_a_renewed_lease_is_a_sign_of_life_too() -> None:
    quiet = node(ready(0))
    health = observe(None, quiet, lease(0), at(100))
    health = observe(health, quiet, lease(40), at(140))
    assert not is_silent(health, quiet, at(190), DEFAULT_OPTIONS)
    assert is_silent(health, quiet, at(191), DEFAULT_OPTIONS)


def test_a_clock_that_is_wrong_by_hours_does_not_matter() -> None:
    health = observe(None, node(ready(-7200)), None, at(0))
    health = observe(health, node(ready(-7190)), None, at(10))
    assert not is_silent(health, node(ready(-7190)), at(60), DEFAULT_OPTIONS)


def test_a_node_that_never_reported_has_a_minute_from_its_creation() -> None:
    silent = node()
    health = observe(None, silent, None, at(30))
    assert not is_silent(health, silent, at(60), DEFAULT_OPTIONS)
    assert is_silent(health, silent, at(61), DEFAULT_OPTIONS)


def test_another_node_of_the_same_name_starts_anew() -> None:
    health = observe(None, node(ready(0)), None, at(0))
    health = observe(health, node(ready(0), uid="u2"), None, at(100))
    assert health.sign_of_life == at(100)


def test_conditions_of_a_node_that_stopped_reporting() -> None:
    silent = node(ready(0), NodeCondition(type="DiskPressure", status="False"))
    conditions = {each.type: each for each in silent_conditions(silent, at(60))}
    assert conditions["Ready"].status == "Unknown"
    assert conditions["Ready"].reason == "NodeStatusUnknown"
    assert conditions["Ready"].message == "Kubelet stopped posting node status."
    assert conditions["Ready"].last_heartbeat_time == at(0)
    assert conditions["Ready"].last_transition_time == at(60)
    assert conditions["DiskPressure"].status == "Unknown"
    assert conditions["MemoryPressure"].reason == "NodeStatusNeverUpdated"
    assert conditions["PIDPressure"].message == "Kubelet never posted node status."
    assert conditions["PIDPressure"].last_heartbeat_time == CREATED


def test_unknown_conditions_are_not_written_again() -> None:
    silent = node(ready(0))
    once = silent_conditions(silent, at(60))
    assert silent_conditions(node(*once), at(90)) == once

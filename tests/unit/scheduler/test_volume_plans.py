"""Promises of volumes and nodes to claims, counted by pod."""

from __future__ import annotations

from podling.scheduler.volume_plans import VolumePlan, VolumePlans
from tests.unit.scheduler.plugins.volumes import claim, volume

DATA, LOGS = claim("data"), claim("logs")


def test_promises_end_with_the_plan() -> None:
    plans = VolumePlans()
    plans.put("a", VolumePlan("n", ((DATA, volume("v")),), (LOGS,)))
    assert plans.promised == {"v": ("default", "data")}
    assert plans.selected_nodes == {("default", "logs"): "n"}
    plans.drop("a")
    assert (plans.promised, plans.selected_nodes, plans.get("a")) == ({}, {}, None)


def test_promise_to_two_pods_ends_with_the_last_one() -> None:
    plans, plan = VolumePlans(), VolumePlan("n", ((DATA, volume("v")),), (LOGS,))
    plans.put("a", plan)
    plans.put("b", plan)
    plans.drop("a")
    assert (set(plans.promised), set(plans.selected_nodes)) == ({"v"}, {("default", "logs")})
    plans.drop("b")
    assert (plans.promised, plans.selected_nodes) == ({}, {})


def test_later_plan_of_a_pod_takes_the_place_of_the_first() -> None:
    plans = VolumePlans()
    plans.put("a", VolumePlan("n", ((DATA, volume("v")),), ()))
    plans.put("a", VolumePlan("m", ((DATA, volume("w")),), ()))
    assert set(plans.promised) == {"w"}

"""Conditions over objects: counts and expressions follow every change."""

from __future__ import annotations

import msgspec
import pytest

from podling.sim.changes import Change
from podling.sim.conditions import Judge, is_conditioned, judge_of, resource_named, state_of
from podling.sim.scenario_parts import Condition
from tests.support.checked import BEGIN, node, pod


def judge(plain: object) -> Judge:
    return judge_of(msgspec.convert(plain, Condition))


def note(judged: Judge, obj: object, *, deleted: bool = False) -> bool:
    from podling.machinery.scheme import resource_of

    metadata = getattr(obj, "metadata")  # noqa: B009
    new = None if deleted else obj
    change = Change(BEGIN, 1, resource_of(type(obj)), metadata.namespace or "", metadata.name, None, new, obj)
    return judged.note(change)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Pod", "Pod"),
        ("pods", "Pod"),
        ("po", "Pod"),
        ("deployment", "Deployment"),
        ("deploy", "Deployment"),
        ("Event", "Event"),
        ("events.events.k8s.io", "Event"),
        ("ReplicaSet.apps", "ReplicaSet"),
        ("pdb", "PodDisruptionBudget"),
    ],
)
def test_kind_is_found_by_any_of_its_names(text: str, kind: str) -> None:
    found = resource_named(text)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize("text", ["", "podd", "pods.apps", "kind.group.example"])
def test_unknown_kind_is_none(text: str) -> None:
    assert resource_named(text) is None


def test_count_follows_phase_and_deletion() -> None:
    judged = judge({"count": {"is": "Ready", "equals": 1}})
    assert not judged.holds()
    assert not note(judged, pod(phase="Pending"))
    assert note(judged, pod())
    assert judged.holds()
    assert note(judged, pod(), deleted=True)
    assert not judged.holds()


@pytest.mark.parametrize(
    ("bounds", "holds"),
    [
        ({"equals": 2}, True),
        ({"atLeast": 2}, True),
        ({"atLeast": 3}, False),
        ({"atMost": 2}, True),
        ({"atMost": 1}, False),
        ({"atLeast": 1, "atMost": 3}, True),
        ({"name": "a*", "equals": 1}, True),
        ({"namespace": "other", "equals": 0}, True),
        ({"selector": "tier=front", "equals": 1}, True),
        ({"where": "object.metadata.name == 'b1'", "equals": 1}, True),
        ({"where": "object.status.absent == 'b1'", "equals": 0}, True),
    ],
)
def test_count_has_bounds_and_filters(bounds: dict[str, object], holds: bool) -> None:
    judged = judge({"count": bounds})
    note(judged, pod("a1", labels={"tier": "front"}))
    note(judged, pod("b1"))
    note(judged, node("a2"))
    assert judged.holds() is holds


def test_expression_follows_every_kind_that_it_names() -> None:
    judged = judge({"cel": "pods.size() == nodes.size()"})
    assert judged.holds()
    assert note(judged, pod())
    assert not judged.holds()
    assert note(judged, node())
    assert judged.holds()


@pytest.mark.parametrize(("group", "holds"), [("all", False), ("any", True)])
def test_group_joins_conditions(group: str, holds: bool) -> None:
    judged = judge({group: [{"count": {"equals": 1}}, {"count": {"kind": "Node", "equals": 1}}]})
    note(judged, pod())
    assert judged.holds() is holds


def test_diagnosis_names_the_objects_that_do_not_fit() -> None:
    judged = judge({"count": {"selector": "app=web", "is": "Ready", "atLeast": 2}})
    for number in range(7):
        waiting = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "full"}]
        note(judged, pod(f"web-{number}", phase="Pending", labels={"app": "web"}, conditions=waiting))
    lines = judged.diagnosis().splitlines()
    assert lines[0] == "0 pods with app=web that are Ready; wanted at least 2"
    assert lines[1] == "  default/web-0: Pending; PodScheduled=False Unschedulable: full"
    assert lines[-1] == "  and 2 more"


def test_condition_is_a_phase_or_a_true_condition() -> None:
    assert is_conditioned(pod(), "Running")
    assert is_conditioned(pod(), "Ready")
    assert not is_conditioned(pod(phase="Failed"), "Ready")
    assert state_of(pod(deletionTimestamp="2026-01-01T00:00:00Z")) == "Running; is being deleted"

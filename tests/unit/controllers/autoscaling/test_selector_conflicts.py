"""Autoscalers of the same pods."""

from __future__ import annotations

from podling.client.base import Key
from podling.controllers.autoscaling.selector_conflicts import SelectorConflicts
from podling.machinery.selectors import parse_label_selector
from tests.unit.controllers.autoscaling.autoscaled import pod

A, B, ELSEWHERE = Key("test", "a"), Key("test", "b"), Key("other", "c")
MINE, ALL = parse_label_selector("app=x"), parse_label_selector("app")


def test_selectors_conflict_by_the_pods_that_they_choose() -> None:
    conflicts = SelectorConflicts()
    assert conflicts.put(A, MINE, [pod("p")]) == [A]
    assert conflicts.put(ELSEWHERE, MINE, [pod("p")]) == [ELSEWHERE]
    assert conflicts.put(B, parse_label_selector("app=y"), []) == []
    assert conflicts.put(A, MINE, [pod("p")]) == [A]
    assert conflicts.put(B, ALL, [pod("p")]) == [A, B]
    assert conflicts.put(A, MINE, [pod("p")]) == [A, B]


def test_gone_autoscaler_conflicts_no_more() -> None:
    conflicts = SelectorConflicts()
    conflicts.put(A, MINE, [])
    conflicts.put(B, ALL, [])
    conflicts.forget(B)
    conflicts.forget(B)
    assert conflicts.put(A, MINE, [pod("p")]) == [A]

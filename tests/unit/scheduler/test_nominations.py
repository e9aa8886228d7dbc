"""Nominated pods, by node and priority."""

from __future__ import annotations

from msgspec import structs

from podling.scheduler.nominations import Nominations
from tests.unit.scheduler.scheduling import cache_of, facts, node


def test_nominations_are_found_by_node() -> None:
    held, high, low = Nominations(), facts("high", priority=10), facts("low", priority=1)
    held.add(high, "a")
    held.add(low, "a")
    held.add(facts("other"), "gone")
    assert held.on({"a"}) == [high.uid, low.uid]
    assert held.lower_on("a", 10) == [low]
    assert [each.facts for each in held.in_cache(cache_of(node("a")))] == [high, low]


def test_later_nomination_takes_the_place_of_the_first() -> None:
    held, one = Nominations(), facts()
    held.add(one, "a")
    held.add(one, "b")
    assert held.end(one.uid) == (one, "b")
    assert held.end(one.uid) is None


def test_changed_pod_keeps_its_nomination() -> None:
    held, one = Nominations(), facts("p")
    changed = structs.replace(one, scored=(1, 1))
    held.update(changed)
    assert held.on({"a"}) == []
    held.add(one, "a")
    held.update(changed)
    assert held.end(one.uid) == (changed, "a")

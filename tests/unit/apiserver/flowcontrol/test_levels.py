"""Priority levels from their objects: limits, changes while requests wait, broken and missing objects."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from podling.api.flowcontrol_v1 import (
    LimitedPriorityLevelConfiguration,
    LimitResponse,
    PriorityLevelConfiguration,
    PriorityLevelConfigurationSpec,
    QueuingConfiguration,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.flowcontrol.levels import Level, Levels, queuing_of
from podling.apiserver.flowcontrol.queue_set import Queuing
from podling.apiserver.flowcontrol.queues import Request, SchemaCounts
from podling.apiserver.flowcontrol.work_estimate import ONE_SEAT
from podling.apiserver.kinds.flowcontrol.defaults import priority_levels

QUEUES = QueuingConfiguration(queues=16, hand_size=2, queue_length_limit=50)
NAMES = [each.metadata.name for each in priority_levels()]


def limited(
    name: str, shares: int, queuing: QueuingConfiguration | None = QUEUES
) -> PriorityLevelConfiguration:
    response = LimitResponse(type="Queue" if queuing else "Reject", queuing=queuing)
    found = LimitedPriorityLevelConfiguration(
        nominal_concurrency_shares=shares, lendable_percent=0, limit_response=response
    )
    spec = PriorityLevelConfigurationSpec(type="Limited", limited=found)
    return PriorityLevelConfiguration(metadata=ObjectMeta(name=name, uid=f"uid of {name}"), spec=spec)


def _occupied(level: Level, number: int) -> list[Request]:
    """Return requests of one seat that have been started in a level."""
    found = [level.queue_set.start(SchemaCounts(), ONE_SEAT, flow, 1.0) for flow in range(number)]
    return [each for each in found if isinstance(each, Request)]


def test_default_levels_have_a_seat_for_every_share() -> None:
    levels = Levels(245, 0.0)
    levels.configure(priority_levels(), 1.0)
    found = {name: level.limits.nominal for name, level in levels.by_name.items()}
    assert found == {
        "exempt": 0, "catch-all": 5, "system": 30, "node-high": 40, "leader-election": 10,
        "workload-high": 40, "workload-low": 100, "global-default": 20,
    }  # fmt: skip
    assert sum(each.queue_set.limit for each in levels.by_name.values()) == pytest.approx(245, abs=4)
    for level in levels.by_name.values():
        assert level.limits.lower <= level.queue_set.limit <= level.limits.upper


def test_mandatory_levels_exist_without_objects() -> None:
    levels = Levels(100, 0.0)
    assert set(levels.by_name) == {"exempt", "catch-all"}
    assert levels.by_name["exempt"].is_exempt
    assert levels.by_name["catch-all"].queuing == Queuing(0)
    assert levels.by_name["catch-all"].queue_set.limit == 100
    assert levels.by_name["catch-all"].uid == ""


def test_more_seats_dispatch_waiting_requests_at_once() -> None:
    levels = Levels(100, 0.0)
    levels.configure([limited("a", 10), limited("b", 85)], 0.0)
    requests = _occupied(levels.by_name["a"], 40)
    assert sum(each.is_executing for each in requests) == 10
    levels.by_name["a"].queue_set.started = 0
    levels.configure([limited("a", 85), limited("b", 10)], 2.0)
    assert all(each.is_executing for each in requests)


def test_level_without_object_drains_before_it_is_removed() -> None:
    levels = Levels(100, 0.0)
    levels.configure([limited("a", 10), limited("b", 85)], 0.0)
    level = levels.by_name["a"]
    requests = _occupied(level, 12)
    levels.configure([limited("b", 85)], 2.0)
    assert levels.by_name["a"] is level
    assert level.is_quiescing
    assert level.queue_set.limit == 10, "it keeps its share"
    while running := [each for each in requests if each.is_executing]:
        level.queue_set.finish(running[0], 3.0, 3.0)
        level.queue_set.dispatch(3.0)
    levels.adjust(10.0)
    assert set(levels.by_name) == {"b", "exempt", "catch-all"}
    assert levels.by_name["b"].limits.nominal == 95


def test_idle_level_without_object_is_removed_at_once() -> None:
    levels = Levels(100, 0.0)
    levels.configure([limited("a", 10)], 0.0)
    levels.configure([], 1.0)
    assert set(levels.by_name) == {"exempt", "catch-all"}


def test_level_that_comes_back_is_the_same_one() -> None:
    levels = Levels(100, 0.0)
    levels.configure([limited("a", 10)], 0.0)
    level = levels.by_name["a"]
    _occupied(level, 1)
    levels.configure([], 1.0)
    levels.configure([limited("a", 20)], 2.0)
    assert levels.by_name["a"] is level
    assert not level.is_quiescing


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"type": "Limited", "limited": None}, "broken union structure at the top, for Limited"),
        ({"type": "Exempt"}, "broken union structure at the top, for"),
    ],
)
def test_contradicting_objects_are_ignored(change: dict[str, object], why: str) -> None:
    good = limited("a", 10)
    bad = replace(good, spec=replace(good.spec, **change))
    with pytest.raises(ValueError, match=why):
        queuing_of(bad)
    levels = Levels(100, 0.0)
    levels.configure([bad], 0.0)
    assert "a" not in levels.by_name


def test_hands_that_cannot_be_dealt_are_ignored() -> None:
    levels = Levels(100, 0.0)
    levels.configure(
        [limited("a", 10, QueuingConfiguration(queues=2, hand_size=3, queue_length_limit=1))], 0.0
    )
    assert "a" not in levels.by_name


def test_only_the_exempt_level_may_be_exempt() -> None:
    exempt = next(each for each in priority_levels() if each.metadata.name == "exempt")
    with pytest.raises(ValueError, match="non-alignment between name and type"):
        queuing_of(replace(exempt, metadata=ObjectMeta(name="vip")))


def test_level_with_demand_borrows_at_the_next_adjustment() -> None:
    levels = Levels(245, 0.0)
    levels.configure(priority_levels(), 0.0)
    level = levels.by_name["global-default"]
    before = level.queue_set.limit
    requests = _occupied(level, 60)
    assert sum(each.is_executing for each in requests) == before
    levels.adjust(10.0)
    assert sum(each.is_executing for each in requests) > before
    assert level.queue_set.limit > level.limits.nominal

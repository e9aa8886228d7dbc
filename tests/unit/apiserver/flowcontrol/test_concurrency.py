"""Division of seats among levels (upstream: ``conc_alloc_test.go``, ``exempt_borrowing_test.go``)."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random  # noqa: TID251 (seeded)

import pytest

from podling.api.flowcontrol_v1 import LimitedPriorityLevelConfiguration as Limited
from podling.api.flowcontrol_v1 import LimitResponse, PriorityLevelConfigurationSpec, QueuingConfiguration
from podling.apiserver.flowcontrol.concurrency import (
    TARGET_MIN,
    Item,
    LevelDemand,
    Limits,
    adjust,
    allocate,
    limits_of,
)
from podling.apiserver.flowcontrol.seat_demand import SeatDemand
from podling.apiserver.kinds.flowcontrol.defaults import priority_levels

SLACK = 1e-9


def _problem(numbers: Random) -> tuple[int, list[Item]]:
    length, style = numbers.choice([0, 1, 2, 3, 4, 6, 9]), numbers.randrange(20)
    items, required = [], 0
    if length and style < 2:
        required = numbers.randrange(length * 3) + style
        cuts = [0.0, *sorted(numbers.random() for _ in range(length - 1)), 1.0]
        for low, high in pairwise(cuts):
            part = (high - low) * required
            if style:
                lower = part * max(0.0, 1.25 * numbers.random() - 1)
                items.append(Item(lower + numbers.random(), lower, part))
            else:
                items.append(Item(part + 2 * numbers.random(), part, part + 3 * numbers.random()))
    elif length:
        for _ in range(length):
            lower = max(0.0, numbers.random() * 5 - 1)
            items.append(Item(lower + 2 * numbers.random(), lower, lower + 3 * numbers.random()))
        low, high = sum(each.lower for each in items), sum(each.upper for each in items)
        required = round(low + (high - low) * numbers.random())
    while numbers.random() < 0.25:
        items.insert(numbers.randint(0, len(items)), Item(0.0, 0.0, numbers.random() + 0.00001))
    return required, items


def test_allocations_are_fair_within_their_bounds() -> None:
    numbers, impossible = Random(1234567890), 0
    for _ in range(5000):
        required, items = _problem(numbers)
        low, high = sum(each.lower for each in items), sum(each.upper for each in items)
        if low - required > 1e-7 or required - high > 1e-7:
            impossible += 1
            with pytest.raises(ValueError, match=r"which is (higher|lower) than the required sum"):
                allocate(required, items)
            continue
        found, proportion = allocate(required, items)
        assert math.isclose(sum(found), required, rel_tol=1e-7, abs_tol=1e-6)
        for given, item in zip(found, items, strict=True):
            fair = proportion * max(item.target, TARGET_MIN)
            expected = min(max(fair, item.lower), item.upper)
            assert math.isclose(given, expected, rel_tol=1e-7, abs_tol=1e-7), (required, items, found)
    assert impossible > 10


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (Item(1, -1, 2), "negative lower bounds are not allowed"),
        (Item(1, 2, 3), "target 0 is 1, which is below its lower bound of 2"),
        (Item(3, 2, 1), "should not be less than the lower bound 2"),
    ],
)
def test_contradicting_bounds_are_refused(item: Item, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        allocate(1, [item])


def test_negative_sums_are_refused() -> None:
    with pytest.raises(ValueError, match="negative sums are not supported"):
        allocate(-1, [])


def _spec(shares: int, lendable: int, borrowing: int | None, hand: int) -> PriorityLevelConfigurationSpec:
    queuing = QueuingConfiguration(queues=128, hand_size=hand, queue_length_limit=50)
    limited = Limited(
        nominal_concurrency_shares=shares,
        lendable_percent=lendable,
        borrowing_limit_percent=borrowing,
        limit_response=LimitResponse(type="Queue", queuing=queuing),
    )
    return PriorityLevelConfigurationSpec(type="Limited", limited=limited)


@pytest.mark.parametrize(
    ("shares", "lendable", "borrowing", "hand", "limits"),
    [
        (100, 90, None, 6, Limits(245, 24, 845, 37)),
        (20, 50, None, 6, Limits(49, 24, 649, 8)),
        (10, 0, 50, 4, Limits(25, 25, 38, 4)),
        (1, 0, 0, 8, Limits(3, 3, 3, 1)),
    ],
)
def test_limits_follow_shares(
    shares: int, lendable: int, borrowing: int | None, hand: int, limits: Limits
) -> None:
    assert limits_of(_spec(shares, lendable, borrowing, hand), 245, 600) == limits


def test_limits_of_levels_without_queues() -> None:
    found = {each.metadata.name: limits_of(each.spec, 245, 600) for each in priority_levels()}
    assert found["exempt"] == Limits(0, 0, 600)
    assert found["catch-all"] == Limits(13, 13, 613)


def _levels(demands: dict[str, float], seats: int) -> list[LevelDemand]:
    specs = {each.metadata.name or "": each.spec for each in priority_levels()}
    shares = 145  # those of the three limited levels below
    return [
        LevelDemand(limits_of(specs[name], shares, seats), demand_of(wanted), 0, name == "exempt")
        for name, wanted in demands.items()
    ]


def demand_of(seats: float) -> SeatDemand:
    return SeatDemand(seats, 0.0, round(seats), seats)


SEATS = 145 * 6


def test_exempt_level_takes_what_it_demands() -> None:
    wanted = dict.fromkeys(("workload-high", "exempt", "workload-low", "catch-all"), SEATS + 100.0)
    levels = _levels(wanted, SEATS)
    found, fraction = adjust(levels, SEATS)
    assert [each.current for each in found] == [
        levels[0].limits.lower, SEATS + 100, levels[2].limits.lower, levels[3].limits.lower
    ]  # fmt: skip
    assert fraction == 0


def test_limits_shrink_evenly_when_the_exempt_level_takes_part_of_them() -> None:
    names = ("workload-high", "exempt", "workload-low", "catch-all")
    levels = _levels(dict.fromkeys(names, SEATS + 100.0), SEATS)
    expected = [(each.limits.nominal + each.limits.lower) // 2 for each in levels]
    expected[1] = SEATS - expected[0] - expected[2] - expected[3]
    wanted = dict.fromkeys(names, SEATS + 100.0) | {"exempt": float(expected[1])}
    found, _ = adjust(_levels(wanted, SEATS), SEATS)
    assert [each.current for each in found] == expected


def test_level_that_demands_little_lends_the_rest() -> None:
    names = ("workload-high", "exempt", "workload-low", "catch-all")
    levels = _levels(dict.fromkeys(names, SEATS + 100.0), SEATS)
    expected = [each.limits.nominal for each in levels]
    expected[2] = levels[2].limits.lower
    expected[1] = SEATS - expected[0] - expected[2] - expected[3]
    wanted = dict.fromkeys(names, SEATS + 100.0) | {"exempt": float(expected[1]), "workload-low": 1.0}
    found, _ = adjust(_levels(wanted, SEATS), SEATS)
    assert [each.current for each in found] == expected


def test_limited_levels_borrow_from_each_other() -> None:
    names = ("workload-high", "exempt", "workload-low", "catch-all")
    levels = _levels(dict.fromkeys(names, 0.0) | {"workload-high": 5000.0}, SEATS)
    found, fraction = adjust(levels, SEATS)
    assert sum(each.current for each in found) == pytest.approx(SEATS, abs=2)
    assert found[0].current > levels[0].limits.nominal
    assert found[2].current == levels[2].limits.lower
    assert found[3].current == levels[3].limits.lower, "it lends nothing"
    assert fraction > 0

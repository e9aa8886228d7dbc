"""Recommendations from histories: upstream's figures, and bounds that hold for any history."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.machinery.quantity import parse
from podling.sim.loop import EPOCH
from podling_vpa.recommender.aggregates import Aggregate
from podling_vpa.recommender.estimates import (
    AMOUNT_MAX,
    confidence,
    container_recommendation,
    multiplied,
    percentile_amounts,
    recommendation,
    with_margin,
)
from podling_vpa.recommender.settings import DEFAULT_SETTINGS
from podling_vpa.types import ContainerPolicy

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def history(cpu: list[int], memory: list[int] | None = None, step: timedelta = MINUTE) -> Aggregate:
    """Return a history with a sample of CPU each step, in millicores, and peaks of memory, in bytes."""
    made = Aggregate(DEFAULT_SETTINGS, EPOCH)
    for place, value in enumerate(cpu):
        made.add_cpu(value, EPOCH + place * step)
    for place, value in enumerate(memory or ()):
        made.add_peak(value, EPOCH + place * DAY)
    return made


def test_percentiles_are_those_of_cpu_and_memory() -> None:
    found = history([1000, 2000, 3000], [10**9, 2 * 10**9, 3 * 10**9], step=timedelta())
    assert percentile_amounts(found, 0.2, 0.0)["cpu"] == pytest.approx(1000, rel=0.05)
    # Later peaks weigh twice as much as those of the day before.
    assert percentile_amounts(found, 0.4, 0.0)["memory"] == pytest.approx(2e9, rel=0.05)


def test_confidence_is_the_shorter_of_time_and_samples() -> None:
    found = history([1000] * 9, step=2 * MINUTE)
    assert confidence(found.first, found.last, found.count, DAY) == 0.00625
    assert confidence(found.first, found.last, found.count, 18 * MINUTE) == 0.5
    assert confidence(None, None, 0, DAY) == 0


@pytest.mark.parametrize(
    ("base", "found", "multiplier", "exponent", "expected"),
    [
        (3140, 0.0, 1.0, 1.0, AMOUNT_MAX),
        (3140, 0.0, 1.0, -1.0, 0),
        (3140, 0.0, 0.1, 2.0, AMOUNT_MAX),
        (3140, 0.00625, 0.1, 2.0, 907460),
        (3_140_000_000, 0.00625, 0.1, 2.0, 907460000000),
        (3140, 0.5, 0.1, 2.0, 4521),
        (3_140_000_000, 0.5, 0.1, 2.0, 4521600000),
        (0, 0.0, 1.0, 1.0, 0),
    ],
)
def test_confidence_widens_an_amount(
    base: int, found: float, multiplier: float, exponent: float, expected: int
) -> None:
    assert multiplied(base, found, multiplier, exponent) == expected


@pytest.mark.parametrize(
    ("days", "times"), [(0.5, 3.0), (1, 2.0), (7, 1.14)], ids=["12 hours", "a day", "a week"]
)
def test_upper_bound_narrows_as_upstream_says(days: float, times: float) -> None:
    assert multiplied(10_000, days, 1.0, 1.0) == pytest.approx(10_000 * times, rel=0.01)


@pytest.mark.parametrize(("minutes", "share"), [(5, 0.6), (30, 0.91), (60, 0.95)])
def test_lower_bound_rises_as_upstream_says(minutes: int, share: float) -> None:
    assert multiplied(10_000, minutes / 1440, 0.001, -2.0) == pytest.approx(10_000 * share, rel=0.01)


def test_margin_is_a_share() -> None:
    assert with_margin(3140, 0.1) == 3454
    assert with_margin(100, 0.15) == 115


def test_containers_share_the_least_of_a_pod() -> None:
    one = recommendation({"a": history([1])}, DEFAULT_SETTINGS)
    assert one.container_recommendations[0].target == {"cpu": "25m", "memory": "250Mi"}
    two = recommendation({"b": history([1]), "a": history([1])}, DEFAULT_SETTINGS)
    assert [each.container_name for each in two.container_recommendations] == ["a", "b"]
    assert two.container_recommendations[0].target == {"cpu": "12m", "memory": "125Mi"}


def test_only_controlled_resources_are_recommended() -> None:
    found = history([1])
    found.follow(ContainerPolicy(controlled_resources=("memory",)), per_autoscaler=False)
    (each,) = recommendation({"a": found}, DEFAULT_SETTINGS).container_recommendations
    assert [set(part or {}) for part in (each.target, each.lower_bound, each.upper_bound)] == [{"memory"}] * 3


def test_steady_day_gives_the_use_with_margin() -> None:
    found = history([500] * 1440, [2 * 10**9])
    each = container_recommendation("a", found, {"cpu": 25, "memory": 0}, DEFAULT_SETTINGS)
    # 500m lies in the bucket that ends at 524m; 15 % more is 602m.
    assert parse(each.wanted["cpu"]).milli_value == pytest.approx(500 * 1.15, rel=0.06)
    assert parse(each.upper_bound["cpu"]).milli_value == pytest.approx(500 * 1.15 * 2, rel=0.06)


USES = st.lists(st.integers(0, 200_000), min_size=1, max_size=40)


@given(USES, st.lists(st.integers(0, 10**12), max_size=8))
def test_bounds_are_ordered_and_at_least_the_minimum(cpu: list[int], memory: list[int]) -> None:
    found = recommendation({"a": history(cpu, memory)}, DEFAULT_SETTINGS)
    (each,) = found.container_recommendations
    for name, least in (("cpu", parse("25m")), ("memory", parse("250Mi"))):
        low, target, high = (
            parse((part or {})[name]) for part in (each.lower_bound, each.target, each.upper_bound)
        )
        assert least <= low <= target <= high
    assert each.uncapped_target == each.target


@given(USES, st.integers(1, 50_000))
def test_more_use_never_lowers_a_recommendation(cpu: list[int], more: int) -> None:
    below = percentile_amounts(history(cpu), 0.9, 0.15)
    above = percentile_amounts(history([each + more for each in cpu]), 0.9, 0.15)
    assert above["cpu"] >= below["cpu"]

"""Limits over time: the cases of ``horizontal_test.go`` on behaviours, stabilisation and scale events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api.autoscaling_v2 import HorizontalPodAutoscalerBehavior, HPAScalingPolicy, HPAScalingRules
from podling.controllers.autoscaling.scaling_limits import (
    Bounds,
    History,
    Recommendation,
    ScaleEvent,
    begun,
    limit,
    with_scale,
)
from podling.controllers.autoscaling.settings import DEFAULT_SETTINGS
from tests.unit.controllers.autoscaling.autoscaled import NOW

Rule = tuple[int, int, int, int, int]
"""Pods and their period, percent and its period, window."""
UP_DEFAULT: Rule = (4, 15, 100, 15, 0)
DOWN_DEFAULT: Rule = (0, 0, 100, 15, 0)
DESIRED, UP_LIMIT, DOWN_LIMIT = "DesiredWithinRange", "ScaleUpLimit", "ScaleDownLimit"
FEW, MANY = "TooFewReplicas", "TooManyReplicas"


def rules(rule: Rule, select: str = "Max") -> HPAScalingRules:
    pods, pods_period, percent, percent_period, window = rule
    policies = []
    if pods:
        policies.append(HPAScalingPolicy(type="Pods", value=pods, period_seconds=pods_period))
    if percent:
        policies.append(HPAScalingPolicy(type="Percent", value=percent, period_seconds=percent_period))
    return HPAScalingRules(
        policies=tuple(policies), select_policy=select, stabilization_window_seconds=window
    )


def behavior(up: Rule = UP_DEFAULT, down: Rule = DOWN_DEFAULT) -> HorizontalPodAutoscalerBehavior:
    return HorizontalPodAutoscalerBehavior(scale_up=rules(up), scale_down=rules(down))


def spread(changes: Sequence[int], seconds: int = 120) -> tuple[ScaleEvent, ...]:
    """Return events spread evenly over the last seconds, each in the middle of its part."""
    part = seconds / len(changes)
    return tuple(
        ScaleEvent(change, NOW - timedelta(seconds=int(seconds - part * (place + 1) + part / 2)))
        for place, change in enumerate(changes)
    )


def recommended(*entries: tuple[int, float]) -> tuple[Recommendation, ...]:
    """Return recommendations of so many minutes ago."""
    return tuple(Recommendation(count, NOW - timedelta(minutes=ago)) for count, ago in entries)


@pytest.mark.parametrize(
    ("current", "desired", "least", "most", "expected", "reason"),
    [
        (5, 7, 3, 8, 7, DESIRED),
        (3, 1, 2, 8, 2, FEW),
        (1, 0, 0, 10, 0, DESIRED),
        (20, 1000, 1, 10, 10, MANY),
        (3, 1000, 1, 2000, 6, UP_LIMIT),
        (1, 1000, 1, 2000, 4, UP_LIMIT),
        (1, 4, 1, 2000, 4, DESIRED),
        (1, 5, 1, 4, 4, MANY),
        (0, 3, 0, 10, 3, DESIRED),
    ],
)
def test_limits_without_behavior(
    current: int, desired: int, least: int, most: int, expected: int, reason: str
) -> None:
    found = limit(desired, Bounds(current, least, most), None, History(), DEFAULT_SETTINGS, NOW)
    assert (found.replicas, found.limited.reason) == (expected, reason)
    assert found.limited.status == ("False" if reason == DESIRED else "True")


@pytest.mark.parametrize(
    ("entries", "desired", "expected", "kept"),
    [
        ((), 5, 5, 1),
        (((4, 2), (5, 1)), 3, 5, 3),
        (((1, 2), (2, 1)), 3, 3, 3),
        (((10, 10), (9, 9)), 3, 3, 1),
        (((10, 10), (4, 1), (5, 2), (9, 9)), 3, 5, 3),
        (((10, 5), (4, 1)), 3, 10, 3),
        (((10, 5.02), (4, 1)), 3, 4, 2),
    ],
)
def test_highest_recommendation_counts_without_behavior(
    entries: Sequence[tuple[int, float]], desired: int, expected: int, kept: int
) -> None:
    history = History(recommended(*entries))
    found = limit(desired, Bounds(100, 1, 200), None, history, DEFAULT_SETTINGS, NOW)
    assert found.replicas == expected
    assert len(found.history.recommendations) == kept
    assert found.able.reason == ("ReadyForNewScale" if expected == desired else "ScaleDownStabilized")


@pytest.mark.parametrize(
    ("up_events", "down_events", "bounds", "up", "down", "desired", "expected", "reason"),
    [
        ((), (), (5, 3, 8), UP_DEFAULT, DOWN_DEFAULT, 7, 7, DESIRED),
        ((), (), (3, 2, 8), UP_DEFAULT, DOWN_DEFAULT, 1, 2, FEW),
        ((), (), (1, 0, 10), UP_DEFAULT, DOWN_DEFAULT, 0, 0, DESIRED),
        ((), (), (20, 1, 10), UP_DEFAULT, DOWN_DEFAULT, 1000, 10, MANY),
        ((), (), (100, 100, 150), UP_DEFAULT, DOWN_DEFAULT, 1000, 150, MANY),
        ((), (), (3, 1, 2000), (0, 0, 1, 60, 0), DOWN_DEFAULT, 1000, 4, UP_LIMIT),
        ((), (), (1000, 3, 2000), UP_DEFAULT, (20, 60, 0, 0, 0), 3, 980, DOWN_LIMIT),
        ((), (), (10, 1, 1000), UP_DEFAULT, DOWN_DEFAULT, 50, 20, UP_LIMIT),
        ((), (), (1, 1, 1000), UP_DEFAULT, DOWN_DEFAULT, 50, 5, UP_LIMIT),
        ((), (), (10, 1, 1000), (100, 60, 100, 60, 0), DOWN_DEFAULT, 500, 110, UP_LIMIT),
        ((), (), (10, 1, 1000), (2, 60, 100, 60, 0), DOWN_DEFAULT, 500, 20, UP_LIMIT),
        ((), (), (10, 1, 1000), (100, 60, 0, 0, 0), DOWN_DEFAULT, 50, 50, DESIRED),
        ((), (), (10, 1, 1000), (10000, 60, 0, 0, 0), DOWN_DEFAULT, 50, 50, DESIRED),
        ((), (), (10, 1, 1000), (30, 60, 0, 0, 0), DOWN_DEFAULT, 50, 40, UP_LIMIT),
        ((), (), (10, 1, 1000), (0, 0, 200, 60, 0), DOWN_DEFAULT, 50, 30, UP_LIMIT),
        ((), (), (100, 1, 1000), UP_DEFAULT, (20, 60, 1, 60, 300), 2, 80, DOWN_LIMIT),
        ((), (), (100, 1, 1000), UP_DEFAULT, (2, 60, 1, 60, 300), 2, 98, DOWN_LIMIT),
        ((), (), (10, 1, 1000), UP_DEFAULT, (100, 60, 0, 0, 300), 0, 1, FEW),
        ((), (), (10, 5, 1000), UP_DEFAULT, (0, 0, 100, 60, 300), 2, 5, FEW),
        ((), (), (10, 1, 1000), UP_DEFAULT, (5, 60, 0, 0, 300), 2, 5, DOWN_LIMIT),
        ((), (), (10, 1, 1000), UP_DEFAULT, (0, 0, 50, 60, 300), 5, 5, DESIRED),
        ((1, 5, 9), (), (100, 1, 200), (300, 60, 0, 0, 0), DOWN_DEFAULT, 500, 200, MANY),
        ((1, 5, 9), (), (100, 1, 200), (0, 0, 10000, 60, 0), DOWN_DEFAULT, 500, 200, MANY),
        ((1, 5, 9), (), (100, 1, 1000), (5, 120, 0, 0, 0), DOWN_DEFAULT, 500, 100, UP_LIMIT),
        ((1, 5, 9), (), (100, 1, 1000), (150, 120, 0, 0, 0), DOWN_DEFAULT, 500, 235, UP_LIMIT),
        ((1, 5, 9), (), (100, 1, 1000), (0, 0, 200, 120, 0), DOWN_DEFAULT, 500, 255, UP_LIMIT),
        ((1, 5, 9), (2,), (100, 1, 1000), (150, 120, 0, 0, 0), DOWN_DEFAULT, 500, 237, UP_LIMIT),
        ((), (1, 5, 9), (10, 1, 1000), UP_DEFAULT, DOWN_DEFAULT, 5, 5, DESIRED),
        ((), (1, 5, 9), (100, 1, 1000), UP_DEFAULT, (115, 120, 0, 0, 300), 0, 1, FEW),
        ((), (1, 5, 9), (100, 5, 1000), UP_DEFAULT, (130, 120, 0, 0, 300), 0, 5, FEW),
        ((), (1, 5, 9), (100, 5, 1000), UP_DEFAULT, (0, 0, 100, 120, 300), 2, 5, FEW),
        ((), (1, 5, 9), (100, 1, 1000), UP_DEFAULT, (5, 120, 0, 0, 300), 2, 100, DOWN_LIMIT),
        ((), (2, 4, 6), (100, 1, 1000), UP_DEFAULT, (0, 0, 50, 120, 300), 0, 56, DOWN_LIMIT),
        ((), (10, 10, 10), (100, 1, 1000), UP_DEFAULT, (0, 0, 10, 120, 300), 0, 100, DOWN_LIMIT),
        ((), (10, 10, 10), (10, 1, 1000), UP_DEFAULT, (0, 0, 1000, 120, 300), 5, 5, DESIRED),
        ((3,), (10, 10, 10), (100, 1, 1000), UP_DEFAULT, (20, 120, 0, 0, 300), 0, 100, DOWN_LIMIT),
        ((8, 12, 9, 11), (), (100, 1, 1000), (1000, 60, 0, 0, 0), DOWN_DEFAULT, 200, 200, DESIRED),
        ((8, 12, 9, 11), (), (100, 1, 1000), (1000, 120, 100, 60, 0), DOWN_DEFAULT, 200, 200, DESIRED),
        ((8, 12, 9, 11), (), (100, 1, 1000), (1000, 30, 100, 60, 0), DOWN_DEFAULT, 200, 200, DESIRED),
        ((8, 12, 9, 11), (), (100, 1, 1000), (10, 60, 0, 0, 0), DOWN_DEFAULT, 200, 100, UP_LIMIT),
        ((8, 12, 9, 11), (), (100, 1, 1000), (30, 60, 0, 0, 0), DOWN_DEFAULT, 200, 110, UP_LIMIT),
        ((), (8, 12, 9, 11), (100, 1, 1000), UP_DEFAULT, (1000, 60, 0, 0, 300), 5, 5, DESIRED),
        ((), (8, 12, 9, 11), (100, 1, 1000), UP_DEFAULT, (1000, 120, 100, 60, 300), 5, 5, DESIRED),
        ((), (8, 12, 9, 11), (100, 1, 1000), UP_DEFAULT, (1000, 30, 100, 60, 300), 5, 5, DESIRED),
    ],
)
def test_limits_by_policies(
    up_events: Sequence[int],
    down_events: Sequence[int],
    bounds: tuple[int, int, int],
    up: Rule,
    down: Rule,
    desired: int,
    expected: int,
    reason: str,
) -> None:
    """``bounds``: replicas now, the fewest and the most."""
    history = History(
        ups=spread(up_events) if up_events else (), downs=spread(down_events) if down_events else ()
    )
    found = limit(desired, Bounds(*bounds), behavior(up, down), history, DEFAULT_SETTINGS, NOW)
    assert (found.replicas, found.limited.reason) == (expected, reason)


@pytest.mark.parametrize(
    ("select", "current", "desired", "expected"),
    [
        ("Min", 1, 10, 2),
        ("Min", 5, 1, 3),
        ("Max", 1, 10, 3),
        ("Max", 5, 1, 2),
        ("Disabled", 1, 10, 1),
        ("Disabled", 5, 1, 5),
        ("Min", 10, 100, 12),
        ("Max", 10, 100, 15),
        ("Min", 10, 1, 8),
        ("Max", 10, 1, 5),
    ],
)
def test_policies_are_selected(select: str, current: int, desired: int, expected: int) -> None:
    rule = rules((2, 60, 50, 60, 0), select)
    chosen = HorizontalPodAutoscalerBehavior(scale_up=rule, scale_down=rule)
    found = limit(desired, Bounds(current, 1, 1000), chosen, History(), DEFAULT_SETTINGS, NOW)
    assert found.replicas == expected


@pytest.mark.parametrize(
    ("entries", "current", "desired", "up", "down", "expected", "kept"),
    [
        ((), 100, 5, 0, 0, 5, [5]),
        (((4, 2), (5, 1)), 100, 3, 0, 180, 5, [4, 5, 3]),
        (((4, 2), (5, 1)), 1, 7, 300, 0, 4, [4, 5, 7]),
        (((1, 2), (2, 1)), 100, 3, 300, 0, 3, [1, 2, 3]),
        (((4, 2), (5, 1)), 1, 3, 0, 300, 3, [4, 5, 3]),
        (((10, 10), (9, 9)), 100, 3, 0, 0, 3, [3]),
        (((10, 10), (9, 9)), 1, 100, 0, 0, 100, [100]),
        (((10, 10), (4, 1), (5, 2), (9, 9)), 100, 3, 0, 180, 5, [4, 5, 3]),
        (((10, 100), (6, 1), (5, 2), (9, 3)), 1, 100, 300, 0, 5, [6, 5, 9, 100]),
        (((5, 1), (9, 2)), 7, 6, 300, 300, 7, [5, 9, 6]),
    ],
)
def test_recommendations_of_both_windows_count(
    entries: Sequence[tuple[int, float]],
    current: int,
    desired: int,
    up: int,
    down: int,
    expected: int,
    kept: list[int],
) -> None:
    chosen = behavior((1000, 15, 0, 0, up), (1000, 15, 0, 0, down))
    history = History(recommended(*entries))
    found = limit(desired, Bounds(current, 1, 1000), chosen, history, DEFAULT_SETTINGS, NOW)
    assert found.replicas == expected
    assert [each.replicas for each in found.history.recommendations] == kept
    if expected == desired:
        assert found.able.reason == "ReadyForNewScale"
    else:
        assert found.able.reason == ("ScaleUpStabilized" if desired >= current else "ScaleDownStabilized")


def test_window_of_scaling_down_is_the_settings() -> None:
    down = HPAScalingRules(policies=rules(DOWN_DEFAULT).policies, select_policy="Max")
    chosen = HorizontalPodAutoscalerBehavior(scale_up=rules(UP_DEFAULT), scale_down=down)
    for ago, expected in ((4, 9), (6, 3)):
        history = History(recommended((9, ago)))
        assert limit(3, Bounds(10, 1, 20), chosen, history, DEFAULT_SETTINGS, NOW).replicas == expected


@pytest.mark.parametrize(("ago", "step"), [(59, 0), (60, 10), (61, 10)])
@pytest.mark.parametrize("up", [True, False])
def test_change_counts_within_the_period_of_a_policy(ago: int, step: int, up: bool) -> None:
    events = (ScaleEvent(10, NOW - timedelta(seconds=ago)),)
    history = History(ups=events) if up else History(downs=events)
    rule = (10, 60, 0, 0, 0)
    found = limit(
        500 if up else 1, Bounds(100, 1, 1000), behavior(rule, rule), history, DEFAULT_SETTINGS, NOW
    )
    assert found.replicas == (100 + step if up else 100 - step)


@pytest.mark.parametrize(
    ("entries", "rule", "kept"),
    [
        ((), None, []),
        ((), (10, 60, 100, 60, 0), [5]),
        (((7, 61),), None, [7]),
        (((7, 61),), (10, 60, 100, 60, 0), [5]),
        (((7, 58),), (10, 60, 100, 60, 0), [7, 5]),
        (((7, 61), (6, 59)), (10, 60, 0, 0, 0), [6, 5]),
        (((8, 29), (6, 59), (7, 61), (9, 61)), (10, 60, 100, 30, 0), [8, 6, 5]),
        (((7, 58), (6, 59)), (10, 120, 100, 30, 0), [7, 6, 5]),
    ],
)
@pytest.mark.parametrize("up", [True, False])
def test_changes_are_remembered_for_the_longest_period(
    entries: Sequence[tuple[int, int]], rule: Rule | None, kept: list[int], up: bool
) -> None:
    events = tuple(ScaleEvent(change, NOW - timedelta(seconds=ago)) for change, ago in entries)
    history = History(ups=events) if up else History(downs=events)
    chosen = behavior(rule, rule) if rule is not None else None
    found = with_scale(history, chosen, 10, 15 if up else 5, NOW)
    assert [each.change for each in (found.ups if up else found.downs)] == kept


def test_first_look_recommends_the_present_replicas() -> None:
    history = begun(None, 7, NOW)
    assert [each.replicas for each in history.recommendations] == [7]
    assert begun(history, 3, NOW) is history


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 900)), max_size=6),
    st.integers(0, 50),
    st.integers(1, 50),
    st.sampled_from([None, behavior(), behavior((2, 60, 10, 30, 120), (1, 60, 10, 120, 600))]),
)
def test_limits_hold_after_any_recommendations(
    entries: list[tuple[int, int]],
    desired: int,
    current: int,
    chosen: HorizontalPodAutoscalerBehavior | None,
) -> None:
    history = History(tuple(Recommendation(count, NOW - timedelta(seconds=ago)) for count, ago in entries))
    bounds = Bounds(current, 1, 50)
    found = limit(desired, bounds, chosen, history, DEFAULT_SETTINGS, NOW)
    assert 1 <= found.replicas <= 50
    seen = [desired, current, *(count for count, _ in entries)]
    assert min([*seen, 1]) <= found.replicas <= max([*seen, 1])
    assert len(found.history.recommendations) <= len(entries) + 1
    # A decision that is carried out and repeated at the same moment changes nothing more.
    if chosen is None:
        again = limit(desired, Bounds(found.replicas, 1, 50), chosen, found.history, DEFAULT_SETTINGS, NOW)
        assert again.replicas >= found.replicas

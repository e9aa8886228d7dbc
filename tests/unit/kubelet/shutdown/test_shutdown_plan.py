"""Groups of pods at a shutdown: upstream's tables (``nodeshutdown_manager_test.go``), and their laws."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api.core_v1 import Pod, PodSpec
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.config import KubeletConfig
from podling.kubelet.configuration.grace_periods import PriorityGracePeriod
from podling.kubelet.shutdown.shutdown_plan import (
    Group,
    grace_seconds,
    groups_of,
    periods_of,
    seconds_requested,
)

CRITICAL = 2_000_000_000


def period(priority: int, seconds: int) -> PriorityGracePeriod:
    return PriorityGracePeriod(priority=priority, shutdown_grace_period_seconds=seconds)


def pod(name: str, priority: int | None = None, grace: int | None = 30) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=name),
        spec=PodSpec(priority=priority, termination_grace_period_seconds=grace),
    )


BY_PRIORITY = (period(CRITICAL, 10), period(0, 30), period(10000, 20))


@pytest.mark.parametrize(
    ("settings", "periods"),
    [
        ({}, ()),
        (
            {"shutdown_grace_period": 30.0, "shutdown_grace_period_critical_pods": 10.0},
            ((0, 20), (CRITICAL, 10)),
        ),
        ({"shutdown_grace_period": 10.0, "shutdown_grace_period_critical_pods": 20.0}, ()),
        ({"shutdown_grace_period": 30.0}, ((0, 30), (CRITICAL, 0))),
        (
            {"shutdown_grace_period": 10.0, "shutdown_grace_period_critical_pods": 10.0},
            ((0, 0), (CRITICAL, 10)),
        ),
        ({"shutdown_grace_period_by_pod_priority": BY_PRIORITY}, ((0, 30), (10000, 20), (CRITICAL, 10))),
        (
            {
                "shutdown_grace_period_by_pod_priority": BY_PRIORITY,
                "feature_gates": {"GracefulNodeShutdownBasedOnPodPriority": False},
            },
            (),
        ),
        (
            {
                "shutdown_grace_period": 30.0,
                "feature_gates": {
                    "GracefulNodeShutdown": False,
                    "GracefulNodeShutdownBasedOnPodPriority": False,
                },
            },
            (),
        ),
    ],
)
def test_periods_follow_the_configuration(
    settings: dict[str, Any], periods: tuple[tuple[int, int], ...]
) -> None:
    found = periods_of(KubeletConfig(**settings))
    assert tuple((each.priority, each.shutdown_grace_period_seconds) for each in found) == periods
    assert seconds_requested(found) == sum(seconds for _, seconds in periods)


FIVE = (period(-10, 1), period(0, 2), period(100, 3), period(CRITICAL, 4))


@pytest.mark.parametrize(
    ("priority", "seconds"),
    [
        (None, 2),
        (-100, 1),
        (-11, 1),
        (-10, 1),
        (-1, 1),
        (0, 2),
        (99, 2),
        (100, 3),
        (CRITICAL - 1, 3),
        (CRITICAL, 4),
        (CRITICAL + 1000, 4),
    ],
)
def test_pod_belongs_to_the_greatest_period_up_to_its_priority(priority: int | None, seconds: int) -> None:
    assert groups_of(FIVE, [pod("a", priority)]) == (Group(seconds, (pod("a", priority),)),)


def test_groups_without_pods_are_left_out() -> None:
    low, high = pod("low", -20), pod("high", CRITICAL)
    assert groups_of(FIVE, [high, low]) == (Group(1, (low,)), Group(4, (high,)))
    assert groups_of((), []) == ()


@pytest.mark.parametrize(("own", "grace"), [(None, 20), (5, 5), (20, 20), (60, 20), (0, 0)])
def test_grace_is_the_pods_own_up_to_its_groups(own: int | None, grace: int) -> None:
    found = pod("a", grace=own)
    assert grace_seconds(found, Group(20, (found,))) == grace


@given(
    priorities=st.lists(st.integers(-100, 100), min_size=1, max_size=5, unique=True),
    pods=st.lists(st.integers(-150, 150), max_size=20),
)
def test_every_pod_is_in_one_group_and_groups_follow_priority(priorities: list[int], pods: list[int]) -> None:
    periods = tuple(period(priority, 1) for priority in sorted(priorities))
    groups = groups_of(periods, [pod(str(number), priority) for number, priority in enumerate(pods)])
    grouped = [[each.spec.priority or 0 for each in group.pods] for group in groups]
    assert sorted(priority for group in grouped for priority in group) == sorted(pods)
    for earlier, later in pairwise(grouped):
        assert max(earlier) < min(later)

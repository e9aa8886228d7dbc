"""Samples of one container: order, memory peaks of intervals, and kills for want of memory."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from podling.sim.loop import EPOCH
from podling_vpa.recommender.aggregates import Aggregate
from podling_vpa.recommender.container_state import ContainerState, OldOom
from podling_vpa.recommender.settings import DEFAULT_SETTINGS

MB = 1024 * 1024
DAY = timedelta(days=1)


def made() -> tuple[ContainerState, Aggregate]:
    history = Aggregate(DEFAULT_SETTINGS, EPOCH)
    return ContainerState(500 * MB, lambda: history), history


def at(hours: float = 0) -> datetime:
    return EPOCH + timedelta(hours=hours)


def peaks(*found: tuple[int, datetime]) -> Aggregate:
    """Return the history of these peaks."""
    history = Aggregate(DEFAULT_SETTINGS, EPOCH)
    for memory, end in found:
        history.add_peak(memory, end)
    return history


def test_samples_of_cpu_count_in_order_and_once() -> None:
    container, history = made()
    assert container.add_cpu(100, at(1))
    assert not container.add_cpu(100, at(1))
    assert not container.add_cpu(100, at(0))
    assert not container.add_cpu(-1, at(2))
    assert history.count == 1


def test_interval_counts_its_peak_only() -> None:
    container, history = made()
    for memory, hour in ((5, 0), (10, 1), (7, 2)):
        assert container.add_memory(memory * MB, at(hour))
    assert history.memory == peaks((10 * MB, at(24))).memory
    assert container.add_memory(3 * MB, at(24))
    assert history.memory == peaks((10 * MB, at(24)), (3 * MB, at(48))).memory


def test_intervals_without_samples_are_skipped() -> None:
    container, history = made()
    container.add_memory(5 * MB, at(0))
    container.add_memory(2 * MB, at(24 * 3 + 1))
    assert container.window_end == at(24 * 4)
    assert history.memory == peaks((5 * MB, at(24)), (2 * MB, at(96))).memory


def test_older_sample_of_memory_is_left_out() -> None:
    container, history = made()
    container.add_memory(5 * MB, at(1))
    assert not container.add_memory(50 * MB, at(0))
    assert history.memory == peaks((5 * MB, at(25))).memory


@pytest.mark.parametrize(
    ("before", "requested", "expected"),
    [
        (0, 1000 * MB, 1200 * MB),
        (0, 100 * MB, 200 * MB),
        (2000 * MB, 1000 * MB, 2400 * MB),
        (0, 500 * MB, 600 * MB),
    ],
    ids=["the ratio", "the least", "the use", "where ratio and least meet"],
)
def test_kill_raises_the_peak(before: int, requested: int, expected: int) -> None:
    container, _ = made()
    if before:
        container.add_memory(before, at(0))
    container.record_oom(at(1), requested)
    assert container.peak == expected


def test_settings_of_a_policy_decide_how_much_a_kill_adds() -> None:
    container, history = made()
    history.oom_bump_up_ratio, history.oom_min_bump_up = 2.0, 0.0
    container.record_oom(at(0), 100 * MB)
    assert container.peak == 200 * MB


def test_kills_do_not_raise_the_peak_without_end() -> None:
    container, _ = made()
    container.record_oom(at(0), 1000 * MB)
    container.record_oom(at(1), 1000 * MB)
    assert container.peak == 1200 * MB


def test_old_kill_does_not_count() -> None:
    container, _ = made()
    container.add_memory(5 * MB, at(48))
    with pytest.raises(OldOom, match="it is too old"):
        container.record_oom(at(23), 1000 * MB)
    assert container.record_oom(at(47), 1000 * MB), "a day at most before the last sample"


def test_kill_counts_although_the_interval_ends_a_day_later() -> None:
    container, _ = made()
    container.add_memory(5 * MB, at(0))
    assert container.record_oom(at(0) - timedelta(minutes=1), 1000 * MB)
    assert container.peak == 1200 * MB


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 10**12)), min_size=1, max_size=30))
def test_each_interval_adds_one_peak(samples: list[tuple[int, int]]) -> None:
    container, history = made()
    for hour, memory in sorted(samples):
        container.add_memory(memory, at(hour))
    first = min(hour for hour, _ in samples)
    found: dict[int, int] = {}
    for hour, memory in samples:
        day = (hour - first) // 24
        found[day] = max(found.get(day, 0), memory)
    expected = peaks(*((memory, at(first) + (day + 1) * DAY) for day, memory in sorted(found.items())))
    assert history.memory.percentile(0.9) == expected.memory.percentile(0.9)
    assert history.memory.percentile(0.1) == expected.memory.percentile(0.1)


def test_interval_of_a_policy_counts() -> None:
    settings = structs.replace(DEFAULT_SETTINGS, memory_interval=timedelta(hours=1))
    history = Aggregate(settings, EPOCH)
    container = ContainerState(0, lambda: history)
    container.add_memory(MB, at(0))
    assert container.window_end == at(1)

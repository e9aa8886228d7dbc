"""Histograms that forget: upstream's cases, and what holds for any samples."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from podling.sim.loop import EPOCH
from podling_vpa.recommender.histogram import DecayingHistogram, ExponentialBuckets, UnreadableCheckpoint
from podling_vpa.recommender.settings import CPU_BUCKETS, MEMORY_BUCKETS
from podling_vpa.types import HistogramCheckpoint

HOUR = timedelta(hours=1)
TINY = 1e-15
VALUES = st.floats(0, 2000, allow_nan=False)
SAMPLES = st.lists(st.tuples(VALUES, st.integers(0, 40)), min_size=1, max_size=30)
"""Values, and the hours of their times."""


class LinearBuckets(Struct, frozen=True):
    """Upstream's tests use buckets of one size."""

    largest: float = 10.0
    size: float = 1.0
    epsilon: float = TINY

    @property
    def count(self) -> int:
        return math.ceil(self.largest / self.size) + 1

    def find(self, value: float) -> int:
        return min(max(int(value / self.size), 0), self.count - 1)

    def start(self, bucket: int) -> float:
        return bucket * self.size


def histogram(*samples: tuple[float, float, int]) -> DecayingHistogram:
    """Return a histogram of values, weights and hours."""
    made = DecayingHistogram(LinearBuckets(), HOUR)
    for value, weight, hour in samples:
        made.add(value, weight, EPOCH + hour * HOUR)
    return made


def test_bucket_starts_grow_by_the_ratio() -> None:
    buckets = ExponentialBuckets(500.0, 40.0, 1.5, 0.001)
    assert buckets.count == 6
    assert [buckets.start(each) for each in range(6)] == [0.0, 40.0, 100.0, 190.0, 325.0, 527.5]
    assert [buckets.find(each) for each in (-1, 39.99, 40, 100, 900)] == [0, 0, 1, 2, 5]


@pytest.mark.parametrize("share", [-0.5, 0.0, 0.5, 1.0, 1.5])
def test_percentile_of_nothing_is_zero(share: float) -> None:
    assert histogram().percentile(share) == 0
    assert histogram().is_empty


SAME_TIME = [
    (0.0, 2),
    (0.1, 2),
    (0.2, 3),
    (0.3, 3),
    (0.4, 4),
    (0.5, 4),
    (0.6, 4),
    (0.7, 5),
    (0.8, 5),
    (0.9, 5),
    (1.0, 5),
]


@pytest.mark.parametrize(("share", "expected"), SAME_TIME)
def test_percentiles_of_samples_of_one_time(share: float, expected: float) -> None:
    found = histogram(*((value, value, 0) for value in range(1, 5)))
    assert found.percentile(share) == pytest.approx(expected)


LATER = [(0.0, 2), (0.02, 2), (0.03, 3), (0.1, 3), (0.11, 4), (0.34, 4), (0.35, 5), (1.0, 5)]


@pytest.mark.parametrize(("share", "expected"), LATER)
def test_later_samples_weigh_more(share: float, expected: float) -> None:
    found = histogram(*((value, value, value - 1) for value in range(1, 5)))
    assert found.percentile(share) == pytest.approx(expected)


def test_old_samples_decay_and_are_forgotten() -> None:
    decayed = histogram((2, 1000, 0), (1, 1, 20))
    assert decayed.percentile(0.999) == pytest.approx(2)
    assert decayed.percentile(1.0) == pytest.approx(3)
    assert histogram((2, 1, 0), (1, 1, 101)).percentile(1.0) == pytest.approx(2)


def test_percentile_outside_of_the_range_is_the_first_or_the_last_bucket() -> None:
    found = DecayingHistogram(LinearBuckets(1.0, 0.1), HOUR)
    for value, weight in ((0.11, 0.1), (0.21, 0.2)):
        found.add(value, weight, EPOCH)
    assert [found.percentile(-0.1), found.percentile(1.1)] == pytest.approx([0.2, 0.3])
    for value, weight in ((0.0, 0.1), (1.0, 0.2)):
        found.add(value, weight, EPOCH)
    assert [found.percentile(-0.1), found.percentile(1.1)] == pytest.approx([0.1, 1.0])


def test_weights_below_epsilon_do_not_count() -> None:
    found = histogram((9.9, 3 * TINY, 0), (0.1, 0.3 * TINY, 0), (999.9, 0.3 * TINY, 0))
    assert not found.is_empty
    found.subtract(9.9, 3 * TINY, EPOCH)
    assert found.is_empty


def test_merge_is_the_histogram_of_all_samples() -> None:
    first, second = histogram((1, 1, 0), (2, 1, 1)), histogram((2, 1, 2), (3, 1, 1))
    first.merge(second)
    assert first == histogram((2, 1, 2), (2, 1, 1), (3, 1, 1), (1, 1, 0))
    with pytest.raises(ValueError, match="can't merge histograms with different options"):
        first.merge(DecayingHistogram(LinearBuckets(), 2 * HOUR))


@pytest.mark.parametrize(
    ("samples", "weights"),
    [
        ([], {}),
        ([(1, 1)], {"1": 10000}),
        ([(1, 1), (2, 100000)], {"2": 10000}),
        ([(1, 1), (2, 10000), (3, 50)], {"1": 1, "2": 10000, "3": 50}),
    ],
)
def test_checkpoint_has_weights_to_ten_thousand(
    samples: list[tuple[float, float]], weights: dict[str, int]
) -> None:
    found = histogram(*((value, weight, 0) for value, weight in samples)).checkpoint()
    assert found.bucket_weights == weights


def test_checkpoint_is_loaded_by_shares() -> None:
    found = histogram()
    at = EPOCH + 100 * HOUR
    saved = HistogramCheckpoint(total_weight=6.0, bucket_weights={"0": 1, "1": 2}, reference_timestamp=at)
    found.load(saved)
    assert found.reference == at
    assert found.percentile(0.33) == 1
    assert found.percentile(0.34) == 2
    assert found.checkpoint() == HistogramCheckpoint(
        total_weight=6.0, bucket_weights={"0": 5000, "1": 10000}, reference_timestamp=at
    )


@pytest.mark.parametrize(
    ("weights", "total", "error"),
    [
        ({"-1": 1}, 1.0, "checkpoint has a negative bucket -1"),
        ({"99": 1}, 1.0, "checkpoint has bucket 99 that is exceeding histogram buckets 11"),
        ({}, -1.0, "cannot load checkpoint with negative weight -1.0"),
    ],
)
def test_damaged_checkpoint_is_refused(weights: dict[str, int], total: float, error: str) -> None:
    with pytest.raises(UnreadableCheckpoint, match=error):
        histogram().load(HistogramCheckpoint(bucket_weights=weights, total_weight=total))


def test_histogram_is_not_empty_after_a_checkpoint_with_weights_at_the_boundary() -> None:
    found = histogram((1, TINY, 0), (2, 10_000 * TINY - TINY, 0))
    again = histogram()
    again.load(found.checkpoint())
    assert not again.is_empty


@given(SAMPLES, st.floats(0, 1), st.floats(0, 1))
def test_percentiles_grow_with_the_share(samples: list[tuple[float, int]], one: float, two: float) -> None:
    found = DecayingHistogram(CPU_BUCKETS, timedelta(days=1))
    for value, hour in samples:
        found.add(value, 0.1, EPOCH + hour * HOUR)
    assert found.percentile(min(one, two)) <= found.percentile(max(one, two))


@given(SAMPLES)
def test_percentile_is_at_most_a_bucket_above_the_values(samples: list[tuple[float, int]]) -> None:
    found = DecayingHistogram(CPU_BUCKETS, timedelta(days=1))
    for value, hour in samples:
        found.add(value, 1.0, EPOCH + hour * HOUR)
    largest = max(value for value, _ in samples)
    assert found.percentile(1.0) <= max(largest, 0.01) * 1.05 + 0.0101
    assert found.percentile(1.0) >= min(largest, CPU_BUCKETS.start(CPU_BUCKETS.count - 1))


@given(SAMPLES, SAMPLES)
def test_order_of_merging_does_not_matter(one: list[tuple[float, int]], two: list[tuple[float, int]]) -> None:
    def of(samples: list[tuple[float, int]]) -> DecayingHistogram:
        made = DecayingHistogram(CPU_BUCKETS, timedelta(days=1))
        for value, hour in samples:
            made.add(value, 0.1, EPOCH + hour * HOUR)
        return made

    first, second = of(one), of(two)
    first.merge(of(two))
    second.merge(of(one))
    for share in (0.3, 0.7, 0.95):
        near = [first.percentile(share + change) for change in (-1e-9, 1e-9)]
        assert near[0] <= second.percentile(share) <= near[1]


@given(SAMPLES, st.sampled_from([0.5, 0.9, 0.95]))
def test_checkpoint_keeps_percentiles_within_a_bucket(samples: list[tuple[float, int]], share: float) -> None:
    found, again = (DecayingHistogram(MEMORY_BUCKETS, timedelta(days=1)) for _ in range(2))
    for value, hour in samples:
        found.add(value * 1e8, 1.0, EPOCH + hour * HOUR)
    again.load(found.checkpoint())
    low, high = (found.percentile(min(max(share + change, 0), 1)) for change in (-0.01, 0.01))
    assert low <= again.percentile(share) <= high

"""Histograms whose samples lose half of their weight in a half-life.

They change in place: a recommender has several for each container, and adds to them once a minute.
Upstream: ``recommender/util/histogram.go``, ``decaying_histogram.go``, ``histogram_options.go``.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Protocol

from msgspec import Struct

from podling.clock import seconds_precision
from podling_vpa.types import HistogramCheckpoint

BEGIN = datetime(1, 1, 1, tzinfo=UTC)
"""Go's zero time: the reference of an empty histogram, and the origin of rounding."""
DECAY_EXPONENT_MAX = 100
"""Weights grow by at most two to this power before the reference moves."""
CHECKPOINT_WEIGHT_MAX = 10_000


class UnreadableCheckpoint(Exception):
    """A checkpoint that is no histogram of this form."""


class Buckets(Protocol):
    """The ranges of values of a histogram. Equal ones belong to histograms that can be merged."""

    @property
    def count(self) -> int: ...

    @property
    def epsilon(self) -> float:
        """The least weight of a bucket that counts."""
        ...

    def find(self, value: float) -> int:
        """Return the bucket of a value; the closest one if it lies outside."""
        ...

    def start(self, bucket: int) -> float:
        """Return the lower end of a bucket."""
        ...


class ExponentialBuckets(Struct, frozen=True):
    """Buckets whose sizes grow by ``ratio``, the first from 0 to ``first_size``.

    Args:
        largest: a value that lies in the last bucket or before.
    """

    largest: float
    first_size: float
    ratio: float
    epsilon: float

    @property
    def count(self) -> int:
        wanted = self.largest * (self.ratio - 1) / self.first_size + 1
        return math.ceil(math.log(wanted) / math.log(self.ratio)) + 1

    def find(self, value: float) -> int:
        """Return the bucket of a value; the closest one if it lies outside."""
        if value < self.first_size:
            return 0
        wanted = value * (self.ratio - 1) / self.first_size + 1
        return min(int(math.log(wanted) / math.log(self.ratio)), self.count - 1)

    def start(self, bucket: int) -> float:
        """Return the lower end of a bucket."""
        if bucket == 0:
            return 0.0
        return float(self.first_size * (math.pow(self.ratio, bucket) - 1) / (self.ratio - 1))


class DecayingHistogram:
    """Weights of buckets, as of a reference time: newer samples count more."""

    __slots__ = ("_first", "_last", "_total", "_weights", "buckets", "half_life", "reference")

    def __init__(self, buckets: Buckets, half_life: timedelta) -> None:
        self.buckets, self.half_life, self.reference = buckets, half_life, BEGIN
        self._weights = [0.0] * buckets.count
        self._total = 0.0
        self._first, self._last = len(self._weights) - 1, 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DecayingHistogram):
            return NotImplemented
        mine = (self.buckets, self.half_life, self.reference, self._first, self._last)
        theirs = (other.buckets, other.half_life, other.reference, other._first, other._last)
        near = zip(self._weights, other._weights, strict=False)
        return mine == theirs and all(abs(one - two) <= 1e-15 for one, two in near)

    __hash__ = None  # type: ignore[assignment]

    @property
    def is_empty(self) -> bool:
        return self._weights[self._first] < self.buckets.epsilon

    def add(self, value: float, weight: float, at: datetime) -> None:
        """Add a sample; ``weight`` is what it weighs at its own time."""
        now = weight * self._factor(at)
        bucket, epsilon = self.buckets.find(value), self.buckets.epsilon
        self._weights[bucket] += now
        self._total += now
        if self._weights[bucket] >= epsilon:
            self._first, self._last = min(self._first, bucket), max(self._last, bucket)

    def subtract(self, value: float, weight: float, at: datetime) -> None:
        """Take a sample back that was added; no weight falls below zero."""
        now = weight * self._factor(at)
        bucket, epsilon = self.buckets.find(value), self.buckets.epsilon
        self._total = _left(self._total - now, epsilon)
        self._weights[bucket] = _left(self._weights[bucket] - now, epsilon)
        self._fit()

    def merge(self, other: DecayingHistogram) -> None:
        """Add all samples of another histogram of the same form; the older reference moves."""
        if (self.half_life, self.buckets) != (other.half_life, other.buckets):
            raise ValueError("can't merge histograms with different options")
        if self.reference < other.reference:
            self._shift(other.reference)
        elif other.reference < self.reference:
            other._shift(self.reference)
        for bucket in range(other._first, other._last + 1):
            self._weights[bucket] += other._weights[bucket]
        self._total += other._total
        self._first, self._last = min(self._first, other._first), max(self._last, other._last)

    def percentile(self, share: float) -> float:
        """Return the end of the bucket in which this share (0 to 1) of the weight is reached.

        That is the start of the last bucket, which has no end; 0 for an empty histogram.
        """
        if self.is_empty:
            return 0.0
        reached, wanted, bucket = 0.0, share * self._total, self._first
        while bucket < self._last:
            reached += self._weights[bucket]
            if reached >= wanted:
                break
            bucket += 1
        return self.buckets.start(min(bucket + 1, len(self._weights) - 1))

    def checkpoint(self) -> HistogramCheckpoint:
        """Return the histogram with weights from 1 to 10000; smaller ones are left out."""
        within = range(self._first, self._last + 1)
        largest = max((self._weights[bucket] for bucket in within), default=0.0)
        weights = {
            str(bucket): rounded
            for bucket in within
            if largest and (rounded := _round(self._weights[bucket] * (CHECKPOINT_WEIGHT_MAX / largest)))
        }
        reference = None if self.reference == BEGIN else seconds_precision(self.reference)
        return HistogramCheckpoint(
            reference_timestamp=reference, bucket_weights=weights, total_weight=self._total
        )

    def load(self, saved: HistogramCheckpoint) -> None:
        """Add the weights of a checkpoint, and take its reference. Raises ``UnreadableCheckpoint``."""
        if saved.total_weight < 0:
            raise UnreadableCheckpoint(f"cannot load checkpoint with negative weight {saved.total_weight}")
        weights = {int(bucket): weight for bucket, weight in saved.bucket_weights.items()}
        for bucket in weights:
            if bucket >= len(self._weights):
                text = f"that is exceeding histogram buckets {len(self._weights)}"
                raise UnreadableCheckpoint(f"checkpoint has bucket {bucket} {text}")
            if bucket < 0:
                raise UnreadableCheckpoint(f"checkpoint has a negative bucket {bucket}")
        total = sum(weights.values())
        if total:
            for bucket, weight in weights.items():
                self._first, self._last = min(self._first, bucket), max(self._last, bucket)
                self._weights[bucket] += weight * saved.total_weight / total
            self._total += saved.total_weight
            # Rounding may leave less than epsilon in the outermost buckets, which then count no more.
            self._fit()
        self.reference = saved.reference_timestamp or BEGIN

    def _factor(self, at: datetime) -> float:
        """Return the growth of weights from the reference to a time; it may move the reference."""
        if at - self.reference > self.half_life * DECAY_EXPONENT_MAX:
            self._shift(at)
        return float(2.0 ** ((at - self.reference) / self.half_life))

    def _shift(self, at: datetime) -> None:
        """Move the reference to the multiple of the half-life that is nearest to a time."""
        half = self.half_life
        moved = BEGIN + (at - BEGIN + half / 2) // half * half
        self._scale(math.ldexp(1.0, _round((self.reference - moved) / half)))
        self.reference = moved

    def _scale(self, factor: float) -> None:
        self._weights = [weight * factor for weight in self._weights]
        self._total *= factor
        self._fit()

    def _fit(self) -> None:
        """Skip the outermost buckets that do not count any more."""
        epsilon, end = self.buckets.epsilon, len(self._weights) - 1
        while self._weights[self._first] < epsilon and self._first < end:
            self._first += 1
        while self._weights[self._last] < epsilon and self._last > 0:
            self._last -= 1


def _left(weight: float, epsilon: float) -> float:
    return weight if weight >= epsilon else 0.0


def _round(number: float) -> int:
    return math.floor(number + 0.5)

"""The demand for seats of a priority level over time: what borrowing between levels is decided by.

Source: ``apiserver/pkg/util/flowcontrol/fairqueuing/integrator.go``, ``apf_controller.go``
(``seatDemandStats``).
"""

from __future__ import annotations

import math

from msgspec import Struct

SMOOTHING = 0.977
"""Share of the smoothed demand that an adjustment keeps: its half-life is five minutes."""


class Observation(Struct, frozen=True):
    """A value that changes over time, observed for ``seconds``. Averages of no time are NaN."""

    seconds: float
    average: float
    deviation: float
    least: float
    most: float


class Integrator:
    """Integrates a value that stays the same between calls of ``set``."""

    __slots__ = ("_at", "_least", "_most", "_seconds", "_squares", "_sum", "value")

    def __init__(self, now: float) -> None:
        self.value = 0.0
        self._at = now
        self._least = self._most = 0.0
        self._seconds = self._sum = self._squares = 0.0

    def set(self, value: float, now: float) -> None:
        self._advance(now)
        self.value = value
        if value > self._most:
            self._most = value
        elif value < self._least:
            self._least = value

    def add(self, change: float, now: float) -> None:
        self.set(self.value + change, now)

    def _advance(self, now: float) -> None:
        elapsed = now - self._at
        self._at = now
        weighted = self.value * elapsed
        self._seconds += elapsed
        self._sum += weighted
        self._squares += self.value * weighted

    def observation(self, now: float) -> Observation:
        """Return the observation since the last reset."""
        self._advance(now)
        if self._seconds <= 0:
            return Observation(self._seconds, math.nan, math.nan, self._least, self._most)
        average = self._sum / self._seconds
        variance = self._squares / self._seconds - average * average
        deviation = math.sqrt(variance) if variance >= 0 else math.nan
        return Observation(self._seconds, average, deviation, self._least, self._most)

    def reset(self, now: float) -> Observation:
        """Return the observation, and begin a new one."""
        found = self.observation(now)
        self._seconds = self._sum = self._squares = 0.0
        self._least = self._most = self.value
        return found


class SeatDemand(Struct, frozen=True):
    """Statistics of a level's demand; ``smoothed`` rises at once and falls slowly."""

    average: float = 0.0
    deviation: float = 0.0
    high_watermark: int = 0
    smoothed: float = 0.0

    def after(self, seen: Observation) -> SeatDemand:
        """Return the statistics after one more period."""
        high_watermark = math.floor(seen.most + 0.5)
        if seen.seconds <= 0:
            return SeatDemand(self.average, self.deviation, high_watermark, self.smoothed)
        deviation = 0.0 if math.isnan(seen.deviation) else seen.deviation
        envelope = seen.average + deviation
        smoothed = max(envelope, SMOOTHING * self.smoothed + (1 - SMOOTHING) * envelope)
        return SeatDemand(seen.average, deviation, high_watermark, smoothed)

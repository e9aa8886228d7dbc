"""A token bucket. Pure. Source: ``golang.org/x/time/rate``."""

from __future__ import annotations


class RateLimit:
    """Grants ``burst`` turns at once, and then ``rate`` a second; any number if ``rate`` is not positive."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._tokens = float(burst)
        self._at: float | None = None

    def reserve(self, now: float) -> float:
        """Take a turn. Return the seconds to wait for it; ``now`` are monotonic seconds."""
        if self._rate <= 0:
            return 0.0
        since = now - self._at if self._at is not None else 0.0
        self._tokens = min(float(self._burst), self._tokens + since * self._rate) - 1
        self._at = now
        return max(0.0, -self._tokens / self._rate)

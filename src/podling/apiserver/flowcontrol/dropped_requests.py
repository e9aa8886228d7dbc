"""The ``Retry-After`` of rejections: it doubles while many requests are rejected, and falls by seconds.

Source: ``apiserver/pkg/util/flowcontrol/dropped_requests_tracker.go``.
"""

from __future__ import annotations

RETRY_AFTER_MAX = 32


class DroppedRequests:
    """The rejections of one priority level in the last seconds. Times are whole seconds."""

    def __init__(self) -> None:
        self.retry_after = 1
        self._raised_at = 0
        self._history: list[tuple[int, int]] = []
        """Seconds and the rejections in each, without the present one."""
        self._second = self._count = 0

    def record(self, second: int) -> None:
        """Note a rejection; ``retry_after`` changes with the first one of a second."""
        if second == self._second:
            self._count += 1
            return
        self._keep_second()
        self._second, self._count = second, 1
        self._update(second)

    def _keep_second(self) -> None:
        self._history.append((self._second, self._count))
        most = min(2 * self.retry_after, RETRY_AFTER_MAX)
        self._history = [each for each in self._history if self._second - each[0] <= most]

    def _update(self, second: int) -> None:
        dropped = sum(
            number for at, number in self._history if second - at <= self.retry_after and at < second
        )
        if second - self._raised_at >= self.retry_after and dropped >= 3 * self.retry_after:
            self.retry_after = min(2 * self.retry_after, RETRY_AFTER_MAX)
            self._raised_at = second
        elif dropped < self.retry_after and self.retry_after > 1:
            self.retry_after -= 1

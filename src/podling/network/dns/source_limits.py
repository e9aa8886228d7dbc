"""The questions of one client in a short time: a flood of one pod must not displace those of others. Pure.

A packet beyond the limit is read and dropped, which takes a tenth of the time of an answer. So the socket's
buffer has space for other clients.
"""

from __future__ import annotations

WINDOW_SECONDS = 0.1
QUESTIONS_MAX = 2000
"""Of one client within a window: 20,000 a second."""


class SourceLimits:
    """Counts questions by client."""

    def __init__(self) -> None:
        self._since = 0.0
        self._counts: dict[str, int] = {}

    def allows(self, ip: str, now: float) -> bool:
        """Count a question; return whether it is to be answered."""
        if now - self._since >= WINDOW_SECONDS:
            self._since = now
            self._counts.clear()
        count = self._counts.get(ip, 0) + 1
        self._counts[ip] = count
        return count <= QUESTIONS_MAX

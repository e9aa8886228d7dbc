"""Limits of requests in flight: the fallback when there are no flow schemas.

Source: ``apiserver/pkg/server/filters/maxinflight.go``.
"""

from __future__ import annotations

from podling.apiserver.flowcontrol.dispatcher import TooManyRequests
from podling.client.requests import User

REQUESTS_MAX, MUTATING_REQUESTS_MAX = 400, 200
"""Defaults of kube-apiserver's ``--max-requests-inflight`` and ``--max-mutating-requests-inflight``."""
RETRY_AFTER = 1
PRIVILEGED = "system:masters"


class InflightLimits:
    """Counts requests that read and requests that change objects; 0 means no limit."""

    def __init__(self, requests_max: int = REQUESTS_MAX, mutating_max: int = MUTATING_REQUESTS_MAX) -> None:
        self._reads, self._changes = InflightPlace(requests_max), InflightPlace(mutating_max)

    def enter(self, user: User, *, changes: bool, long_running: bool) -> InflightPlace | None:
        """Return the request's place; None if it needs none. Raises ``TooManyRequests``."""
        place = self._changes if changes else self._reads
        if long_running or not place.limit:
            return None
        if place.running >= place.limit:
            if PRIVILEGED in user.groups:
                return None
            raise TooManyRequests(RETRY_AFTER)
        place.running += 1
        return place


class InflightPlace:
    """The place that all requests share which are counted together; each calls ``close`` once."""

    __slots__ = ("limit", "running")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.running = 0

    def release(self) -> None:
        """Do nothing: such a request counts until its end."""

    def close(self, request: object, started_at: float, now: float) -> None:
        """End one of the requests."""
        self.running -= 1

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
        self._most = {False: requests_max, True: mutating_max}
        self._running = {False: 0, True: 0}

    def enter(self, user: User, *, changes: bool, long_running: bool) -> InflightPlace | None:
        """Return the request's place; None if it needs none. Raises ``TooManyRequests``."""
        most = self._most[changes]
        if long_running or not most:
            return None
        if self._running[changes] >= most:
            if PRIVILEGED in user.groups:
                return None
            raise TooManyRequests(RETRY_AFTER)
        self._running[changes] += 1
        return InflightPlace(self, changes=changes)

    def leave(self, *, changes: bool) -> None:
        self._running[changes] -= 1


class InflightPlace:
    """The place of one request that is counted, until ``close``."""

    __slots__ = ("_changes", "_limits")

    def __init__(self, limits: InflightLimits, *, changes: bool) -> None:
        self._limits = limits
        self._changes = changes

    def release(self) -> None:
        """Do nothing: such a request counts until its end."""

    def close(self, request: object, started_at: float, now: float) -> None:
        """End the request."""
        self._limits.leave(changes=self._changes)

"""The times at which a controller itself did not reach the API server: they say nothing about nodes.

kube-controller-manager ends when it could not renew its leader's lease for ten seconds, and the one that
begins then gives every node a whole grace period: it has not seen their last heartbeats. Ours has no such
lease, so an outage of that length has the same effect here: signs of life count from its end. Pure but for
its state.

Upstream: ``--leader-elect-renew-deadline`` and ``probeTimestamp`` in ``pkg/controller/nodelifecycle``.
"""

from __future__ import annotations

from datetime import datetime, timedelta

RENEW_DEADLINE = timedelta(seconds=10)


class OwnOutages:
    """The outage that lasts, if any, as far as failures have shown it.

    Args:
        period: the seconds between two runs of the controller.
    """

    def __init__(self, period: float) -> None:
        self._gap = timedelta(seconds=period) + RENEW_DEADLINE
        self._failures = 0
        self._since: datetime | None = None
        self._last_success: datetime | None = None

    def may_last(self, failures: int, now: datetime) -> bool:
        """Return whether a request has to show that the API server is there.

        It has to after a failure, and when the controller did not run for a while.

        Args:
            failures: the number of failures of the informers so far.
        """
        if failures != self._failures:
            self._failures = failures
            self.begin(now)
        if self._last_success is not None and now - self._last_success > self._gap:
            self.begin(self._last_success)
        return self._since is not None

    def answered(self, asked: datetime, now: datetime) -> bool:
        """Note the answer to a request; return whether it came in time.

        An answer that took the whole deadline ends an outage: the API server did not work meanwhile, and the
        kubelets have not had the time to renew their leases since. ``end`` counts it from ``asked`` on.
        """
        if now - asked < RENEW_DEADLINE:
            return True
        self.begin(asked)
        return False

    def begin(self, now: datetime) -> None:
        """Note that a request failed; an outage that lasts already goes on."""
        if self._since is None:
            self._since = now

    def end(self, now: datetime) -> bool:
        """Note that the API server answers; return whether that ends an outage of the deadline's length."""
        since, self._since = self._since, None
        self._last_success = now
        return since is not None and now - since >= RENEW_DEADLINE

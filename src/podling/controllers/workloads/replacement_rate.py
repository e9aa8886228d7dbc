"""The rate at which a controller replaces pods that ended.

A pod that names its node and is rejected by the node's kubelet fails within a moment, and its replacement
fails alike. Kubernetes neither backs off for such an owner nor limits its key in the work queue: a run that
created a pod succeeded, and each event of a pod queues its owner at once. The only bounds there are the
rate limit of the controller's client (``--kube-api-qps``, ``--kube-api-burst``) and, for their number, the
collector of terminated pods.
Clients have no such limit here, so these replacements have one of their own, with the same figures.
"""

from __future__ import annotations

from msgspec import Struct

from podling import clock

REPLACEMENTS_PER_SECOND = 20.0
REPLACEMENTS_BURST = 30
"""The defaults of kube-controller-manager for the requests of one controller."""


class Bucket(Struct, frozen=True):
    """A token bucket: ``tokens`` at the monotonic time ``at``. Below zero are those that others wait for."""

    tokens: float = REPLACEMENTS_BURST
    at: float = 0.0


def take(bucket: Bucket, now: float) -> tuple[Bucket, float]:
    """Take one token. Return the bucket after it, and the seconds until the token exists. Pure.

    Source: ``Limiter.reserveN`` of ``golang.org/x/time/rate``.
    """
    grown = bucket.tokens + max(0.0, now - bucket.at) * REPLACEMENTS_PER_SECOND
    tokens = min(grown, float(REPLACEMENTS_BURST)) - 1
    return Bucket(tokens, now), max(0.0, -tokens / REPLACEMENTS_PER_SECOND)


class ReplacementRate:
    """The bucket of one controller."""

    def __init__(self) -> None:
        self._bucket = Bucket(at=clock.monotonic())

    async def wait(self) -> None:
        """Wait until one more pod that ended may be replaced."""
        self._bucket, seconds = take(self._bucket, clock.monotonic())
        if seconds > 0:
            await clock.sleep(seconds)

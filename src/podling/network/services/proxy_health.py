"""The health of the service proxy, as load balancers and monitoring see it. Pure.

The proxy is healthy while each change reaches the kernel in time. A node that is about to be deleted is no
target for load balancers. Upstream: ``pkg/proxy/healthcheck/proxy_health.go``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from http import HTTPStatus

from podling.api.core_v1 import Node

TIMEOUT = timedelta(seconds=60)
"""The age at which a change that the kernel does not have yet counts as stuck (twice kube-proxy's sync
period)."""
TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"
"""The taint of nodes that the cluster autoscaler deletes next."""


class ProxyHealth:
    """The proxy of one node."""

    def __init__(self) -> None:
        self.is_eligible = True
        """True while load balancers may choose the node."""
        self._updated: dict[str, datetime] = {}
        self._queued: dict[str, datetime] = {}

    def queue(self, families: Iterable[str], now: datetime) -> None:
        """Note a change that the kernel does not have yet."""
        for family in families:
            self._queued.setdefault(family, now)

    def update(self, families: Iterable[str], now: datetime) -> None:
        """Note that the kernel has every change."""
        for family in families:
            self._queued.pop(family, None)
            self._updated[family] = now

    def see(self, node: Node | None) -> None:
        """Take in the node; None if it was deleted."""
        self.is_eligible = (
            node is not None
            and node.metadata.deletion_timestamp is None
            and all(taint.key != TO_BE_DELETED for taint in node.spec.taints)
        )

    def is_healthy(self, now: datetime) -> bool:
        return self._stuck(now) is None

    def healthz(self, now: datetime) -> tuple[HTTPStatus, bytes]:
        """Return the answer that load balancers want: is the node a good target?"""
        return self._answer(now, good=self.is_eligible, eligible=self.is_eligible)

    def livez(self, now: datetime) -> tuple[HTTPStatus, bytes]:
        """Return the answer that says whether the proxy works, also on a node that is to be deleted."""
        return self._answer(now, good=True)

    def _stuck(self, now: datetime) -> str | None:
        """Return a family whose changes do not get into the kernel; None if all do."""
        late = (family for family, since in self._queued.items() if now - since >= TIMEOUT)
        return next((family for family in late if family in self._updated), None)

    def _answer(self, now: datetime, *, good: bool, eligible: bool | None = None) -> tuple[HTTPStatus, bytes]:
        stuck = self._stuck(now)
        good = good and stuck is None
        last = now if good else self._updated[stuck] if stuck else max(self._updated.values(), default=None)
        fields = f'"lastUpdated": {_quoted(last)},"currentTime": {_quoted(now)}'
        if eligible is not None:
            fields += f', "nodeEligible": {json.dumps(eligible)}'
        status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
        return status, f"{{{fields}}}".encode()


def _quoted(moment: datetime | None) -> str:
    """Return a time as Go prints one, in quotes."""
    if moment is None:
        return '"0001-01-01 00:00:00 +0000 UTC"'
    fraction = f".{moment.microsecond:06}".rstrip("0").rstrip(".")
    return f'"{moment:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC"'

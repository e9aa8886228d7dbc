"""Renewal of a node's certificates before they expire.

A certificate is renewed after 70 to 90 % of its life, at a moment drawn for each, so that the nodes of a
cluster do not all come at once. A renewal that fails is tried again; the old certificate serves as long as it
is good. Upstream: ``k8s.io/client-go/util/certificate/certificate_manager.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from podling import clock, ids
from podling.client.base import Client, Unreachable
from podling.machinery.errors import ApiError
from podling.node.joining.key_pairs import PairFile, Period, new_key
from podling.node.joining.tls_bootstrap import RequestDenied, certificate

logger = logging.getLogger(__name__)

EARLIEST, LATEST = 0.7, 0.9
"""The parts of a certificate's life between which it is renewed."""
REQUEST_SECONDS = 900.0
"""The time that approval and signature may take."""
RETRY_SECONDS = 2.0
RETRY_SECONDS_MAX = 128.0
LOOK_SECONDS = 3600.0
"""The longest wait in one piece: the time of day may be set meanwhile."""


def renewal(period: Period, fraction: float) -> datetime:
    """Return the moment at which a certificate is renewed, after this part of its life. Pure."""
    return period.begins + (period.ends - period.begins) * fraction


def retry_seconds(failures: int) -> float:
    """Return the wait after so many failures in a row. Pure."""
    return min(RETRY_SECONDS * 2.0 ** min(failures - 1, 20), RETRY_SECONDS_MAX)


class CertificateManager:
    """Keeps the certificate in a file fresh.

    Args:
        addresses: those of the kubelet's server; empty for the certificate of the node as a client.
        on_change: is called after each change of the file.
    """

    def __init__(
        self,
        client: Client,
        node: str,
        file: PairFile,
        addresses: Sequence[str],
        on_change: Callable[[], Awaitable[None]],
    ) -> None:
        self._client = client
        self._node = node
        self._file = file
        self._addresses = tuple(addresses)
        self._on_change = on_change
        self.trouble = ""
        """Why the last request failed; empty if it did not."""

    async def run(self) -> None:
        """Request and renew certificates until cancelled."""
        while True:
            period = self._file.period()
            if period is not None and self._serves(period):
                await self._sleep_until(renewal(period, ids.uniform(EARLIEST, LATEST)))
            await self._renew()

    def _serves(self, period: Period) -> bool:
        """Return whether a certificate is for this node and these addresses."""
        return period.user == f"system:node:{self._node}" and set(self._addresses) <= set(period.addresses)

    async def _sleep_until(self, moment: datetime) -> None:
        while (left := moment - clock.now()) > timedelta():
            await clock.sleep(min(left.total_seconds(), LOOK_SECONDS))

    async def _renew(self) -> None:
        """Put a new certificate into the file; try until that succeeds."""
        failures = 0
        while True:
            key = new_key()
            try:
                signed = await certificate(self._client, self._node, key, self._addresses, REQUEST_SECONDS)
                break
            except (ApiError, Unreachable, RequestDenied, TimeoutError) as error:
                failures += 1
                self.trouble = str(error) or "the request was not approved in time"
                kind = "serving" if self._addresses else "client"
                logger.warning("the node's %s certificate could not be renewed: %s", kind, self.trouble)
            await clock.sleep(retry_seconds(failures))
        self._file.write(signed, key)
        self.trouble = ""
        await self._on_change()

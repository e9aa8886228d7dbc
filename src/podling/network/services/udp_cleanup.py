"""Deleting the UDP connections that changes of Services have made stale."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from podling.client.base import Key
from podling.network.conntrack import Conntrack
from podling.network.services.udp_flows import UdpService, stale, without_endpoints
from podling.runtime.oci.threads import in_thread

logger = logging.getLogger(__name__)


class UdpCleanup:
    """Knows what was served by UDP in one family, and looks for stale connections when that changes."""

    def __init__(self, family: str) -> None:
        self._family = family
        self._known: dict[Key, UdpService] = {}

    async def put(self, changes: Mapping[Key, UdpService]) -> None:
        """Note what Services serve now; called when the kernel already sends new connections there."""
        concerned: list[UdpService] = []
        for key, new in changes.items():
            old = self._known.pop(key, UdpService())
            if new:
                self._known[key] = new
            if new != old:
                concerned += (without_endpoints(old), new)
        if any(concerned):
            try:
                await in_thread(lambda: self._delete_stale(concerned))
            except OSError as error:
                logger.warning("stale UDP connections cannot be deleted: %s", error)

    def _delete_stale(self, concerned: list[UdpService]) -> None:
        with Conntrack() as kernel:
            for flow in stale(kernel.udp_flows(self._family), concerned):
                kernel.delete(self._family, flow)

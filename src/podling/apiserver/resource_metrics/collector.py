"""Reads the kubelets while the use of their pods is of interest to a client.

A cluster whose use no client reads is not disturbed. The first read takes two samples within a second; from
then on every kubelet is read once a period, until no client has read for a minute. A controller that reads
every 15 seconds, such as the autoscaler, keeps the collection going.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from podling import clock, turns
from podling.api.core_v1 import Node
from podling.apiserver.resource_metrics.page_parsing import parse_page
from podling.apiserver.resource_metrics.samples import NodeSamples, next_samples
from podling.machinery import conditions, errors
from podling.machinery.errors import ApiError

log = logging.getLogger(__name__)

PERIOD_SECONDS = 14.0
"""Kubelets answer within the last second of the 15 that a sample may be old."""
FIRST_WINDOW_SECONDS = 1.0
IDLE_SECONDS = 60.0
"""Without a read for so long, the collection pauses."""
NODE_TIMEOUT_SECONDS = 5.0
FIRST_TIMEOUT_SECONDS = 30.0
AT_ONCE = 32
"""Kubelets that are read at the same time."""

Scrape = Callable[[Node], Awaitable[str]]
"""Returns a kubelet's ``/metrics/resource``. Raises ``ApiError`` when it cannot be reached."""


class Collector:
    """The samples of all nodes. ``run`` collects them for as long as ``fresh`` is called.

    Args:
        nodes: returns the present nodes.
    """

    def __init__(self, nodes: Callable[[], Awaitable[Iterable[Node]]], scrape: Scrape) -> None:
        self._nodes, self._scrape = nodes, scrape
        self._samples: dict[str, NodeSamples] = {}
        self._read_at = 0.0
        self._wanted, self._warm = asyncio.Event(), asyncio.Event()

    async def fresh(self) -> dict[str, NodeSamples]:
        """Return the samples by node, at most 15 s old. Waits for the first ones; raises 503 without any."""
        self._read_at = clock.monotonic()
        self._wanted.set()
        try:
            async with asyncio.timeout(FIRST_TIMEOUT_SECONDS):
                await self._warm.wait()
        except TimeoutError:
            raise errors.service_unavailable("the kubelets have not been read yet") from None
        return self._samples

    async def run(self) -> None:
        """Collect until cancelled."""
        while True:
            await self._wanted.wait()
            try:
                await self._collect()
                await clock.sleep(FIRST_WINDOW_SECONDS)
                while clock.monotonic() - self._read_at < IDLE_SECONDS:
                    began = clock.monotonic()
                    await self._collect()
                    self._warm.set()
                    await clock.sleep(max(0.0, PERIOD_SECONDS - (clock.monotonic() - began)))
                self._wanted.clear()
            finally:
                self._warm.clear()
                self._samples = {}

    async def _collect(self) -> None:
        """Read every kubelet once; a node that does not answer has no samples afterwards."""
        places = asyncio.Semaphore(AT_ONCE)
        found: dict[str, NodeSamples] = {}

        async def read(node: Node) -> None:
            name = node.metadata.name or ""
            async with places:
                samples = await self._read(node)
            if samples is not None:
                found[name] = samples

        reads = [read(node) for node in await self._nodes() if is_reachable(node)]
        await asyncio.gather(*reads)
        self._samples = found

    async def _read(self, node: Node) -> NodeSamples | None:
        name = node.metadata.name or ""
        try:
            async with asyncio.timeout(NODE_TIMEOUT_SECONDS):
                text = await self._scrape(node)
            await turns.take(len(text))
            return next_samples(self._samples.get(name), parse_page(text, clock.now()))
        except (ApiError, TimeoutError, ValueError, OverflowError, OSError) as error:
            log.info("metrics of node %s: %s", name, error or type(error).__name__)
            return None


def is_reachable(node: Node) -> bool:
    """Return whether the node's kubelet reports. Pure."""
    ready = conditions.find(node.status.conditions, "Ready")
    return ready is not None and ready.status in ("True", "False")

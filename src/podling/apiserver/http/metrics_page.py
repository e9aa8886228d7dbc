"""The page of a server's metrics.

Many series take seconds to collect and to write. So the page is made once for all requests that wait for it,
never for two at a time, and in a thread but for the collection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from aiohttp import web

from podling import turns
from podling.apiserver.http import metrics
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.replies import reply

Collectors = Callable[[], Iterable[metrics.Collector]]


class MetricsPage:
    """Serves the metrics of ``collectors``; with ``process`` those of the process, too."""

    def __init__(self, collectors: Collectors, *, process: bool) -> None:
        self._collectors = collectors
        self._process = process
        self._making = asyncio.Lock()
        self._begun = 0
        """The number of pages that were begun."""
        self._last = b""

    async def serve(self, request: HttpRequest) -> web.StreamResponse:
        return await reply(request, await self.page(), media_type=metrics.CONTENT_TYPE)

    async def page(self) -> bytes:
        """Return a page that was begun after this call."""
        before = self._begun
        async with self._making:
            if self._begun == before:
                self._begun += 1
                self._last = await self._made()
            return self._last

    async def _made(self) -> bytes:
        families: list[Any] = []
        for collector in self._collectors():
            if isinstance(collector, metrics.RemoteCollector):
                await collector.refresh()
            found = iter(collector.collect())
            while True:
                await turns.take()
                family = next(found, None)
                if family is None:
                    break
                families.append(family)
        return await turns.in_thread(metrics.exposition, families, process=self._process)

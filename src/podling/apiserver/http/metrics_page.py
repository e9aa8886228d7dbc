"""The page of a server's metrics.

Many series take seconds to collect and to write. So the page is made once for all requests that wait for it,
never for two at a time, and in a thread but for the collection.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import chain
from typing import Any

from aiohttp import web

from podling import turns
from podling.apiserver.http import metrics
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.remote_series import RemoteSeries
from podling.apiserver.http.replies import reply

WRITTEN_AT_ONCE = 2_000
"""Samples that are written at once. Many more would make the garbage collector look at all of them."""

_families = re.compile(rb"^(?=# HELP )", re.MULTILINE).split

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
        page: dict[bytes, list[bytes]] = {}
        families: list[Any] = []
        samples = 0
        async for family in self._collected():
            families.append(family)
            samples += len(family.samples)
            if samples >= WRITTEN_AT_ONCE:
                _add(page, await turns.in_thread(metrics.exposition, families, process=False))
                families, samples = [], 0
        _add(page, await turns.in_thread(metrics.exposition, families, process=self._process))
        return b"".join(part for parts in page.values() for part in parts)

    async def _collected(self) -> AsyncIterator[Any]:
        """Yield the families of this process, with what others count, each in its turn."""
        collectors, remote = tuple(self._collectors()), RemoteSeries()
        for collector in collectors:
            if isinstance(collector, metrics.RemoteCollector):
                await collector.refresh()
                remote.add(collector.collect())
        here = (each for each in collectors if not isinstance(each, metrics.RemoteCollector))
        found = chain.from_iterable(each.collect() for each in here)
        while True:
            await turns.take()
            family = next(found, None)
            if family is None:
                break
            remote.move_into(family)
            yield family
        for family in remote.rest():
            yield family


def _add(page: dict[bytes, list[bytes]], text: bytes) -> None:
    """Add the families in ``text`` to those of the same name in ``page``."""
    for block in _families(text):
        if block:
            explained, typed, samples = block.split(b"\n", 2)
            name = explained.split(b" ", 3)[2]
            page.setdefault(name, [explained + b"\n" + typed + b"\n"]).append(samples)

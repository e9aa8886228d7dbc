"""The writer, as a worker sees it: the revision to wait for before a read, and where writes go."""

from __future__ import annotations

import asyncio

from aiohttp import web

from podling.api.core_v1 import ComponentStatus
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.registry import listing
from podling.apiserver.workers.forwarding import Forwarding
from podling.client.requests import Target, User
from podling.machinery.scheme import resource_of
from podling.store.replica import Replica
from podling.store.shared_revision import SharedRevision

FRESH_SECONDS = 3.0
"""The longest wait of a read for the replica (apiserver ``storage/cacher``: ``blockTimeout``)."""
READS = ("get", "list", "watch")
DIGITS_MAX = 20


class Writer:
    """``app.Writer`` over a replica."""

    def __init__(self, replica: Replica, shared: SharedRevision, forwarding: Forwarding) -> None:
        self._replica, self._shared = replica, shared
        self.forwarding = forwarding

    def is_ahead(self, request: HttpRequest) -> bool:
        """Return whether the replica lacks something that the answer to ``request`` must show."""
        return self._shared.read() > self._replica.revision and self._needed(request) > self._replica.revision

    async def caught_up(self, request: HttpRequest) -> None:
        """Wait until the replica shows what the writer had when the request came, at most for 3 s."""
        try:
            async with asyncio.timeout(FRESH_SECONDS):
                await self._replica.reached(self._needed(request))
        except TimeoutError:
            request.is_stale = True

    def serves(self, request: HttpRequest, verb: str, target: Target) -> bool:
        """Return whether the writer has to answer.

        Raises 504 for a watch that would begin before what the client has seen.
        """
        if verb not in READS or target.resource is _COMPUTED:
            return True
        if request.is_stale and verb == "watch":
            raise listing.too_large_revision(self._needed(request), self._replica.revision)
        return request.is_stale

    async def forward(self, request: HttpRequest, user: User) -> web.StreamResponse:
        return await self.forwarding.serve(request, user)

    def _needed(self, request: HttpRequest) -> int:
        """Return the revision that a request has to see at least."""
        newest = self._shared.read()
        if "resourceVersion=" not in request.query_string:
            return newest
        asked = request.query.get("resourceVersion", "")
        known = asked.isascii() and asked.isdigit() and len(asked) <= DIGITS_MAX
        return min(int(asked), newest) if known else newest


_COMPUTED = resource_of(ComponentStatus)
"""The writer's process knows the health of the control plane."""

"""Requests that a worker passes to the writer, as they came: over HTTP on a Unix socket.

The writer's answer goes to the client unchanged: status code, warnings, table or object. A writer that is
being started again is waited for, as long as nothing of the request has been sent.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from podling import clock
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.forwarded_user import HEADER, header_of
from podling.apiserver.proxy.upgrade_proxy import forwarded
from podling.client.requests import User
from podling.machinery import errors

if TYPE_CHECKING:
    import aiohttp
    from aiohttp import web

WAIT_SECONDS = 5.0
"""The wait for a writer that does not accept connections. The supervisor starts it again within one
second."""
RETRY_SECONDS = 0.02
KEEP_SECONDS = 30.0
"""Connections are kept so long without a request: less than the writer keeps them."""
NOT_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that the HTTP client would add of its own; some of them mean something to the API."""
UNKNOWN = "the API server's writer ended before it answered; the request may have been carried out"


class Forwarding:
    """Passes requests to the writer's socket at ``path``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder: int | None = None
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None

    async def serve(self, request: HttpRequest, user: User) -> web.StreamResponse:
        """Return the writer's answer. Raises 503 if nothing was sent to it, 504 if that is not known."""
        import aiohttp
        from aiohttp import web
        from yarl import URL

        body = await request.read() or None  # another stage may have read it before
        headers = forwarded(request.headers)
        headers[HEADER] = header_of(user)
        url = URL(f"http://writer{request.raw_path}", encoded=True)
        patience = clock.monotonic() + WAIT_SECONDS
        while True:
            try:
                async with self._open().request(
                    request.method, url, data=body, headers=headers, allow_redirects=False
                ) as answer:
                    found = await answer.read()
                    shown = forwarded(answer.headers)
                    return web.Response(body=found, status=answer.status, headers=shown)
            except aiohttp.ClientConnectorError as error:
                if clock.monotonic() >= patience:
                    raise errors.service_unavailable(
                        f"the API server's writer cannot be reached: {error}"
                    ) from None
            except (aiohttp.ClientError, OSError):
                raise errors.gateway_timeout(UNKNOWN) from None
            await clock.sleep(RETRY_SECONDS)

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            # The address of a socket is short, the path of a data directory may be long.
            self._folder = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            connector = aiohttp.UnixConnector(
                f"/proc/self/fd/{self._folder}/{self._path.name}", limit=0, keepalive_timeout=KEEP_SECONDS
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
                skip_auto_headers=NOT_ADDED,
            )
        return self._session

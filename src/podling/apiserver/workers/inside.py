"""The writer's socket for requests that workers forward: HTTP, with the user in a header."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from podling.apiserver.app import HttpServer
from podling.apiserver.serving import SHUTDOWN_SECONDS
from podling.client import unix_sockets


class InsideServer:
    """Serves ``http`` to the processes of its own user, at ``path``. They name the users of their
    requests."""

    def __init__(self, http: HttpServer, path: Path) -> None:
        self._http, self._path = http, path
        self._runner: web.ServerRunner | None = None

    async def start(self) -> None:
        """Listen. Raises ``OSError``."""
        runner = web.ServerRunner(self._http.inside_server(), shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        await web.SockSite(runner, unix_sockets.listen(str(self._path))).start()
        self._runner = runner

    async def stop(self) -> None:
        """Stop listening; let running requests finish."""
        if self._runner is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._path)
            await self._runner.cleanup()

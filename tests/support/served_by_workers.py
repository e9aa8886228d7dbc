"""An API server whose requests go to two API workers in turn; writer and workers restart at will."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

from podling.apiserver.app import HttpServer
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving
from podling.apiserver.socket.server import SocketServer
from podling.apiserver.workers.inside import InsideServer
from podling.apiserver.workers.reading_server import ReadingApiServer
from podling.apiserver.workers.worker import ApiWorker, WriterPlaces
from podling.store.base import Store
from podling.store.replica import Replica
from podling.store.shared_revision import SharedRevision
from tests.support.served_here import ADMIN, TOKEN, ServedHere

WORKERS = 2
TOKENS = {TOKEN: ADMIN}


class ServedByWorkers(ServedHere):
    """``ServedHere`` with workers. ``url`` names another one each time."""

    def __init__(self, open_store: Callable[[], Awaitable[Store]], folder: Path) -> None:
        super().__init__(open_store)
        self._places = WriterPlaces(folder / "api.sock", folder / "inside.sock", folder / "revision")
        self._shared = SharedRevision(self._places.revision)
        self._writing = AsyncExitStack()
        self._workers: dict[ApiWorker, int] = {}
        """With their ports."""
        self._numbers = count()

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()
        for worker in self._workers:
            await worker.stop()
        await self._stop()
        await self.store.close()
        self._shared.close()

    def url(self, path: str) -> str:
        ports = list(self._workers.values())
        return f"http://127.0.0.1:{ports[next(self._numbers) % len(ports)]}{path}"

    async def restart(self, *, reopen: bool) -> None:
        """Restart the writer; and a worker every other time."""
        await super().restart(reopen=reopen)
        if next(self._numbers) % 2:
            worker = next(iter(self._workers))
            del self._workers[worker]
            await worker.stop()
            await self._start_worker()

    async def _start(self) -> None:
        self.store.publish_revision(self._shared.publish)  # type: ignore[attr-defined]
        self.api = ApiServer(self.store, (), static_tokens=TOKENS)
        await self.api.start()
        self._writing.push_async_callback(self.api.stop)
        self.http = HttpServer(self.api, self.api.authenticator, Serving())
        for server in (
            SocketServer(self.api, self._places.socket), InsideServer(self.http, self._places.inside)
        ):  # fmt: skip
            await server.start()
            self._writing.push_async_callback(server.stop)
        while len(self._workers) < WORKERS:
            await self._start_worker()

    async def _stop(self) -> None:
        await self._writing.aclose()

    async def _start_worker(self) -> None:
        def new_api(replica: Replica) -> ReadingApiServer:
            return ReadingApiServer(replica, (), static_tokens=TOKENS)

        worker = ApiWorker(f"api-worker-{next(self._numbers)}", self._places, new_api)
        http = await worker.start(lambda api: Serving(port=0))
        self._workers[worker] = http.port

"""An API server behind plain HTTP on the test's own loop: no TLS, one bearer token, restarts at will."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from podling.apiserver.admission.base import Plugin
from podling.apiserver.app import HttpServer
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving
from podling.client.requests import User
from podling.machinery.feature_gates import NO_GATES
from podling.machinery.network_ranges import DEFAULT_RANGES, NetworkRanges
from podling.store.base import Store
from podling.store.memory import MemoryStore

TOKEN = "told"
ADMIN = User("admin", ("system:masters",))


@asynccontextmanager
async def serving(
    token: str,
    plugins: Sequence[Plugin] = (),
    *,
    feature_gates: Mapping[str, bool] = NO_GATES,
    **options: Any,
) -> AsyncIterator[tuple[ApiServer, int]]:
    """Run a new server over a store in memory as long as the block lasts; yield it and its port.

    ``token`` is an administrator's; ``options`` are further fields of ``Serving``.
    """
    store = MemoryStore()
    api = ApiServer(store, plugins, static_tokens={token: ADMIN}, feature_gates=feature_gates)
    await api.start()
    http = HttpServer(api, api.authenticator, Serving(port=0, **options))
    await http.start()
    try:
        yield api, http.port
    finally:
        await http.stop()
        await api.stop()
        await store.close()


class ServedHere:
    """Use as an asynchronous context manager. ``open_store`` is called at every start."""

    def __init__(
        self,
        open_store: Callable[[], Awaitable[Store]],
        plugins: Sequence[Plugin] = (),
        ranges: NetworkRanges = DEFAULT_RANGES,
    ) -> None:
        self._ranges = ranges
        self._open_store = open_store
        self._plugins = plugins
        self.store: Store
        self.api: ApiServer
        self.http: HttpServer
        self.session: aiohttp.ClientSession

    async def __aenter__(self) -> ServedHere:
        self.session = aiohttp.ClientSession(headers={"Authorization": f"Bearer {TOKEN}"})
        self.store = await self._open_store()
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()
        await self._stop()
        await self.store.close()

    async def restart(self, *, reopen: bool) -> None:
        """Stop and start again; ``reopen`` the store too, as a new process would."""
        await self._stop()
        if reopen:
            await self.store.close()
            self.store = await self._open_store()
        await self._start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.http.port}{path}"

    async def _start(self) -> None:
        self.api = ApiServer(self.store, self._plugins, ranges=self._ranges, static_tokens={TOKEN: ADMIN})
        await self.api.start()
        self.http = HttpServer(self.api, self.api.authenticator, Serving(port=0))
        await self.http.start()

    async def _stop(self) -> None:
        await self.http.stop()
        await self.api.stop()

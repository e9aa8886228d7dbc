"""A writer and its API workers on the test's own loop, all listening over plain HTTP on ports of their
own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from podling.api.core_v1 import Node
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.app import HttpServer
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving
from podling.apiserver.socket.server import SocketServer
from podling.apiserver.workers.inside import InsideServer
from podling.apiserver.workers.reading_server import ReadingApiServer
from podling.apiserver.workers.worker import ApiWorker, WriterPlaces
from podling.client.requests import User
from podling.store.base import Store
from podling.store.memory import MemoryStore
from podling.store.replica import Replica
from podling.store.shared_revision import SharedRevision

TOKENS = {"admin": User("admin", ("system:masters",)), "plain": User("plain", ("system:authenticated",))}


def signing_key() -> bytes:
    """Return a key for tokens, which all processes of an API server share."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


async def nothing_measured(node: Node) -> str:
    return ""


class WorkedServer:
    """A writer, and workers that start with ``worker``. Use as an asynchronous context manager."""

    def __init__(self, folder: Path, store: Store | None = None, key: bytes | None = None) -> None:
        self.places = WriterPlaces(folder / "api.sock", folder / "inside.sock", folder / "revision")
        self.store: Any = store or MemoryStore()
        self.key = key or signing_key()
        self.https: list[HttpServer] = []
        """The servers of the workers."""
        self.shared = SharedRevision(self.places.revision)
        self._stack = AsyncExitStack()
        self._writing = AsyncExitStack()

    async def __aenter__(self) -> WorkedServer:
        await self.start_writer()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        await self.stop_writer()
        await self.store.close()
        self.shared.close()

    async def start_writer(self) -> None:
        self.store.publish_revision(self.shared.publish)
        self.api = ApiServer(
            self.store, plugins_without_controllers(), signing_key=self.key, static_tokens=TOKENS
        )
        await self.api.start()
        self.api.serve_resource_metrics(nothing_measured)
        self.api.show_itself()
        self._writing.push_async_callback(self.api.stop)
        self.http = HttpServer(self.api, self.api.authenticator, Serving(port=0, checks=self.api.checks()))
        await self.http.start()
        self._writing.push_async_callback(self.http.stop)
        for server in (
            SocketServer(self.api, self.places.socket),
            InsideServer(self.http, self.places.inside),
        ):
            await server.start()
            self._writing.push_async_callback(server.stop)

    async def stop_writer(self) -> None:
        """Stop the writer as its process would be; its store stays open."""
        await self._writing.aclose()

    def new_api(self, replica: Replica) -> ReadingApiServer:
        return ReadingApiServer(
            replica, plugins_without_controllers(), signing_key=self.key, static_tokens=TOKENS
        )

    async def worker(self, name: str = "api-worker/1") -> tuple[ApiWorker, HttpServer]:
        """Start a worker."""
        worker = ApiWorker(name, self.places, self.new_api)
        self._stack.push_async_callback(worker.stop)
        http = await worker.start(lambda api: Serving(port=0, checks=api.checks()))
        self.https.append(http)
        return worker, http

    def session(self, http: HttpServer, token: str = "admin") -> aiohttp.ClientSession:
        """Return a client of one of the servers."""
        session = aiohttp.ClientSession(
            f"http://127.0.0.1:{http.port}", headers={"Authorization": f"Bearer {token}"}
        )
        self._stack.push_async_callback(session.close)
        return session


@asynccontextmanager
async def worked(folder: Path, count: int = 1) -> AsyncIterator[tuple[WorkedServer, Sequence[Any]]]:
    """Run a writer with so many workers; yield them, and a session of an administrator for each worker."""
    async with WorkedServer(folder) as server:
        sessions = []
        for number in range(count):
            _, http = await server.worker(f"api-worker/{number + 1}")
            sessions.append(server.session(http))
        yield server, sessions

"""An API worker: a replica, the API server over it, its HTTPS, and the ways to the writer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from msgspec import Struct

from podling.apiserver.app import HttpServer
from podling.apiserver.proxy.streams import NodeConnector, StreamRequests
from podling.apiserver.serving import Serving
from podling.apiserver.workers.following import Follower
from podling.apiserver.workers.forwarding import Forwarding
from podling.apiserver.workers.reading_server import ReadingApiServer
from podling.apiserver.workers.writer import Writer
from podling.client.component_reports import ComponentReports
from podling.client.local import LocalClient
from podling.client.socket_backend import SocketBackend
from podling.client.store_follow import follow
from podling.store.replica import Replica
from podling.store.shared_revision import SharedRevision


class WriterPlaces(Struct, frozen=True):
    """The places of the writer: its socket for components, its socket for forwarded requests, and the file of
    its revision."""

    socket: Path
    inside: Path
    revision: Path


class ApiWorker:
    """One worker, from its start to its end.

    Args:
        name: names the process to the writer and to people.
        new_api: makes the API server over a replica, with the settings of the writer's own. It is called when
            the writer has started, and so has made the keys that both use.
        new_connector: makes the client for kubelets; None for a server that reaches none.
    """

    def __init__(
        self,
        name: str,
        places: WriterPlaces,
        new_api: Callable[[Replica], ReadingApiServer],
        new_connector: Callable[[], NodeConnector] | None = None,
    ) -> None:
        self._name, self._places = name, places
        self._new_api, self._new_connector = new_api, new_connector
        self._stack = AsyncExitStack()
        self.replica = Replica()
        self.api: ReadingApiServer

    async def start(self, serving: Callable[[ReadingApiServer], Serving]) -> HttpServer:
        """Follow the writer, and serve once a snapshot of its store is here."""
        backend = SocketBackend(self._places.socket, ComponentReports(self._name))
        await self._stack.enter_async_context(backend)
        await backend.connected()
        shared = SharedRevision(self._places.revision)
        self._stack.callback(shared.close)
        self._stack.push_async_callback(self.replica.close)
        forwarding = Forwarding(self._places.inside)
        self._stack.push_async_callback(forwarding.close)
        self.api = self._new_api(self.replica)
        self._stack.push_async_callback(self.api.stop)
        follower = Follower(self.replica, partial(follow, backend))
        self.api.follow(self.replica, follower, LocalClient(backend))
        await self.api.start()
        streams = None
        if self._new_connector is not None:
            streams = StreamRequests(self.api.registry, self.api.objects, self._new_connector())
        writer = Writer(self.replica, shared, forwarding)
        http = HttpServer(self.api, self.api.authenticator, serving(self.api), streams, writer)
        await http.start()
        self._stack.push_async_callback(http.stop)
        return http

    async def stop(self) -> None:
        """Stop serving; clients go on with another process."""
        await self._stack.aclose()

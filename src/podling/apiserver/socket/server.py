"""A listening Unix socket of an API server, and the connections that it has accepted."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from podling.apiserver.server import ApiServer
from podling.apiserver.socket.calls import Calls
from podling.apiserver.socket.components import ConnectedComponents
from podling.apiserver.socket.connection import Connection
from podling.apiserver.socket.other_apis import OtherApiVerbs
from podling.apiserver.socket.session import ExtraVerb
from podling.client import messages, unix_sockets

SHUTDOWN_SECONDS = 5.0


class SocketServer:
    """Serves an API server to the processes of its own user on this machine.

    ``components`` has the state of the processes that are connected, and shows their metrics with the API
    server's.

    Args:
        path: the socket; an old one is replaced, so a lock must keep others from serving the same path.
    """

    def __init__(self, api: ApiServer, path: Path | str) -> None:
        self.path = str(path)
        self.registry = api.registry
        self.store = api.store
        self.calls = Calls(api.registry, api.catalogue)
        self.extras: Mapping[str, ExtraVerb] = OtherApiVerbs(api).verbs()
        self.components = ConnectedComponents(api.components)
        api.count(self.components)
        self._listener: asyncio.Server | None = None
        self._inode = 0
        """The inode of the socket's path, which a later server may replace."""
        self._connections: dict[Connection, None] = {}

    async def start(self) -> None:
        """Listen. Raises ``OSError``."""
        listener = unix_sockets.listen(self.path)
        self._inode = os.stat(self.path).st_ino
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_unix_server(lambda: Connection(self), sock=listener)

    async def stop(self) -> None:
        """End every stream, let running requests finish, and close."""
        if self._listener is not None:
            self._listener.close()
            with suppress(FileNotFoundError):
                if os.stat(self.path).st_ino == self._inode:
                    os.unlink(self.path)
        connections = tuple(self._connections)
        if connections:
            await asyncio.gather(*(each.stop(SHUTDOWN_SECONDS) for each in connections))

    def opened(self, connection: Connection) -> None:
        self._connections[connection] = None

    def closed(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        self.components.ended(connection)

    def beat(self, connection: Connection, beat: messages.Beat) -> None:
        """Take a sign of life."""
        self.components.beat(connection, beat.errors)

"""TCP connections to a Service, carried to one of its endpoints."""

from __future__ import annotations

import asyncio
import logging
import socket
from functools import partial

from podling import clock
from podling.network.loopback.places import Opening, Place, Rotation, Target
from podling.network.loopback.sockets import listening
from podling.supervisor import Supervisor

logger = logging.getLogger(__name__)

CHUNK = 65536
CONNECT_SECONDS = 5.0
"""The time that an endpoint has to accept a connection; then the next one is tried."""

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class TcpListener:
    """Listens at one place. Established connections go on when the endpoints change."""

    def __init__(self, place: Place, opening: Opening) -> None:
        self._place = place
        self._rotation = Rotation(opening)
        self._connections = Supervisor()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Raises ``OSError`` if the place cannot be opened."""
        self._server = await asyncio.start_server(self._accept, sock=listening(self._place))

    def change(self, opening: Opening) -> None:
        self._rotation.change(opening)

    async def close(self) -> None:
        """Refuse new connections and end those that are open."""
        if self._server is not None:
            self._server.close()
        await self._connections.close()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        work = partial(self._serve, (reader, writer))
        self._connections.run_once("network/loopback/connection", work, str(self._place))

    async def _serve(self, client: Stream) -> None:
        address = client[1].get_extra_info("peername")[0]
        try:
            endpoint = await self._connect(address)
            if endpoint is None:
                _reset(client[1])
                return
            try:
                await asyncio.gather(_carry(client[0], endpoint[1]), _carry(endpoint[0], client[1]))
            finally:
                endpoint[1].close()
        except OSError:
            _reset(client[1])  # one side broke off: so does the other
        except Exception:
            _reset(client[1])  # an orderly end would let the client take a part for the whole
            raise
        finally:
            client[1].close()

    async def _connect(self, client: str) -> Stream | None:
        """Return a connection to an endpoint; None when none accepts one."""
        for target in self._rotation.order(client, clock.monotonic()):
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    found = await asyncio.open_connection(*target)
            except OSError as error:
                logger.debug("%s: the endpoint %s does not answer: %s", self._place, _shown(target), error)
                continue
            self._rotation.keep(client, target, clock.monotonic())
            return found
        return None


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry bytes until the reader ends, and then end the writer's half. Raises ``OSError``."""
    while chunk := await reader.read(CHUNK):
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Break the connection off, so that its client sees a reset and no orderly end."""
    if (opened := writer.get_extra_info("socket")) is not None:
        linger_nothing = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_nothing)
    writer.transport.abort()


def _shown(target: Target) -> str:
    return f"{target[0]}:{target[1]}"

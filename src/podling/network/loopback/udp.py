"""UDP packets to a Service, carried to one of its endpoints, and the answers back."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any, cast

from podling import clock
from podling.network.loopback.places import Opening, Place, Rotation, Target
from podling.network.loopback.sockets import listening

IDLE_SECONDS = 120.0
"""The time after which a client without packets gets a new endpoint: conntrack's for UDP streams."""
CLIENTS_MAX = 4096
PACKET_BYTES = 65536

Address = tuple[Any, ...]


class UdpListener(asyncio.DatagramProtocol):
    """Listens at one place. Each client has a socket of its own, by which answers find back to it."""

    def __init__(self, place: Place, opening: Opening) -> None:
        self._place = place
        self._rotation = Rotation(opening)
        self._transport: asyncio.DatagramTransport | None = None
        self._clients: dict[Address, _Client] = {}
        self._expiry: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        """Raises ``OSError`` if the place cannot be opened."""
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, sock=listening(self._place))
        self._expiry = loop.call_later(IDLE_SECONDS, self._expire)

    def change(self, opening: Opening) -> None:
        """Take other endpoints; clients of an endpoint that is gone get a new one with their next packet."""
        self._rotation.change(opening)
        for address, client in tuple(self._clients.items()):
            if client.target not in opening.targets:
                self._end(address)

    async def close(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        for address in tuple(self._clients):
            self._end(address)
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: Address) -> None:
        client = self._clients.get(addr)
        if client is None:
            if len(self._clients) >= CLIENTS_MAX:
                self._end(min(self._clients, key=lambda each: self._clients[each].last))
            client = self._clients[addr] = self._new_client(addr)
        client.send(data)

    def answer(self, data: bytes, client: Address) -> None:
        if self._transport is not None:
            self._transport.sendto(data, client)

    def _new_client(self, address: Address) -> _Client:
        now = clock.monotonic()
        target = self._rotation.order(address[0], now)[0]
        self._rotation.keep(address[0], target, now)
        return _Client(self, address, target)

    def _end(self, address: Address) -> None:
        self._clients.pop(address).close()

    def _expire(self) -> None:
        oldest = clock.monotonic() - IDLE_SECONDS
        for address, client in tuple(self._clients.items()):
            if client.last < oldest:
                self._end(address)
        self._expiry = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._expire)


class _Client:
    """A client's packets to its endpoint, on a socket of its own."""

    def __init__(self, listener: UdpListener, address: Address, target: Target) -> None:
        self.target = target
        self.last = clock.monotonic()
        self._listener = listener
        self._address = address
        family = socket.AF_INET6 if ":" in target[0] else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.setblocking(False)
        with suppress(OSError):
            self._socket.connect(target)
        asyncio.get_running_loop().add_reader(self._socket, self._receive)

    def send(self, data: bytes) -> None:
        """Send a packet; like the network, lose it where that fails."""
        self.last = clock.monotonic()
        with suppress(OSError):
            self._socket.send(data)

    def _receive(self) -> None:
        with suppress(OSError):  # the endpoint's port is closed: its client gets no answer
            data = self._socket.recv(PACKET_BYTES)
            self.last = clock.monotonic()
            self._listener.answer(data, self._address)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()

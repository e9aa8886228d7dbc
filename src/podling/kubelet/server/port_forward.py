"""Port-forward over WebSocket channels, the older protocol: two channels for each port.

For the i-th port of the query channel 2i carries data and channel 2i + 1 errors; the server opens both
with a frame that holds the port as two bytes, little-endian. Each port is one connection into the
pod. (kubectl's newer protocol is a SPDY connection inside the WebSocket: ``spdy_tunnel.py``.)
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from podling.cancellation import cancel_and_settle, run_to_end
from podling.kubelet.server.carriers import Carrier
from podling.kubelet.server.pipe import Pipe
from podling.machinery.errors import bad_request
from podling.machinery.numbers import parse_uint
from podling.runtime.base import RuntimeFailure

Forward = Callable[[int, AsyncIterator[bytes], Callable[[bytes], Awaitable[None]]], Awaitable[None]]
"""Connects to a port of the pod (``Runtime.port_forward`` for one sandbox)."""

PORT = struct.Struct("<H")
PORTS_MAX = 127
"""The limit of ports: each has two channels, and the highest channel number is the close signal."""


def parse_ports(texts: Sequence[str]) -> tuple[int, ...]:
    """Return the ports of ``?port=80,443&port=8080``. Raises 400 (upstream: ``NewV4Options``)."""
    if not texts:
        raise bad_request('query parameter "port" is required')
    ports = []
    for text in texts:
        if not text:
            raise bad_request('query parameter "port" cannot be empty')
        for each in text.split(","):
            try:
                port = parse_uint(each, 16)
            except ValueError as error:
                raise bad_request(f"unable to parse {json.dumps(text)} as a port: {error}") from None
            if not port:
                raise bad_request(f"port {json.dumps(text)} must be > 0")
            ports.append(port)
    if len(ports) > PORTS_MAX:
        raise bad_request(f"more than {PORTS_MAX} ports")
    return tuple(ports)


class PortForward:
    """The ports of one client, each with its own connection."""

    def __init__(self, carrier: Carrier, ports: Sequence[int], forward: Forward, pod: str) -> None:
        self._carrier = carrier
        self._ports = ports
        self._forward = forward
        self._pod = pod
        self._inbound = [Pipe() for _ in ports]

    async def serve(self) -> None:
        """Forward all connections until they have ended or the client leaves."""
        tasks = [
            asyncio.create_task(work) for work in (self._read(), self._carry_all(), self._carrier.left())
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except ConnectionError:
            return  # the client is gone
        finally:
            await run_to_end(self._end(tasks))

    async def _end(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        await cancel_and_settle(*tasks)
        await self._carrier.close()

    async def _carry_all(self) -> None:
        for number, port in enumerate(self._ports):
            await self._carrier.send(2 * number, PORT.pack(port))
            await self._carrier.send(2 * number + 1, PORT.pack(port))
        async with asyncio.TaskGroup() as connections:
            for number, port in enumerate(self._ports):
                connections.create_task(self._carry(number, port))

    async def _carry(self, number: int, port: int) -> None:
        async def send(chunk: bytes) -> None:
            await self._carrier.send(2 * number, chunk)

        try:
            await self._forward(port, self._inbound[number], send)
        except ConnectionError:
            return  # the client is gone, as its own reader notices
        except (RuntimeFailure, OSError) as error:
            await self._carrier.send(2 * number + 1, failure_text(port, self._pod, error).encode())
        finally:
            self._inbound[number].close()

    async def _read(self) -> None:
        async for channel, data in self._carrier.incoming():
            number, is_error = divmod(channel, 2)
            if is_error or number >= len(self._inbound):
                continue  # data channels are even; what comes on an error channel has no meaning
            if data is None:
                self._inbound[number].end()
            else:
                await self._inbound[number].put(data)


def failure_text(port: int, pod: str, error: Exception) -> str:
    """Return the error text for the client, shown after its own ``an error occurred forwarding``."""
    return f"error forwarding port {port} to pod {pod}, uid : {error}"

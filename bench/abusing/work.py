"""The ways in which an abuser's connections send their requests."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field

from bench.abusing.wire import Endpoint, Request, Wire

CONNECTIONS = 64
"""The connections of the abuser; some deeds open several for each of them."""
SETTING_UP = 16
"""Connections that create the objects of a deed before the load."""
HOLD_SECONDS = 2.0
"""A watch stays open for so long before it is closed."""


@dataclass
class Tally:
    """The results of an abuser: answers by status code, failures of connections, and bytes received."""

    codes: Counter[int] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    received: int = 0
    slowest: float = 0.0

    def add(self, code: int, size: int, seconds: float) -> None:
        self.codes[code] += 1
        self.received += size
        self.slowest = max(self.slowest, seconds)

    def fail(self, error: BaseException) -> None:
        self.failures[type(error).__name__] += 1


@dataclass(frozen=True)
class Abuser:
    """One abuser: its endpoint, its namespace, and its results."""

    endpoint: Endpoint
    context: ssl.SSLContext
    tally: Tally


Drive = Callable[[Abuser, int], Awaitable[None]]
"""The endless work of one connection, given its number; it is cancelled at the end."""


@dataclass(frozen=True)
class Work:
    """A deed's requests: those that prepare it, and the work of each connection."""

    drive: Drive
    first: Sequence[Request] = ()
    awaited: tuple[Request, bytes] | None = None
    """A read whose answer has to contain something before the deed begins."""


def repeat(turns: Callable[[int], Iterator[Request]]) -> Drive:
    """Return the work of a connection that sends one request after the other and heeds no answer."""

    async def drive(abuser: Abuser, number: int) -> None:
        wire: Wire | None = None
        for request in turns(number):
            try:
                if wire is None or not wire.is_open:
                    wire = await Wire.open(abuser.endpoint, abuser.context)
                started = time.monotonic()
                reply = await wire.ask(request)
                abuser.tally.add(reply.code, reply.size, time.monotonic() - started)
            except OSError as error:
                abuser.tally.fail(error)
                await asyncio.sleep(0.05)

    return drive


def reconnect(requests: Sequence[Request]) -> Drive:
    """Return the work of a connection that is closed after each request, and opened again."""

    async def drive(abuser: Abuser, number: int) -> None:
        while True:
            started = time.monotonic()
            try:
                wire = await Wire.open(abuser.endpoint, abuser.context)
                try:
                    reply = await wire.ask(requests[number % len(requests)])
                finally:
                    wire.close()
                abuser.tally.add(reply.code, reply.size, time.monotonic() - started)
            except OSError as error:
                abuser.tally.fail(error)
                await asyncio.sleep(0.01)

    return drive


def open_many(request: Request, count: int, *, reads: bool = True, hold: float = HOLD_SECONDS) -> Drive:
    """Return the work of ``count`` connections: all are opened, held, and closed, again and again."""

    async def one(abuser: Abuser) -> None:
        def received(data: bytes) -> None:
            abuser.tally.received += len(data)

        wire = await Wire.open(abuser.endpoint, abuser.context, received)
        try:
            await wire.begin(request)
            if not reads:
                await asyncio.sleep(0.1)
                wire.stop_reading()
            ends = time.monotonic() + hold
            while time.monotonic() < ends and wire.code < 400:
                await asyncio.sleep(min(hold, 0.5))
            abuser.tally.add(wire.code, 0, 0.0)
        finally:
            wire.close()

    async def drive(abuser: Abuser, number: int) -> None:
        while True:
            for result in await asyncio.gather(*(one(abuser) for _ in range(count)), return_exceptions=True):
                if isinstance(result, OSError):
                    abuser.tally.fail(result)
                elif result is not None:
                    raise result

    return drive


async def prepare_deed(abuser: Abuser, work: Work) -> None:
    """Send the requests that prepare a deed. Raises ``RuntimeError`` when one of them is refused."""
    left = iter(work.first)

    async def some() -> None:
        wire = await Wire.open(abuser.endpoint, abuser.context)
        for request in left:
            while (reply := await wire.ask(request, keep=True)).code == 429:
                await asyncio.sleep(1)
            if reply.code >= 400:
                raise RuntimeError(f"{request.head[:80]!r}: {reply.code} {reply.body[:300]!r}")
        wire.close()

    await asyncio.gather(*(some() for _ in range(min(SETTING_UP, len(work.first)))))
    if work.awaited is not None:
        request, text = work.awaited
        wire = await Wire.open(abuser.endpoint, abuser.context)
        while text not in (await wire.ask(request, keep=True)).body:
            await asyncio.sleep(0.1)
        wire.close()

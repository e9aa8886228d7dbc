"""One question to other servers, over UDP and, where the answer does not fit, over TCP.

Every question has a socket of its own, so its port is the kernel's random choice, and the kernel drops
packets of other servers. An answer must repeat the identifier and the question; anything else is ignored, and
the wait goes on.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from podling import clock, ids
from podling.network.dns.answers import FORMERR, NOTIMP, REFUSED, SERVFAIL
from podling.network.dns.encoding import TC, TCP_BYTES_MAX, Malformed
from podling.network.dns.queries import Query
from podling.network.dns.responses import Response, read_response, upstream_query
from podling.network.dns.settings import Server

ATTEMPT_SECONDS = 1.0
"""After so long without an answer the next server is queried, too; the first may still answer."""
DEADLINE_SECONDS = 4.0
"""Less than the five seconds after which the resolver of the C library repeats a question."""
ATTEMPTS_MAX = 4


class NoAnswer(Exception):
    """No server answered in time."""


class Outcome(Struct, frozen=True):
    """A server's answer, and how long it took (seconds)."""

    server: Server
    response: Response
    seconds: float


Failed = Callable[[Server], object]
"""Called for each server that did not answer."""


class _Attempt:
    """A question on its way to one server."""

    def __init__(self, server: Server, query: Query, done: Callable[[_Attempt], None]) -> None:
        self.server = server
        self.began = clock.monotonic()
        self.response: Response | None = None
        self.failed = False
        self._query, self._done = query, done
        self._edns = True
        self._number = ids.unguessable(16)
        family = socket.AF_INET6 if ":" in server.ip else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self._loop = asyncio.get_running_loop()
        try:
            self._socket.connect((server.ip, server.port))
            self._socket.send(upstream_query(self._number, query))
        except OSError:
            self._socket.close()
            self.failed = True
            return
        except BaseException:
            self._socket.close()
            raise
        self._loop.add_reader(self._socket, self._read)

    def _read(self) -> None:
        try:
            data = self._socket.recv(TCP_BYTES_MAX)
        except BlockingIOError:
            return
        except OSError:  # there is no server, says an ICMP message
            self.failed = True
            self._done(self)
            return
        with suppress(Malformed):
            response = read_response(data)
            if response.id == self._number and response.question == self._query.question.lower():
                self._take(response)

    def _take(self, response: Response) -> None:
        if response.rcode in (FORMERR, NOTIMP) and self._edns:  # a server that knows no EDNS
            self._edns = False
            with suppress(OSError):
                self._socket.send(upstream_query(self._number, self._query, edns=False))
                return
        self.response = response
        self._done(self)

    def close(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()


async def exchange(servers: Sequence[Server], query: Query, failed: Failed) -> Outcome:
    """Query ``servers`` in order until one answers. Raises ``NoAnswer``.

    A server that fails or refuses (SERVFAIL, REFUSED) is no answer while others are left to be queried.
    """
    deadline = clock.monotonic() + DEADLINE_SECONDS
    attempts: list[_Attempt] = []
    changed = asyncio.Event()
    cancelled = False
    try:
        order = [servers[number % len(servers)] for number in range(ATTEMPTS_MAX)] if servers else []
        while clock.monotonic() < deadline:
            if len(attempts) < len(order):
                attempts.append(_Attempt(order[len(attempts)], query, lambda attempt: changed.set()))
            elif all(each.failed or each.response for each in attempts):
                break
            await _next(changed, attempts, len(order), deadline)
            responded = [each for each in attempts if each.response is not None]
            good = [each for each in responded if not _refuses(each)]
            if good:
                return await _whole(good[0], query, failed)
            every_one = {each.server for each in attempts} == set(servers)
            if responded and every_one and all(each.failed or each.response for each in attempts):
                break
        refused = next((each for each in attempts if each.response is not None), None)
        if refused is not None:
            return await _whole(refused, query, failed)
        raise NoAnswer
    except asyncio.CancelledError:
        cancelled = True
        raise
    finally:
        for attempt in attempts:
            attempt.close()
        silent = {each.server for each in attempts if each.response is None and _is_late(each)}
        for server in () if cancelled else silent:
            failed(server)


def _refuses(attempt: _Attempt) -> bool:
    return attempt.response is not None and attempt.response.rcode in (SERVFAIL, REFUSED)


def _is_late(attempt: _Attempt) -> bool:
    return attempt.failed or clock.monotonic() - attempt.began >= ATTEMPT_SECONDS


async def _next(changed: asyncio.Event, attempts: list[_Attempt], most: int, deadline: float) -> None:
    """Wait until an attempt has changed, or it is time for the next one, unless neither can come."""
    if attempts[-1].failed and (len(attempts) < most or all(each.failed for each in attempts)):
        return
    left = deadline - clock.monotonic()
    await clock.wait_for(changed, min(ATTEMPT_SECONDS, left) if len(attempts) < most else left)
    changed.clear()


async def _whole(attempt: _Attempt, query: Query, failed: Failed) -> Outcome:
    """Return the attempt's answer; one that was cut is fetched again over TCP, and kept cut if that fails."""
    response = attempt.response
    assert response is not None
    if response.encoded.flags & TC:
        with suppress(OSError, EOFError, Malformed):
            async with asyncio.timeout(DEADLINE_SECONDS):
                response = await _over_tcp(attempt.server, query)
    return Outcome(attempt.server, response, clock.monotonic() - attempt.began)


async def _over_tcp(server: Server, query: Query) -> Response:
    """Raises ``OSError``, ``EOFError`` or ``Malformed``."""
    number = ids.unguessable(16)
    message = upstream_query(number, query)
    reader, writer = await asyncio.open_connection(server.ip, server.port)
    try:
        writer.write(len(message).to_bytes(2, "big") + message)
        length = int.from_bytes(await reader.readexactly(2), "big")
        response = read_response(await reader.readexactly(length))
    finally:
        writer.transport.abort()
    if response.id != number or response.question != query.question.lower():
        raise OSError(errno.EPROTO, "the answer is to another question")
    return response

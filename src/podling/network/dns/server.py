"""The sockets of cluster DNS: questions come in over UDP and TCP, responses go out.

Most questions over UDP are answered in one turn of the event loop from bytes (``ReplyCache``), many in a row.
Those for which other servers must be queried become tasks.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Any

from podling import clock
from podling.network.dns.answering import TCP, UDP, Answering
from podling.network.dns.answers import REFUSED, SERVFAIL
from podling.network.dns.forwarder import Forwarder
from podling.network.dns.metrics import Metrics
from podling.network.dns.queries import Query, read_query, refuse
from podling.network.dns.reply_cache import ReplyCache
from podling.network.dns.resolver import Resolver
from podling.network.dns.sources import Sources
from podling.supervisor import Supervisor

logger = logging.getLogger(__name__)

BATCH = 64
"""The most questions that are answered in one turn of the event loop."""
QUERY_BYTES_MAX = 4096
WAITING_MAX = 4000
"""Questions that wait for other servers at the same time; more are refused."""
CONNECTIONS_MAX = 200
CONNECTIONS_OF_ONE_MAX = 20
IDLE_SECONDS = 10.0
"""A connection without a question for so long is closed."""


class DnsServer:
    """Serves the sockets that it is given, until it is closed."""

    def __init__(
        self, resolver: Resolver, forwarder: Forwarder, metrics: Metrics, sources: Sources, tasks: Supervisor
    ) -> None:
        self.replies = ReplyCache()
        self.metrics = metrics
        self._answering = Answering(resolver, self.replies, metrics)
        self._forwarder = forwarder
        self._sources = sources
        self._tasks = tasks
        self._datagrams: list[socket.socket] = []
        self._servers: list[asyncio.Server] = []
        self._connections: Counter[str] = Counter()
        self._writers: set[asyncio.StreamWriter] = set()
        self._waiting = 0

    def close(self) -> None:
        """Leave the sockets. Another process that has them, too, answers what has not been read."""
        loop = asyncio.get_running_loop()
        for each in self._datagrams:
            loop.remove_reader(each)
        for server in self._servers:
            server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    # ---- UDP

    def serve_datagrams(self, bound: socket.socket) -> None:
        bound.setblocking(False)
        self._datagrams.append(bound)
        family = "2" if bound.family == socket.AF_INET6 else "1"
        asyncio.get_running_loop().add_reader(bound, self._read, bound, family)

    def _read(self, bound: socket.socket, family: str) -> None:
        known, cached, metrics = self._sources.known, self.replies.get, self.metrics
        for _ in range(BATCH):
            try:
                data, source = bound.recvfrom(QUERY_BYTES_MAX)
            except OSError:  # mostly: nothing is left to be read
                return
            now = clock.monotonic()
            ip = source[0]
            if not known.get(ip) and not self._sources.allows(ip):
                metrics.dropped["source"] += 1
                continue
            response = cached(data, now)
            if response is None:
                response = self._first(bound, data, source, family)
                if response is None:
                    continue
            _send(bound, response, source, metrics)
            metrics.durations.observe(clock.monotonic() - now)

    def _first(self, bound: socket.socket, data: bytes, source: Any, family: str) -> bytes | None:
        """Return the response to a question whose reply is not kept, unless it comes later or never."""
        query = self._query(data)
        if query is None:
            return None
        try:
            response = self._answering.at_once(query, data, UDP, family)
        except Exception:
            return self._failure(query)
        if response is not None:
            return response
        if self._waiting >= WAITING_MAX:
            self.metrics.rejects += 1
            return refuse(query, REFUSED)
        self._waiting += 1
        self._tasks.run_once("dns/answer", partial(self._later, bound, query, data, source, family))
        return None

    async def _later(self, bound: socket.socket, query: Query, data: bytes, source: Any, family: str) -> None:
        began = clock.monotonic()
        try:
            response = await self._answering.later(query, data, UDP, family)
        except Exception:
            response = self._failure(query)
        finally:
            self._waiting -= 1
        _send(bound, response, source, self.metrics)
        self.metrics.durations.observe(clock.monotonic() - began)

    def _query(self, data: bytes) -> Query | None:
        query = read_query(data)
        if query is None:
            self.metrics.dropped["malformed"] += 1
        elif not query.refusal and self._forwarder.is_loop(query.labels):
            self.metrics.dropped["loop"] += 1
            return None
        return query

    def _failure(self, query: Query) -> bytes:
        """Report a mistake of ours, to be called while it is handled; the client gets SERVFAIL."""
        logger.exception("a question was not answered")
        self.metrics.panics += 1
        return refuse(query, SERVFAIL)

    # ---- TCP

    async def serve_connections(self, listener: socket.socket) -> None:
        family = "2" if listener.family == socket.AF_INET6 else "1"
        self._servers.append(await asyncio.start_server(partial(self._connected, family), sock=listener))

    async def _connected(
        self, family: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        peer = (writer.get_extra_info("peername") or ("",))[0]
        allowed = bool(peer) and self._sources.allows(peer)
        full = len(self._writers) >= CONNECTIONS_MAX or self._connections[peer] >= CONNECTIONS_OF_ONE_MAX
        if not allowed or full:
            self.metrics.dropped["connection" if allowed else "source"] += 1
            writer.transport.abort()
            return
        self._connections[peer] += 1
        self._writers.add(writer)
        try:
            with suppress(OSError, EOFError):  # it is over, or too slow
                while await self._answer_one(family, reader, writer):
                    pass
        finally:
            self._writers.discard(writer)
            self._connections[peer] -= 1
            if not self._connections[peer]:
                del self._connections[peer]
            writer.close()

    async def _answer_one(
        self, family: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one question of a connection; return whether another may follow."""
        async with asyncio.timeout(IDLE_SECONDS):
            length = int.from_bytes(await reader.readexactly(2), "big")
            if length > QUERY_BYTES_MAX:
                return False
            data = await reader.readexactly(length)
        began = clock.monotonic()
        query = self._query(data)
        if query is None:
            return False
        try:
            response = self._answering.at_once(query, data, TCP, family)
            if response is None:
                response = await self._answering.later(query, data, TCP, family)
        except Exception:
            response = self._failure(query)
        writer.write(len(response).to_bytes(2, "big") + response)
        self.metrics.durations.observe(clock.monotonic() - began)
        async with asyncio.timeout(IDLE_SECONDS):
            await writer.drain()
        return True


def _send(bound: socket.socket, response: bytes, source: Any, metrics: Metrics) -> None:
    """Send a response; a client that is gone, or a full buffer, loses it, as datagrams may be lost."""
    try:
        bound.sendto(response, source)
    except OSError:
        metrics.dropped["unsendable"] += 1

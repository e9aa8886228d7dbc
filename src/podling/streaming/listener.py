"""Listening for HTTP connections, in bounded numbers and times.

The number of connections is limited in all, by peer, and by the descriptors that the process has left. Where
there are too many, idle ones are closed for new ones. TLS handshakes begin in turns (``handshakes``). A
handshake or the head of a request that does not end within 32 s ends its connection.

Sources of the times: ``apiserver/pkg/server/secure_serving.go``.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Sequence
from typing import Any

from aiohttp import web
from msgspec import Struct

from podling import clock
from podling.rlimits import open_files
from podling.streaming.accepted import Accepted
from podling.streaming.aiohttp_internals import ServerConnection
from podling.streaming.connection_table import ConnectionTable, Limits, Verdict, verdict
from podling.streaming.handshake_turns import HandshakeTurns
from podling.streaming.shared_socket import SharedSocket

log = logging.getLogger(__name__)

BACKLOG = 1024
ACCEPTED_AT_ONCE = 64
"""Connections accepted before others get a turn. From a shared socket one is accepted at a time, so that the
process that is least busy takes the next."""
PATIENCE_SECONDS = 0.005
"""The wait before a connection from a shared socket is accepted by a process that has more than another
one."""
RETRY_SECONDS = 0.25
"""The wait before connections are accepted again, after there was no descriptor for one."""
TLS_SHUTDOWN_SECONDS = 5.0
SHORTEST_HANDSHAKE_SECONDS = 1.0
"""The time of a handshake whose client was silent until the last moment."""
LINGERING_SECONDS = 1.0
"""Seconds that a client may still send a body after its response, so that it reads the response."""
REPORT_SECONDS = 60.0
"""Closed connections are logged at most so often."""
OUT_OF_RESOURCES = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


class Timeouts(Struct, frozen=True):
    """Time limits of a client, in seconds.

    Attributes:
        head: for a TLS handshake, and for the head of a request.
        idle: between two requests.
        request: for a request's body, and for reading a response that is no stream, the server enforces it;
        for
            reading the rest when the connection ends.
    """

    head: float = 32.0
    idle: float = 90.0
    request: float = 60.0


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises ``OSError`` where the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def listen_all(hosts: Sequence[str], port: int) -> tuple[socket.socket, ...]:
    """Return a listening socket for each address, all of one port: with 0 the one that the first gets.

    Raises ``OSError``.
    """
    found: list[socket.socket] = []
    try:
        for host in hosts:
            found.append(listen(host, found[0].getsockname()[1] if found else port))
    except OSError:
        for each in found:
            each.close()
        raise
    return tuple(found)


class Listener(web.BaseSite):
    """Accepts the connections of a runner's server.

    Args:
        also: further addresses to listen on, with the same port.
        options: of each connection, as ``aiohttp.web.Server`` takes them.
    """

    __slots__ = (
        "_also",
        "_handshakes",
        "_host",
        "_http_runner",
        "_limits",
        "_options",
        "_reported",
        "_shared",
        "_sockets",
        "_sweep",
        "_table",
        "_timeouts",
        "_tls",
        "port",
    )

    def __init__(  # noqa: PLR0913 the options of a server, all by name
        self,
        runner: web.BaseRunner,
        host: str,
        port: int,
        *,
        also: Sequence[str] = (),
        ssl_context: ssl.SSLContext | None = None,
        limits: Limits | None = None,
        timeouts: Timeouts | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(runner, ssl_context=ssl_context, backlog=BACKLOG)
        self._shared: SharedSocket | None = None
        self._http_runner = runner
        self._tls = ssl_context
        self._host = host
        self._also = also
        self.port = port
        """The port that is listened on; 0 takes a free one at the start."""
        self._limits = limits or Limits()
        self._timeouts = timeouts or Timeouts()
        times = {"keepalive_timeout": self._timeouts.idle, "lingering_time": LINGERING_SECONDS}
        self._options = dict(options or {}) | times
        self._table: ConnectionTable[Accepted] = ConnectionTable()
        self._handshakes = HandshakeTurns(self._open_soon)
        self._sockets: tuple[socket.socket, ...] = ()
        self._sweep: asyncio.TimerHandle | None = None
        self._reported: float | None = None

    @property
    def name(self) -> str:
        scheme = "https" if self._tls else "http"
        return f"{scheme}://{self._host}:{self.port}"

    def share(self, shared: SharedSocket) -> None:
        """Accept from a listening socket that other processes accept from, too."""
        self._shared = shared

    async def start(self) -> None:
        """Listen. Raises ``OSError`` where the address is taken."""
        await super().start()
        self._sockets = (
            listen_all((self._host, *self._also), self.port) if self._shared is None else self._shared.sockets
        )
        for each in self._sockets:
            each.setblocking(False)
        self.port = self._sockets[0].getsockname()[1]
        self._accept_again()

    async def stop(self) -> None:
        """Stop accepting, and end what has not become a connection; the runner closes the others."""
        await super().stop()
        if self._sweep is not None:
            self._sweep.cancel()
        for listening in self._sockets:
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()
        self._handshakes.close()
        for accepted in self._table:
            if accepted.transport is None:
                self._drop(accepted)

    def _accept_again(self) -> None:
        for listening in self._sockets:
            if listening.fileno() >= 0:
                asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        if self._shared is not None and self._shared.has_more:
            loop = asyncio.get_running_loop()
            loop.remove_reader(listening)
            loop.call_later(PATIENCE_SECONDS, self._accept_late, listening)
        else:
            self._accept_some(listening)

    def _accept_late(self, listening: socket.socket) -> None:
        """Accept a connection that no process with fewer of them has accepted."""
        if listening.fileno() >= 0:
            self._accept_again()
            self._accept_some(listening)

    def _accept_some(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE if self._shared is None else 1):
            try:
                connection, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in OUT_OF_RESOURCES:
                    raise
                self._report("no descriptor for a new connection: %s", error)
                self._close_idle(None)
                loop = asyncio.get_running_loop()
                loop.remove_reader(listening)
                loop.call_later(RETRY_SECONDS, self._accept_again)
                return
            self._take(connection, address[0])

    def _take(self, connection: socket.socket, peer: str) -> None:
        found = verdict(
            self._limits,
            descriptor=connection.fileno(),
            open_files=open_files(),
            connections=len(self._table),
            of_peer=self._table.count_of(peer),
        )
        if found is not Verdict.KEEP:
            counts = len(self._table), self._table.count_of(peer)
            self._report("too many connections: %d, %d of them from %s", *counts, peer)
            of_peer = peer if found is Verdict.KEEP_FOR_IDLE_OF_PEER else None
            if not self._close_idle(of_peer) or found is Verdict.CLOSE:
                connection.close()
                return
        connection.setblocking(False)
        accepted = Accepted(connection, peer)
        self._table.add(accepted)
        self._note()
        if self._sweep is None:
            self._sweep_later()
        if self._tls is None:
            self._open_soon(accepted)
        else:
            accepted.await_greeting(self._handshakes.add)

    def _forget(self, accepted: Accepted) -> None:
        self._table.discard(accepted)
        self._note()

    def _note(self) -> None:
        if self._shared is not None:
            self._shared.note(len(self._table))

    def _open_soon(self, accepted: Accepted) -> asyncio.Task[None]:
        accepted.opening = task = asyncio.get_running_loop().create_task(self._open(accepted))
        return task

    def _drop(self, accepted: Accepted) -> None:
        """Close a connection at once, also one that waits for its handshake."""
        self._handshakes.discard(accepted)
        self._forget(accepted)
        accepted.abort()

    async def _open(self, accepted: Accepted) -> None:
        """Shake hands and serve; ends when the connection is open, or will never be."""
        server, loop = self._http_runner.server, asyncio.get_running_loop()
        assert server is not None
        times: dict[str, float] = {}
        if self._tls is not None:
            times = {
                "ssl_handshake_timeout": max(
                    self._timeouts.head - accepted.silent_seconds, SHORTEST_HANDSHAKE_SECONDS
                ),
                "ssl_shutdown_timeout": TLS_SHUTDOWN_SECONDS,
            }

        def lost() -> None:
            self._forget(accepted)

        accepted.protocol = protocol = ServerConnection(server, lost, **self._options)
        try:
            accepted.transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, accepted.connection, ssl=self._tls, **times
            )
        except BaseException as error:
            self._forget(accepted)
            accepted.cut()
            if not isinstance(error, OSError | asyncio.CancelledError):
                raise

    def _close_idle(self, peer: str | None) -> bool:
        idle = self._table.take_idle(peer)
        if idle is not None:
            self._drop(idle)
        return idle is not None

    def _report(self, text: str, *values: object) -> None:
        now = clock.machine_monotonic()
        if self._reported is None or now - self._reported >= REPORT_SECONDS:
            self._reported = now
            log.warning(f"%s: {text}", self.name, *values)

    def _sweep_later(self) -> None:
        self._sweep = asyncio.get_running_loop().call_later(self._timeouts.head / 8, self._sweep_now)

    def _sweep_now(self) -> None:
        """Close the connections that have taken too long."""
        now = clock.machine_monotonic()
        for accepted in self._table:
            if accepted.is_late(now, head=self._timeouts.head, request=self._timeouts.request):
                self._drop(accepted)
        self._sweep = None
        if self._table:
            self._sweep_later()

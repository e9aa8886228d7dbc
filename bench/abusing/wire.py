"""HTTPS connections that cost their process as little as possible: requests are bytes, answers are counted.

A load generator on the server's machine must not take the processor from the server that it measures.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from podling.client.kubeconfig import Connection

END_OF_CHUNKS = b"\r\n0\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
HANDSHAKE_SECONDS = 60.0


class Endpoint(NamedTuple):
    """A server, and the credential of one of its clients."""

    host: str
    port: int
    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    source: str = ""
    """The client's own address; empty for any."""

    def with_token(self, token: str, source: str = "") -> Endpoint:
        """Return the same server for the client with this bearer token."""
        return Endpoint(self.host, self.port, token, source=source)


class Request(NamedTuple):
    """One request in bytes. The body is apart, so that many requests share it."""

    head: bytes
    body: bytes = b""


class Reply(NamedTuple):
    """A status code, the size of the body, and its bytes if they were wanted."""

    code: int
    size: int
    body: bytes = b""


def endpoint_of(connection: Connection) -> Endpoint:
    """Return the server and the client certificate of a kubeconfig's context."""
    url = urlsplit(connection.server)
    assert url.hostname
    assert url.port
    return Endpoint(
        url.hostname, url.port, certificate=connection.client_certificate, key=connection.client_key
    )


def make_request(
    endpoint: Endpoint,
    method: str,
    path: str,
    body: bytes = b"",
    kind: str = "application/json",
    more: str = "",
) -> Request:
    """Return a request with the endpoint's token. ``more`` is more header lines with their ends."""
    token = f"Authorization: Bearer {endpoint.token}\r\n" if endpoint.token else ""
    content = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n" if body else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: {endpoint.host}\r\n{token}{content}{more}\r\n"
    return Request(head.encode(), body)


def tls_of(endpoint: Endpoint) -> ssl.SSLContext:
    """Return a context that trusts the server: it is one that the benchmark started."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if endpoint.certificate:
        with tempfile.TemporaryDirectory(prefix="podling-bench-") as folder:
            certificate, key = Path(folder) / "certificate", Path(folder) / "key"
            certificate.write_bytes(endpoint.certificate)
            key.write_bytes(endpoint.key)
            context.load_cert_chain(certificate, key)
    return context


class Wire(asyncio.Protocol):
    """One connection, with one request at a time.

    Args:
        received: called with the bytes of each piece of a body as they come, with the framing of chunks.
    """

    def __init__(self, received: Callable[[bytes], None] | None = None) -> None:
        self._received = received
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[Reply] | None = None
        self._head: bytes | None = b""
        """The head as far as it has come; None after it."""
        self._left: int | None = None
        """Bytes of the body that are missing; None for a body in chunks."""
        self._code = 0
        self._size = 0
        self._tail = b""
        self._kept: list[bytes] | None = None
        self.is_open = False

    @classmethod
    async def open(
        cls, endpoint: Endpoint, context: ssl.SSLContext, received: Callable[[bytes], None] | None = None
    ) -> Wire:
        """Return a connection after its TLS handshake. Raises ``OSError``."""
        _, wire = await asyncio.get_running_loop().create_connection(
            lambda: cls(received),
            endpoint.host,
            endpoint.port,
            ssl=context,
            server_hostname="",
            ssl_handshake_timeout=HANDSHAKE_SECONDS,
            local_addr=(endpoint.source, 0) if endpoint.source else None,
        )
        return wire

    async def ask(self, request: Request, *, keep: bool = False) -> Reply:
        """Send a request and return the answer when it is whole. Raises ``ConnectionError``."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the connection is closed")
        self._reply = asyncio.get_running_loop().create_future()
        self._head, self._size, self._tail, self._kept = b"", 0, b"", [] if keep else None
        self._transport.write(request.head)
        if request.body:
            self._transport.write(request.body)
        return await self._reply

    async def begin(self, request: Request) -> None:
        """Send a request whose answer has no end; ``received`` gets its bytes."""

        def ended(task: asyncio.Task[Reply]) -> None:
            if not task.cancelled():
                task.exception()  # the end of the connection is expected

        asyncio.create_task(self.ask(request)).add_done_callback(ended)
        await asyncio.sleep(0)

    @property
    def code(self) -> int:
        """The status code of the last answer; 0 before its head came."""
        return self._code

    def stop_reading(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport of TLS is no asyncio.Transport by its class.
        self._transport, self.is_open = cast("asyncio.Transport", transport), True

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(ConnectionResetError(str(exc or "closed by the server")))

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            head, end, data = (self._head + data).partition(b"\r\n\r\n")
            if not end:
                self._head = head
                return
            self._head, self._code = None, int(head[9:12])
            if self._code == 100:
                self._head = b""
                return
            found = LENGTH.search(head)
            bodiless = self._code in (204, 304)
            self._left = int(found[1]) if found else 0 if bodiless else None
            if not found and not CHUNKED.search(head) and not bodiless:
                self._left = 1 << 62  # a body that ends with its connection
        self._size += len(data)
        if self._kept is not None:
            self._kept.append(data)
        if self._received is not None and data:
            self._received(data)
        if self._left is None:
            self._tail = (self._tail + data[-len(END_OF_CHUNKS) :])[-len(END_OF_CHUNKS) :]
            if self._tail.endswith((END_OF_CHUNKS,)) or self._size == len(END_OF_CHUNKS) - 2:
                self._finish()
        else:
            self._left -= len(data)
            if self._left <= 0:
                self._finish()

    def _finish(self) -> None:
        body = b"".join(self._kept or ())
        if self._kept is not None and self._left is None:
            body = unchunked(body)
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(Reply(self._code, self._size, body))


def unchunked(data: bytes) -> bytes:
    """Return a body without the framing of its chunks."""
    pieces: list[bytes] = []
    place = 0
    while True:
        end = data.index(b"\r\n", place)
        size = int(data[place:end].split(b";")[0], 16)
        if not size:
            return b"".join(pieces)
        pieces.append(data[end + 2 : end + 2 + size])
        place = end + 2 + size + 2

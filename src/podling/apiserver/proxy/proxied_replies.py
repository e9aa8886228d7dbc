"""Answers of servers behind the API server, passed to the client as they come.

Where the client sees the server under a path of the proxy's, redirects and the links of HTML documents are
led through the proxy. The document is rewritten piece by piece, so that its length does not matter.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Protocol

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from podling import clock, turns
from podling.apiserver.proxy.html_rewriting import HtmlRewriter
from podling.apiserver.proxy.link_rewriting import CORS, Links, is_html
from podling.apiserver.proxy.upgrade_proxy import forwarded
from podling.machinery import errors

EXPANDED_BYTES = 64 * 1024
"""Number of bytes of a compressed document that are expanded at once."""
COST = 16
"""A relayed byte counts as so many of an answer's: each chunk takes a task, and TLS both ways."""
SLICE = 1024
"""Number of bytes rewritten before the event loop serves other requests: they may be all links."""
GZIP, ZLIB, RAW = 31, 15, -15
"""Window sizes of zlib that mean a format."""


class Coding(Protocol):
    """The encoding of a document."""

    def decode(self, data: bytes) -> Iterator[bytes]: ...

    def encode(self, data: bytes) -> bytes: ...

    def end(self) -> bytes:
        """Return the bytes that follow the last piece."""
        ...


class Plain:
    """A document that is not encoded."""

    def decode(self, data: bytes) -> Iterator[bytes]:
        yield data

    def encode(self, data: bytes) -> bytes:
        return data

    def end(self) -> bytes:
        return b""


class Deflated:
    """gzip and deflate, which servers send with zlib's header or (as Go's) without."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._reader = zlib.decompressobj(window)
        self._writer = zlib.compressobj(wbits=window)

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Raises ``zlib.error``."""
        while data:
            yield self._reader.decompress(data, EXPANDED_BYTES)
            data = self._reader.unconsumed_tail
            if self._reader.eof and self._reader.unused_data:
                data = self._reader.unused_data
                self._reader = zlib.decompressobj(self._window)

    def encode(self, data: bytes) -> bytes:
        return self._writer.compress(data) + self._writer.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._writer.flush()


def coding_of(encoding: str, first: bytes) -> Coding | None:
    """Return the coding of a document that begins with ``first``; None for one that is not known."""
    if encoding == "gzip":
        return Deflated(GZIP)
    if encoding == "deflate":
        return Deflated(ZLIB if first[:1] == b"\x78" else RAW)
    return None if encoding else Plain()


def rewritten_headers(headers: Mapping[str, str], links: Links) -> CIMultiDict[str]:
    """The headers of an answer as clients of the proxy see them. Raises 500 for a malformed redirect."""
    made = CIMultiDict(
        (name, value) for name, value in forwarded(headers).items() if name.lower() not in CORS
    )
    if where := made.get("Location", ""):
        try:
            made["Location"] = links.location(where)
        except ValueError as error:
            raise errors.internal(f"error trying to parse Location header: {error}") from None
    return made


async def rewritten(chunks: AsyncIterator[bytes], encoding: str, links: Links) -> AsyncIterator[bytes]:
    """Rewrite the links of an HTML document; one in an unknown encoding stays as it is."""
    coding: Coding | None = None
    document = HtmlRewriter(links.rewrite_text)
    known = True
    async for chunk in chunks:
        if coding is None and known:
            coding = coding_of(encoding, chunk)
            known = coding is not None
        if coding is None:
            yield chunk
            continue
        for piece in coding.decode(chunk):
            for at in range(0, len(piece), SLICE):
                if made := document.feed(piece[at : at + SLICE]):
                    yield coding.encode(made)
                await clock.sleep(0)
    if coding is not None:
        rest = document.feed(b"", last=True)
        yield (coding.encode(rest) if rest else b"") + coding.end()


async def relay(
    request: web.BaseRequest,
    status: int,
    headers: Mapping[str, str],
    chunks: AsyncIterator[bytes],
    close: Callable[[], Awaitable[None]],
    links: Links | None = None,
) -> web.StreamResponse:
    """Pass an answer on as it comes; with ``links``, rewritten. ``close`` lets go of the server behind."""
    try:
        shown = forwarded(headers) if links is None else rewritten_headers(headers, links)
        if links is not None and "Location" not in shown and is_html(headers):
            chunks = rewritten(chunks, headers.get("Content-Encoding", ""), links)
        response = web.StreamResponse(status=status, headers=shown)
        try:
            await response.prepare(request)
            async for chunk in chunks:
                await turns.take(len(chunk) * COST)
                await response.write(chunk)
            await response.write_eof()
        except (ConnectionError, aiohttp.ClientError, zlib.error):
            response.force_close()
            if request.transport is not None:
                request.transport.close()  # without an end: the client must not take a part for the whole
    finally:
        await close()
    return response

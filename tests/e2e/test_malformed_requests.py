"""Requests that are malformed or ambiguous: refused, and never read as two requests."""

from __future__ import annotations

import asyncio
import gzip
import logging
import re

import pytest

from podling.streaming.listener import Timeouts
from tests.support.served_here import TOKEN, serving

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_factories=["real"])]

MAPS = "/api/v1/namespaces/default/configmaps"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
"""Bytes that a proxy in front might read as a body, and this server as a request."""
BODY = b'{"metadata":{"name":"smuggled"}}'
SECONDS = 20.0
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")


def post(*lines: bytes, body: bytes = BODY) -> bytes:
    head = [f"POST {MAPS} HTTP/1.1".encode(), b"Host: a", f"Authorization: Bearer {TOKEN}".encode(), *lines]
    return b"\r\n".join([*head, b"", b""]) + body


def get(*lines: bytes) -> bytes:
    return b"\r\n".join([b"GET /version HTTP/1.1", *lines, b"", b""])


def chunked(*pieces: bytes) -> bytes:
    return post(b"Transfer-Encoding: chunked", body=b"".join(pieces))


LENGTH = b"Content-Length: %d" % len(BODY)
MALFORMED: dict[str, bytes] = {
    "length and chunks": post(LENGTH, b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + HIDDEN),
    "chunks and length": post(
        b"Transfer-Encoding: chunked", b"Content-Length: 4", body=b"0\r\n\r\n" + HIDDEN
    ),
    "two lengths": post(b"Content-Length: 0", LENGTH, body=HIDDEN),
    "list of lengths": post(b"Content-Length: 0, 32", body=HIDDEN),
    "negative length": post(b"Content-Length: -1", body=HIDDEN),
    "length with a sign": post(b"Content-Length: +32"),
    "length in hexadecimal": post(b"Content-Length: 0x20"),
    "length of other digits": post("Content-Length: ³²".encode()),
    "length of many digits": post(b"Content-Length: " + b"9" * 5000),
    "length beyond 64 bits": post(b"Content-Length: 18446744073709551648"),
    "length with a space before the colon": post(b"Content-Length : 32"),
    "unknown coding": post(b"Transfer-Encoding: x", body=b"0\r\n\r\n" + HIDDEN),
    "chunked twice": post(b"Transfer-Encoding: chunked, chunked", body=b"0\r\n\r\n" + HIDDEN),
    "chunked not last": post(b"Transfer-Encoding: chunked, x", body=b"0\r\n\r\n" + HIDDEN),
    "chunked after a tab": post(b"Transfer-Encoding:\x0bchunked", body=b"0\r\n\r\n" + HIDDEN),
    "coding on a folded line": post(b"Transfer-Encoding:", b" chunked", LENGTH, body=HIDDEN),
    "folded header": get(b"Host: a", b"X: a", b" b"),
    "chunk of a huge size": chunked(b"ffffffffffffffff\r\n", BODY),
    "chunk beyond 64 bits": chunked(b"1" + b"0" * 40 + b"\r\n", BODY),
    "negative chunk": chunked(b"-1\r\n", BODY),
    "chunk of no digits": chunked(b"xyz\r\n", BODY),
    "chunk with a sign": chunked(b"+20\r\n", BODY, b"\r\n0\r\n\r\n"),
    "chunk without its end": chunked(b"20\r\n", BODY + b"xx0\r\n\r\n"),
    "bare line feeds": get(b"Host: a").replace(b"\r\n", b"\n"),
    "null in a header": get(b"Host: a", b"X: a\x00b"),
    "carriage return in a header": get(b"Host: a", b"X: a\rContent-Length: 1"),
    "space in a name": get(b"Host: a", b"X Y: a"),
    "no colon": get(b"Host: a", b"nonsense"),
    "empty name": get(b"Host: a", b": a"),
    "header of 70 kB": get(b"Host: a", b"X: " + b"a" * 70_000),
    "name of 70 kB": get(b"Host: a", b"a" * 70_000 + b": x"),
    "20,000 headers": get(b"Host: a", *(b"X%d: a" % number for number in range(20_000))),
    "path of 70 kB": b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    "no version": b"GET /version\r\n\r\n",
    "version 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "unknown version": b"GET /version HTTP/9.9\r\nHost: a\r\n\r\n",
    "method of odd bytes": b"G\x80T /version HTTP/1.1\r\nHost: a\r\n\r\n",
    "space before the method": b" GET /version HTTP/1.1\r\nHost: a\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500,
    "binary": bytes(range(128, 256)) * 8 + b"\r\n\r\n",
    "bomb of gzip": post(
        b"Content-Encoding: gzip",
        b"Content-Length: %d" % len(gzip.compress(bytes(200_000_000))),
        body=gzip.compress(bytes(200_000_000)),
    ),
}
"""Malformed requests; each is one request at most, in any reading."""
TIMEOUTS = Timeouts(head=0.5, idle=0.5, request=0.5)
"""A request that the server still waits for is answered, and its connection closed, after this time."""


async def exchange(port: int, sent: bytes) -> bytes:
    """Return all bytes that the server sends until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED)
async def test_malformed_requests_are_refused_once(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(TOKEN, timeouts=TIMEOUTS) as (api, port):
        async with asyncio.timeout(SECONDS):
            answer = await exchange(port, sent)
            after = await exchange(port, get(b"Host: a", b"Connection: close"))
        entries = (await api.store.list("/registry/configmaps/default/")).entries
    codes = [int(code) for code in STATUS.findall(answer)]
    assert len(codes) <= 1, "one request has one answer"
    assert all(400 <= code < 500 or code == 504 for code in codes)
    assert [entry.key for entry in entries if "smuggled" in entry.key] == []
    assert STATUS.findall(after) == [b"200"], "another client is served"
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []

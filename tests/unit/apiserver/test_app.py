"""The HTTP edge: what requests without rights leave behind in memory and in the log."""

from __future__ import annotations

import asyncio
import gc
import logging
import tracemalloc
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.support.served_here import TOKEN, serving

NAME_LENGTH = 50_000
REQUESTS = 60
URLS_KEPT = 130
"""With so many requests the caches of the URL library, which are bounded by count, are full."""
KEPT_BYTES_MAX = 1_000_000
"""A cache that kept what is sent would hold three million bytes."""


async def exchange(port: int, *lines: str | bytes, body: bytes = b"") -> bytes:
    """Send one request, byte for byte, over a connection of its own; return the whole answer."""
    head = [line if isinstance(line, bytes) else line.encode() for line in lines]
    more = [b"Host: a", b"Connection: close", b"Content-Length: %d" % len(body), b"", b""]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"\r\n".join([*head, *more]) + body)
    try:
        return await reader.read()
    finally:
        writer.close()


def code_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


LONG_REQUESTS: list[Callable[[str], tuple[str, ...]]] = [
    lambda text: (f"GET /api/v1/namespaces/default/configmaps/{text} HTTP/1.1",),
    lambda text: (f"GET /api/v1/namespaces/{text}/configmaps HTTP/1.1",),
    lambda text: (f"GET /apis/x.example.com/v1/{text} HTTP/1.1",),
    lambda text: (f"GET /{text} HTTP/1.1",),
    lambda text: (f"GET /api/v1/pods?fieldSelector={quote('spec.nodeName=' + text)} HTTP/1.1",),
    lambda text: (f"GET /api/v1/pods?labelSelector={quote('a=' + text)} HTTP/1.1",),
    lambda text: (f"GET /api/v1/pods?resourceVersion={text} HTTP/1.1",),
    lambda text: ("GET /api/v1/pods HTTP/1.1", f"Accept: {text}"),
    lambda text: ("POST /api/v1/namespaces/default/configmaps HTTP/1.1", f"User-Agent: {text}"),
    lambda text: ("GET /api/v1/pods HTTP/1.1", f"Authorization: Bearer {text}"),
]


@pytest.mark.slow
@pytest.mark.parametrize("request_of", LONG_REQUESTS)
@pytest.mark.parametrize("known", [False, True])
async def test_long_requests_leave_nothing_in_memory(
    request_of: Callable[[str], tuple[str, ...]], known: bool
) -> None:
    async with serving(TOKEN) as (_, port):

        async def send(numbers: range) -> int:
            for number in numbers:
                lines = request_of(f"{number:05}" + "x" * NAME_LENGTH)
                own = [f"Authorization: Bearer {TOKEN}"] if known and len(lines) == 1 else []
                await exchange(port, *lines, *own)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            before = await send(range(URLS_KEPT))
            after = await send(range(URLS_KEPT, URLS_KEPT + REQUESTS))
        finally:
            tracemalloc.stop()
    assert after - before < KEPT_BYTES_MAX


@pytest.mark.parametrize("header", [b"Bearer \xff", b"Bearer a\xc3\xbf", b"Bearer \xff.\xff.\xff", b"\xff x"])
async def test_credentials_that_are_no_text_are_refused(
    header: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(TOKEN) as (_, port):
        answer = await exchange(port, "GET /api/v1/pods HTTP/1.1", b"Authorization: " + header)
    assert code_of(answer) == 401
    assert not caplog.records


async def test_impersonated_names_that_are_no_text_are_refused_as_such() -> None:
    lines = ("GET /api/v1/pods HTTP/1.1", f"Authorization: Bearer {TOKEN}", b"Impersonate-User: \xff")
    async with serving(TOKEN) as (_, port):
        answer = await exchange(port, *lines)
    assert code_of(answer) == 403
    assert 'User "\N{REPLACEMENT CHARACTER}" cannot list'.encode() in answer.replace(b'\\"', b'"')


@pytest.mark.parametrize("line", [b"GET /\xff\xfe HTTP/1.1", b"GET / HTTP/9", b"G\x00T / HTTP/1.1"])
async def test_malformed_requests_are_not_logged(line: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with serving(TOKEN) as (_, port):
        answer = await exchange(port, line)
    assert code_of(answer) == 400
    assert not [record for record in caplog.records if "request" in record.getMessage()]

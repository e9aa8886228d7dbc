"""Reading one HTTP request of a prober and writing its answer: all that small status servers need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus

HEAD_BYTES = 8192
"""The most that the head of a request may have: the limit of the stream that is read."""
_SECONDS = 10.0
"""The longest time for one request and its answer."""

Answer = Callable[[str, str], bytes]
"""Returns the response to a method and a path."""


async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer) -> None:
    """Answer one request and close the connection. A client that goes away or sends no request is ignored."""
    try:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                method, _, rest = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
                writer.write(answer(method, rest.partition(" ")[0].partition("?")[0]))
                await writer.drain()
    finally:
        writer.close()


def response(status: HTTPStatus, body: bytes, content_type: str, headers: Mapping[str, str]) -> bytes:
    """Return the bytes of a response after which the connection ends."""
    lines = {"Content-Type": content_type, "X-Content-Type-Options": "nosniff", **headers}
    shown = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\n{shown}Content-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body

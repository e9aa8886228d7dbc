"""The request for a manifest of static pods at a URL, with bounded time and size."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

MAX_BYTES = 10 * 1024 * 1024
"""The size of the largest manifest (``maxConfigLength``)."""
SECONDS = 10.0
"""The time for one response."""


class Response(Struct, frozen=True):
    """The response to one request: its code, the words for it, and its body."""

    code: int
    reason: str
    body: bytes


class FetchFailed(Exception):
    """There was no response."""


Fetch = Callable[[str, Mapping[str, tuple[str, ...]]], Awaitable[Response]]
"""Sends a request with headers. Raises ``FetchFailed``."""


async def fetch(url: str, headers: Mapping[str, tuple[str, ...]]) -> Response:
    """Send a request over the network. A body that is too large is cut where it is."""
    import aiohttp

    pairs = [(name, value) for name, values in headers.items() for value in values]
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, headers=pairs) as response,
        ):
            body = b""
            async for chunk in response.content.iter_chunked(1 << 16):
                body += chunk
                if len(body) > MAX_BYTES:
                    break
            return Response(response.status, response.reason or "", body)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise FetchFailed(str(error) or type(error).__name__) from error

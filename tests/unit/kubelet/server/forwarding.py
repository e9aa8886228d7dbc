"""Forwarding of ports for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from podling.runtime.base import RuntimeFailure

Send = Callable[[bytes], Awaitable[None]]


async def echo(port: int, inbound: AsyncIterator[bytes], send: Send) -> None:
    """A pod that listens on port 80 and says everything back."""
    if port != 80:
        raise RuntimeFailure("connection refused")
    async for chunk in inbound:
        await send(b"echo " + chunk)

"""Forwarding of ports for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from podling.runtime.base import RuntimeFailure

Send = Callable[[bytes], Awaitable[None]]


async def echo(port: int, inbound: AsyncIterator[bytes], send: Send) -> None:
    """Serve port 80 of a pod, and send everything back."""
    if port != 80:
        raise RuntimeFailure("connection refused")
    async for chunk in inbound:
        await send(b"echo " + chunk)

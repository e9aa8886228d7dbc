"""Proxy for upgraded connections (WebSockets and SPDY), which are passed on unchanged.

The API server requests the same upgrade from the backend as the client did, forwards the backend's answer
to the client, and from then on copies bytes. A refusal is forwarded too: clients choose by it how to retry.

Upstream: ``k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go``.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from contextlib import suppress

from aiohttp import web
from multidict import CIMultiDict

from podling.cancellation import cancel_and_settle, run_to_end
from podling.streaming.upgrades import (
    ClientConnection,
    RawConnection,
    UpgradeRefused,
    accept_upgrade,
    open_upgrade,
)

HOP_BY_HOP = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "host",
    )
)
LAST_WORDS_SECONDS = 1.0
"""Time for the backend to read the bytes that a client sent before it disconnected."""
OURS = frozenset(
    ("authorization", "content-length", "impersonate-user", "impersonate-group", "impersonate-uid")
)
"""Headers that are meant for this server only, or that are set anew."""

OUR_EXTRA = "impersonate-extra-"


def forwarded(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Return the headers that go along, as often as they come."""
    named = {name.strip().lower() for name in headers.get("Connection", "").split(",")}
    stay = HOP_BY_HOP | OURS | named
    return CIMultiDict(
        (name, value)
        for name, value in headers.items()
        if name.lower() not in stay and not name.lower().startswith(OUR_EXTRA)
    )


def length_of(request: web.BaseRequest) -> dict[str, str]:
    """Return the header with the length of a body that is passed on as it comes, if its client states it.

    Not every server reads a body without (``Transfer-Encoding: chunked``).
    """
    if request.content_length is None or not request.can_read_body:
        return {}
    return {"Content-Length": str(request.content_length)}


def wants_upgrade(request: web.BaseRequest) -> bool:
    """Return whether the client requests a switch to another protocol."""
    return "upgrade" in request.headers.get("Connection", "").lower() and "Upgrade" in request.headers


async def pass_upgrade(
    request: web.BaseRequest,
    url: str,
    context: ssl.SSLContext | None,
    headers: Iterable[tuple[str, str]],
    *,
    server_name: str | None = None,
) -> web.StreamResponse:
    """Join the client's connection to the one at ``url`` until either ends. Raises ``OSError``.

    Args:
        headers: further headers for the backend.
        server_name: the name in the backend's certificate, if it is not the host in ``url``.
    """
    protocol = request.headers["Upgrade"]
    try:
        answer, behind = await open_upgrade(
            url, context, protocol, list(headers), method=request.method, server_name=server_name
        )
    except UpgradeRefused as refused:
        return web.Response(status=refused.status, body=refused.body, headers=forwarded(refused.headers))
    try:
        response, client = await accept_upgrade(request, answer.get("upgrade", protocol), forwarded(answer))
        await _join(client, behind)
    finally:
        await behind.close()
    return response


async def _join(client: ClientConnection, behind: RawConnection) -> None:
    """Carry bytes both ways until either side ends."""
    work = (_pump(client, behind), _pump(behind, client), client.left())
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[-1].done():
            await asyncio.wait(tasks[:1], timeout=LAST_WORDS_SECONDS)
    finally:
        await run_to_end(_end(tasks, client, behind))


async def _end(tasks: list[asyncio.Task[None]], client: ClientConnection, behind: RawConnection) -> None:
    await cancel_and_settle(*tasks)
    await client.close()
    await behind.close()


async def _pump(source: RawConnection, sink: RawConnection) -> None:
    with suppress(ConnectionError):
        while chunk := await source.receive():
            await sink.send(chunk)

"""Streams of clients older than WebSockets: their SPDY connection is passed on to the kubelet as it is.

The API server asks the kubelet for the same upgrade that the client asked for, tells the client what the
kubelet chose, and from then on carries bytes. What they say is between the two of them.
"""

from __future__ import annotations

import ssl
from contextlib import suppress

import msgspec
from aiohttp import web

from podling import clock
from podling.api.meta_v1 import Status
from podling.client.upgrades import RawConnection, UpgradeRefused, accept_upgrade, open_upgrade
from podling.machinery import errors
from podling.machinery.errors import ApiError

SPDY = "SPDY/3.1"
VERSION_HEADER = "X-Stream-Protocol-Version"
REASONS = {400: "BadRequest", 403: "Forbidden", 404: "NotFound"}


def wants_spdy(request: web.BaseRequest) -> bool:
    return request.headers.get("Upgrade", "").lower() == SPDY.lower()


async def pass_spdy(request: web.BaseRequest, url: str, context: ssl.SSLContext) -> web.StreamResponse:
    """Join the client's connection to the kubelet's at ``url`` until either ends. Raises ``ApiError``."""
    offers = [(VERSION_HEADER, text) for text in request.headers.getall(VERSION_HEADER, ())]
    try:
        answer, kubelet = await open_upgrade(url, context, SPDY, offers)
    except UpgradeRefused as error:
        raise _refusal(error) from None
    except OSError as error:
        raise errors.internal(f"error dialing backend: {error}") from None
    chosen = answer.get(VERSION_HEADER.lower())
    try:
        response, client = await accept_upgrade(request, SPDY, {VERSION_HEADER: chosen} if chosen else {})
        await _join(client, kubelet)
    finally:
        await kubelet.close()
    return response


def _refusal(refused: UpgradeRefused) -> ApiError:
    """The kubelet's answer as an error of ours: its own ``Status``, or its text."""
    try:
        return ApiError(msgspec.json.decode(refused.body, type=Status))
    except msgspec.MsgspecError:
        text = refused.body.decode(errors="replace").strip() or f"the kubelet answered {refused.status}"
        return errors.failure(refused.status, REASONS.get(refused.status, "InternalError"), text)


async def _join(first: RawConnection, second: RawConnection) -> None:
    try:
        await clock.first_of(_pump(first, second), _pump(second, first))
    finally:
        await first.close()
        await second.close()


async def _pump(source: RawConnection, sink: RawConnection) -> None:
    with suppress(ConnectionError):
        while chunk := await source.receive():
            await sink.send(chunk)

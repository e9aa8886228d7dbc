"""Documents that clients keep: answered with a tag, and with 304 to a client that has them already."""

from __future__ import annotations

from aiohttp import web

from podling import clock
from podling.apiserver.http.exchange import CACHE_CONTROL, NOT_KEPT, HttpRequest
from podling.apiserver.http.replies import reply

VARIES = {"Vary": "Accept"}


async def tagged(
    request: HttpRequest, body: bytes, tag: str, media_type: str, *, cache: str = "", expires: str = ""
) -> web.StreamResponse:
    """Return a document that clients keep: 304 when they have it already.

    Where time is wound they look each time: a ``Date`` later than their own clock makes a document of any age
    a fresh one for them.
    """
    if cache and clock.wound_clock() is not None:
        cache, expires = NOT_KEPT, ""
    headers = {"ETag": tag, **VARIES}
    headers |= {CACHE_CONTROL: cache} if cache else {}
    headers |= {"Expires": expires} if expires else {}
    if _has(request.headers.get("If-None-Match", ""), tag):
        return web.Response(status=304, headers=headers)
    return await reply(request, body, media_type=media_type, headers=headers)


def _has(given: str, tag: str) -> bool:
    """Return whether a client that sends ``If-None-Match: given`` has what ``tag`` names."""
    return any(each.strip().removeprefix("W/") in (tag, "*") for each in given.split(","))

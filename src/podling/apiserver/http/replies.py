"""HTTP answers: bytes, media types, statuses, warnings, compression. All that the edge sends is made here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import chain

import msgspec
from aiohttp import hdrs, web
from multidict import CIMultiDict

from podling import turns
from podling.apiserver.http import list_styles
from podling.apiserver.http.compression import GZIP_FROM_BYTES, Gzip
from podling.apiserver.http.exchange import Answer, HttpRequest
from podling.apiserver.http.negotiation import JSON, YAML, media_type_of, warning_headers
from podling.apiserver.http.yaml_replies import yaml_of
from podling.machinery.encoding.status_json import status_json
from podling.machinery.errors import ApiError
from podling.turns import LARGE_BYTES, TURN_BYTES

SLICE_BYTES = turns.SHORT_BYTES
"""A large body is sent in slices of this size."""
NEWLINE = b"\n"
TEXT = "text/plain; charset=utf-8"
NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}
READ_BY_PEOPLE = ("curl", "Wget", "Mozilla/5.0")


def wants_pretty(request: HttpRequest) -> bool:
    """Return whether JSON is indented: by the query, or for a browser (source: ``isPrettyPrint``)."""
    if "pretty" in request.query_string and (said := request.query.get("pretty")):
        return said in ("1", "t", "T", "true", "True", "TRUE")
    return request.headers.get(hdrs.USER_AGENT, "").startswith(READ_BY_PEOPLE)


def _warnings(request: HttpRequest) -> list[str]:
    """Return the values of the ``Warning`` headers of the answer."""
    if not (request.warnings or request.deprecation):
        return []
    return warning_headers([*filter(None, (request.deprecation,)), *request.warnings])


def streamed(request: HttpRequest, media_type: str) -> web.StreamResponse:
    """Return an answer that is sent in pieces and has no ``Content-Length``."""
    response = web.StreamResponse(headers={"Content-Type": media_type})
    for warning in _warnings(request):
        response.headers.add("Warning", warning)
    return response


async def reply(
    request: HttpRequest,
    body: bytes,
    *,
    code: int = 200,
    media_type: str = JSON,
    headers: Mapping[str, str] | None = None,
    end: bytes = b"",
    waited: bool = False,
) -> web.StreamResponse:
    """Answer with a body in ``media_type`` (bodies are made as JSON), compressed if that pays.

    ``end`` follows compact JSON and nothing else. ``waited``: the caller has waited for a turn of the loop.
    """
    if media_type == YAML:
        body, end = await yaml_of(body), b""
    elif media_type == JSON and wants_pretty(request):
        body, end = msgspec.json.format(body, indent=2), b""
    warned = _warnings(request)
    if len(body) > LARGE_BYTES and not waited:
        await turns.take(len(body))
    zipped = len(body) >= GZIP_FROM_BYTES and _accepts_gzip(request)
    if request.is_usual and not (headers or warned or zipped):
        return Answer(request, body, code, media_type, end)
    body += end
    fields = CIMultiDict({"Content-Type": media_type, **(headers or {})})
    fields.extend(("Warning", warning) for warning in warned)
    if zipped:
        body = await Gzip().end(body)
        fields["Content-Encoding"] = "gzip"
        fields["Vary"] = ", ".join((*fields.getall("Vary", ()), "Accept-Encoding"))
    if len(body) > TURN_BYTES and request.method != "HEAD":
        return await _send_slices(request, body, code, fields)
    return web.Response(body=body, status=code, headers=fields)


async def _send_slices(
    request: HttpRequest, body: bytes, code: int, headers: CIMultiDict[str]
) -> web.StreamResponse:
    """Send a body that is whole, but too large to be sent in one turn of the loop."""
    response = web.StreamResponse(status=code, headers=headers)
    response.content_length = len(body)
    try:
        await response.prepare(request)
        view = memoryview(body)
        for start in range(0, len(body), SLICE_BYTES):
            async with asyncio.timeout(request.seconds):
                await response.write(view[start : start + SLICE_BYTES])
            await turns.take(SLICE_BYTES)
        await response.write_eof()
    except (ConnectionError, TimeoutError):
        response.force_close()
        request.cut()
    return response


def reply_object(
    request: HttpRequest, body: bytes, *, code: int = 200, media_type: str = JSON, waited: bool = False
) -> Awaitable[web.StreamResponse]:
    """Answer with an object of the API. Its compact JSON ends with a newline (Go's ``json.Encoder``)."""
    return reply(request, body, code=code, media_type=media_type, end=NEWLINE, waited=waited)


async def reply_text(
    request: HttpRequest, text: str, *, code: int, headers: Mapping[str, str] | None = None
) -> web.StreamResponse:
    """Answer with a line of plain text, as Go's ``http.Error`` does."""
    headers = {**NO_SNIFFING, **(headers or {})}
    return await reply(request, f"{text}\n".encode(), code=code, media_type=TEXT, headers=headers)


async def reply_pieces(
    request: HttpRequest,
    pieces: Iterator[bytes],
    media_type: str,
    *,
    size: int,
    keep: Callable[[bytes], None] | None = None,
) -> web.StreamResponse:
    """Answer with what comes in pieces: sent piece by piece, at its reader's pace, if there are several.

    ``size``: of the objects; there is one piece if it is at most that of a turn. ``keep`` is called with the
    answer in that case.
    """
    if size <= TURN_BYTES:
        if size > LARGE_BYTES:
            await turns.take(size)
        (body,) = pieces
        if keep is not None:
            keep(body)
        return await reply_object(request, body, media_type=media_type, waited=True)
    await turns.take()
    first = next(pieces)
    await turns.take()
    second = next(pieces)
    if request.method == "HEAD":
        return await reply_object(request, await _joined([first, second], pieces), media_type=media_type)
    begun = [first, second]
    del first, second
    return await _send_pieces(request, begun, pieces, media_type)


async def _joined(found: list[bytes], pieces: Iterator[bytes]) -> bytes:
    while True:
        await turns.take()
        piece = next(pieces, None)
        if piece is None:
            return b"".join(found)
        found.append(piece)


async def _send_pieces(
    request: HttpRequest, begun: list[bytes], pieces: Iterator[bytes], media_type: str
) -> web.StreamResponse:
    """Send a list of several pieces, each in a turn of its own; ``begun``: those that are made already.

    While the client reads, nothing is held but the piece that is being sent.
    """
    response, end = streamed(request, media_type), NEWLINE
    is_styled = media_type != JSON or wants_pretty(request)
    gzip = None
    if (is_styled or sum(map(len, begun)) >= GZIP_FROM_BYTES) and _accepts_gzip(request):
        gzip = Gzip()
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"
    pieces = chain(_emptied(begun), pieces)
    if is_styled:
        pieces, end = list_styles.styled(pieces, media_type), b""
    try:
        await response.prepare(request)
        while (piece := next(pieces, None)) is not None:
            sent = piece if gzip is None else await gzip.add(piece)
            del piece
            if sent:
                async with asyncio.timeout(request.seconds):
                    await response.write(sent)
            del sent
            await turns.take()
        await response.write_eof(end if gzip is None else await gzip.end(end))
    except (ConnectionError, TimeoutError):
        response.force_close()
        request.cut()  # gone, or stuck: nothing more can be said on this connection
    return response


def _emptied(pieces: list[bytes]) -> Iterator[bytes]:
    """Yield the members of a list, which holds none of them any more."""
    while pieces:
        yield pieces.pop(0)


def _accepts_gzip(request: HttpRequest) -> bool:
    return "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, "")


async def reply_error(request: HttpRequest, error: ApiError) -> web.StreamResponse:
    """Answer with the ``Status`` of an error; with indented JSON if the client accepts no form of it.

    Source: apiserver ``responsewriters.ErrorNegotiated``.
    """
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after else {}
    body, end = status_json(error.status), NEWLINE
    try:
        media_type = media_type_of(request.headers.get(hdrs.ACCEPT, ""))
    except ApiError:
        media_type, body, end = JSON, msgspec.json.format(body, indent=2), b""
    return await reply(request, body, code=error.code, media_type=media_type, headers=headers, end=end)

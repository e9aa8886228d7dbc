"""HTTP answers: bytes, media types, statuses, warnings, compression. All that the edge sends is made here."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Iterator, Mapping
from itertools import chain, islice

import msgspec
from aiohttp import web

from podling import clock
from podling.apiserver.http import list_styles
from podling.apiserver.http.exchange import Answer, HttpRequest
from podling.apiserver.http.negotiation import JSON, YAML, media_type_of, warning_headers
from podling.apiserver.http.yaml_replies import yaml_of
from podling.machinery.encoding.status_json import status_json
from podling.machinery.errors import ApiError

GZIP_FROM_BYTES = 128 * 1024
GZIP_LEVEL = 1
NEWLINE = b"\n"
TEXT = "text/plain; charset=utf-8"
NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}
GZIP_WINDOW = 31
"""zlib's window size that writes a gzip header."""

READ_BY_PEOPLE = ("curl", "Wget", "Mozilla/5.0")


def wants_pretty(request: HttpRequest) -> bool:
    """Return whether JSON is indented: by the query, or for a browser (source: ``isPrettyPrint``)."""
    if "pretty" in request.query_string and (said := request.query.get("pretty")):
        return said in ("1", "t", "T", "true", "True", "TRUE")
    return request.headers.get("User-Agent", "").startswith(READ_BY_PEOPLE)


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
) -> web.StreamResponse:
    """Answer with a body in ``media_type`` (bodies are made as JSON), compressed if that pays.

    ``end`` follows compact JSON and nothing else.
    """
    if media_type == YAML:
        body, end = yaml_of(body), b""
    elif media_type == JSON and wants_pretty(request):
        body, end = msgspec.json.format(body, indent=2), b""
    warned = _warnings(request)
    zipped = len(body) >= GZIP_FROM_BYTES and "gzip" in request.headers.get("Accept-Encoding", "")
    if request.is_usual and not (headers or warned or zipped):
        return Answer(request, body, code, media_type, end)
    body += end
    response = web.Response(body=body, status=code, headers={"Content-Type": media_type, **(headers or {})})
    for warning in warned:
        response.headers.add("Warning", warning)
    if zipped:
        response.body = await asyncio.to_thread(_gzip, body)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"
    return response


def reply_object(
    request: HttpRequest, body: bytes, *, code: int = 200, media_type: str = JSON
) -> Awaitable[web.StreamResponse]:
    """Answer with an object of the API. Its compact JSON ends with a newline (Go's ``json.Encoder``)."""
    return reply(request, body, code=code, media_type=media_type, end=NEWLINE)


async def reply_text(request: HttpRequest, text: str, *, code: int) -> web.StreamResponse:
    """Answer with a line of plain text, as Go's ``http.Error`` does."""
    return await reply(request, f"{text}\n".encode(), code=code, media_type=TEXT, headers=NO_SNIFFING)


async def reply_pieces(request: HttpRequest, pieces: Iterator[bytes], media_type: str) -> web.StreamResponse:
    """An answer that comes in pieces: sent piece by piece, at its reader's pace, if there are several."""
    begun = list(islice(pieces, 2))
    if len(begun) == 1 or request.method != "GET":
        return await reply_object(request, b"".join([*begun, *pieces]), media_type=media_type)
    end = NEWLINE
    if media_type != JSON or wants_pretty(request):
        begun, pieces, end = [], list_styles.styled(begun, pieces, media_type), b""
    response = streamed(request, media_type)
    compressor = None
    long = not begun or sum(map(len, begun)) >= GZIP_FROM_BYTES
    if long and "gzip" in request.headers.get("Accept-Encoding", ""):
        compressor = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_WINDOW)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"
    try:
        await response.prepare(request)
        for piece in chain(begun, pieces, (end,)):
            sent = piece if compressor is None else await asyncio.to_thread(compressor.compress, piece)
            async with asyncio.timeout(request.seconds):
                await response.write(sent)
            await clock.sleep(0)
        await response.write_eof(compressor.flush() if compressor is not None else b"")
    except (ConnectionError, TimeoutError):
        response.force_close()
        request.cut()  # gone, or stuck: nothing more can be said on this connection
    return response


async def reply_error(request: HttpRequest, error: ApiError) -> web.StreamResponse:
    """Answer with the ``Status`` of an error; with indented JSON if the client accepts no form of it.

    Source: apiserver ``responsewriters.ErrorNegotiated``.
    """
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after else {}
    body, end = status_json(error.status), NEWLINE
    try:
        media_type = media_type_of(request.headers.get("Accept", ""))
    except ApiError:
        media_type, body, end = JSON, msgspec.json.format(body, indent=2), b""
    return await reply(request, body, code=error.code, media_type=media_type, headers=headers, end=end)


def _gzip(body: bytes) -> bytes:
    compressor = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_WINDOW)
    return compressor.compress(body) + compressor.flush()

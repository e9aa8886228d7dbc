"""HTTP answers: bytes, media types, statuses, warnings, compression.

Everything the edge sends goes through here, and what every answer carries is added by its request.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, count, islice
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.http import SERVER_SOFTWARE

from podling import clock, ids
from podling.apiserver.negotiation import JSON, YAML, warning_headers
from podling.apiserver.options import flag
from podling.machinery import codec
from podling.machinery.errors import ApiError

GZIP_FROM_BYTES = 128 * 1024
GZIP_LEVEL = 1
GZIP_WINDOW = 31
"""zlib's window size that writes a gzip header."""
AUDIT_ID = "Audit-Id"
CACHE_CONTROL = "Cache-Control"
FLOW_SCHEMA, PRIORITY_LEVEL = "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"
DEPRECATION = web.RequestKey("deprecation", str)
WARNINGS = web.RequestKey("warnings", list[str])
"""Where a request has what its client is warned of, whatever the answer: for what it asks, and for what was
found on the way."""
STUCK_SECONDS = 60.0
"""How long one write to a reader may take before the reader is cut off."""

READ_BY_PEOPLE = ("curl", "Wget", "Mozilla/5.0")

_numbers = count(1)


@cache
def _process_id() -> str:
    return ids.uid()[:24]


def audit_id(request: web.BaseRequest) -> str:
    """The client's own identifier of the request, or a new one: random per process, then counted."""
    return request.headers.get(AUDIT_ID) or f"{_process_id()}{next(_numbers):012x}"


class Request(web.BaseRequest):
    """A request whose answer says what every answer says, whoever makes it."""

    flow: tuple[str, str] | None = None
    """Where the request belongs: the UIDs of a flow schema and of its priority level."""

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        headers = response.headers
        if headers.get("Server") == SERVER_SOFTWARE:  # ours; one that is passed on stays
            del headers["Server"]
        headers[AUDIT_ID] = audit_id(self)
        if CACHE_CONTROL not in headers:
            headers[CACHE_CONTROL] = "no-cache, private"
        if self.flow is not None:
            headers[FLOW_SCHEMA], headers[PRIORITY_LEVEL] = self.flow


def wants_pretty(request: web.BaseRequest) -> bool:
    """Whether JSON shall be indented: asked for, or read by a person (source: ``isPrettyPrint``)."""
    if "pretty" in request.query_string and request.query.get("pretty"):
        return flag(request.query, "pretty")
    return request.headers.get("User-Agent", "").startswith(READ_BY_PEOPLE)


def warn(request: web.BaseRequest, response: web.StreamResponse, warnings: Sequence[str] = ()) -> None:
    """Warn of what was found, and of what the request asks for."""
    warnings = [*warnings, *request.get(WARNINGS, ())]
    deprecated = request.get(DEPRECATION)
    if deprecated:
        warnings = [deprecated, *warnings]
    for warning in warning_headers(list(warnings)) if warnings else ():
        response.headers.add("Warning", warning)


async def reply(
    request: web.BaseRequest,
    body: bytes,
    *,
    code: int = 200,
    media_type: str = JSON,
    warnings: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> web.Response:
    """An answer with a body, in ``media_type`` (bodies are made as JSON), compressed if that pays."""
    if media_type == YAML:
        body = msgspec.yaml.encode(msgspec.json.decode(body))
    elif media_type == JSON and wants_pretty(request):
        body = msgspec.json.format(body, indent=2)
    sent = {"Content-Type": media_type}
    response = web.Response(body=body, status=code, headers={**sent, **headers} if headers else sent)
    warn(request, response, warnings)
    if len(body) >= GZIP_FROM_BYTES and "gzip" in request.headers.get("Accept-Encoding", ""):
        response.body = await asyncio.to_thread(_gzip, body)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"
    return response


async def reply_pieces(
    request: web.BaseRequest, pieces: Iterator[bytes], media_type: str
) -> web.StreamResponse:
    """An answer that comes in pieces: sent piece by piece, at its reader's pace, if there are several."""
    begun = list(islice(pieces, 2))
    plain = media_type == JSON and request.method == "GET" and not wants_pretty(request)
    if len(begun) == 1 or not plain:
        return await reply(request, b"".join([*begun, *pieces]), media_type=media_type)
    response = web.StreamResponse(headers={"Content-Type": media_type})
    warn(request, response)
    compressor = None
    long = sum(map(len, begun)) >= GZIP_FROM_BYTES
    if long and "gzip" in request.headers.get("Accept-Encoding", ""):
        compressor = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_WINDOW)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"
    response.enable_chunked_encoding()
    try:
        await response.prepare(request)
        for piece in chain(begun, pieces):
            sent = piece if compressor is None else await asyncio.to_thread(compressor.compress, piece)
            async with asyncio.timeout(STUCK_SECONDS):
                await response.write(sent)
            await clock.sleep(0)
        await response.write_eof(compressor.flush() if compressor is not None else b"")
    except (ConnectionError, TimeoutError):
        response.force_close()  # gone, or stuck: nothing more can be said on this connection
    return response


async def reply_object(
    request: web.BaseRequest,
    obj: Any,
    *,
    code: int = 200,
    warnings: Sequence[str] = (),
    media_type: str = JSON,
) -> web.Response:
    return await reply(request, codec.encode(obj), code=code, warnings=warnings, media_type=media_type)


async def reply_error(request: web.BaseRequest, error: ApiError) -> web.Response:
    """An error as the ``Status`` that it carries."""
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return await reply(request, codec.encode(error.status), code=error.code, headers=headers)


def _gzip(body: bytes) -> bytes:
    compressor = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_WINDOW)
    return compressor.compress(body) + compressor.flush()

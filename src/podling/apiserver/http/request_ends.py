"""The ends of requests: the answer to a failure, and the sending of an answer whose body is whole."""

from __future__ import annotations

import asyncio
import logging

from aiohttp import hdrs, web

from podling import clock
from podling.apiserver.flowcontrol.dispatcher import TooManyRequests
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.replies import reply_error, reply_text
from podling.machinery import errors
from podling.machinery.encoding.jsonscan import TOO_DEEP
from podling.machinery.errors import ApiError

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 3 * 1024 * 1024
CLIENT_GONE = 499
"""Status code in the metrics for a client that disconnected before the answer."""


async def send_continue(request: HttpRequest) -> None:
    """Send the interim response 100 to a client that waits for it before it sends the body."""
    if request.headers[hdrs.EXPECT].lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0


async def answer_failure(request: HttpRequest, error: Exception) -> web.StreamResponse:
    """Return the answer to a request that failed with ``error``."""
    if isinstance(error, ApiError):
        return await reply_error(request, error)
    if isinstance(error, TooManyRequests):
        request.is_terminated = True
        if error.delay:
            await clock.machine_sleep(error.delay)
        return await reply_text(
            request, str(error), code=429, headers={"Retry-After": str(error.retry_after)}
        )
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return await reply_error(request, errors.too_large(f"limit is {MAX_BODY_BYTES}"))
    if isinstance(error, RecursionError):  # plain data of a request is all here that can be nested deeply
        return await reply_error(request, errors.bad_request(TOO_DEEP))
    if request.transport is None or request.transport.is_closing():
        response = web.Response(status=CLIENT_GONE)
        response.force_close()
        return response
    log.error("%s %s failed", request.method, request.path, exc_info=error)
    return await reply_error(request, errors.internal(f"{type(error).__name__}: {error}"))


async def send(request: HttpRequest, response: web.Response) -> None:
    """Send an answer whose body is whole; a client that does not read it in time is cut off."""
    try:
        async with asyncio.timeout(request.seconds):
            await response.prepare(request)
            await response.write_eof()
    except (ConnectionError, TimeoutError):
        request.cut()
        response.force_close()

"""Watch requests as HTTP carries them: one JSON document a line, or one a message of a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web
from msgspec.structs import replace

from podling import clock, ids, turns
from podling.apiserver.http import options as request_options
from podling.apiserver.http import replies
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.metrics import RequestMetrics
from podling.apiserver.http.negotiation import JSON
from podling.apiserver.http.replies import reply
from podling.apiserver.http.representations import Renderer
from podling.apiserver.http.websocket_replies import accept_watch, send_messages, serve_socket
from podling.apiserver.registry.decoding import FEW, LOOK_BYTES
from podling.apiserver.registry.registry import Registry
from podling.apiserver.registry.watch import ObjectWatch
from podling.client.requests import ListOptions, Target, User
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.encoding.status_json import status_json
from podling.streaming.websocket_connection import is_websocket_request

WATCH_SECONDS_MIN = 1800
WATCH_SECONDS_MAX = 3600
SENT_BYTES = 64 * 1024
"""Bytes sent to one watcher in one piece. They are held for as long as the watcher does not read them."""

ALWAYS_BYTES = 16 * 1024
"""Pieces below this size are sent without waiting for a turn, so that small events are sent at once."""

NEVER_WAITS_BYTES = 16 * 1024
"""Writes below this amount of buffered bytes do not wait for the client. No transport pauses that early, and
a timer for each of very many watchers costs more than sending the events."""

Send = Callable[[list[bytes]], Awaitable[None]]
"""Sends events that are ready together."""


class WatchRequests:
    """Serves the watch verb of every resource."""

    def __init__(self, registry: Registry, metrics: RequestMetrics) -> None:
        self._registry = registry
        self._metrics = metrics
        self._watches: dict[ObjectWatch, None] = {}
        self._closed = False

    def close(self) -> None:
        """End every watch, also one that is still to be opened: their clients go on elsewhere."""
        self._closed = True
        for watch in tuple(self._watches):
            watch.close()

    async def serve(
        self, request: HttpRequest, target: Target, user: User, renderer: Renderer
    ) -> web.StreamResponse:
        """Answer with events until the watch ends or its client leaves."""
        options = _watch_options(request.query, target.name)
        over_websocket = is_websocket_request(request)
        try:
            watch = await self._registry.open_watch(target, user, options)
        except errors.ApiError as error:
            if not errors.is_expired(error):
                raise
            # Clients look for the error of a start that is too old among the events.
            event = b'{"type":"ERROR","object":' + status_json(error.status) + b"}\n"
            return await (_send_event(request, event) if over_websocket else reply(request, event))
        watch.on_begun = request.release_seats
        self._watches[watch] = None
        if self._closed:
            watch.close()
        try:
            if over_websocket:
                return await self._serve_websocket(request, watch, renderer)
            return await self._serve_http(request, watch, renderer)
        finally:
            watch.close()
            self._watches.pop(watch, None)

    async def _serve_http(
        self, request: HttpRequest, watch: ObjectWatch, renderer: Renderer
    ) -> web.StreamResponse:
        response = replies.streamed(request, JSON)

        async def send(lines: list[bytes]) -> None:
            await _send(request, response, lines)

        try:
            await response.prepare(request)
            await self._send_events(watch, renderer, send)
            await response.write_eof()
        except (ConnectionError, TimeoutError):
            response.force_close()
            request.cut()  # gone, or stuck: nothing more can be said on this connection
        return response

    async def _serve_websocket(
        self, request: HttpRequest, watch: ObjectWatch, renderer: Renderer
    ) -> web.StreamResponse:
        response, socket = await accept_watch(request)

        async def send(lines: list[bytes]) -> None:
            await send_messages(socket, lines, text=True, seconds=request.seconds)

        await serve_socket(request, socket, self._send_events(watch, renderer, send))
        return response

    async def _send_events(self, watch: ObjectWatch, renderer: Renderer, send: Send) -> None:
        """Every event until the watch ends; what is ready together is sent together."""
        resource, first = renderer.resource, True
        as_stored = resource.storage is None and not isinstance(resource, CustomResource)
        async for change in watch:
            ready = (change, *watch.ready())
            self._metrics.sent(resource.group, resource.version, resource.plural, len(ready))
            if not as_stored:
                await self._registry.reads.prepare(resource, [each.entry for each in ready])
            if len(ready) > FEW:
                await turns.take(len(ready) * LOOK_BYTES)
            now, size = clock.now(), 0
            lines: list[bytes] = []
            for each in ready:
                entry = each.entry if as_stored else self._registry.reads.shown_entry(resource, each.entry)
                lines.append(renderer.event(each.type, entry, now, first=first))
                first, size = False, size + len(lines[-1])
                if size >= SENT_BYTES:
                    await _send_in_turn(send, lines, size)
                    lines, size = [], 0
            if lines:
                await _send_in_turn(send, lines, size)


async def _send_in_turn(send: Send, lines: list[bytes], size: int) -> None:
    """Send events that make ``size`` bytes."""
    if size > ALWAYS_BYTES:
        await turns.take(size)
    clock.note_activity()
    await send(lines)


async def _send(request: HttpRequest, response: web.StreamResponse, lines: list[bytes]) -> None:
    data, transport = b"".join(lines), request.transport
    lines.clear()
    if transport is not None and transport.get_write_buffer_size() + len(data) <= NEVER_WAITS_BYTES:
        await response.write(data)
        return
    async with asyncio.timeout(request.seconds):
        await response.write(data)


async def _send_event(request: HttpRequest, event: bytes) -> web.StreamResponse:
    """Send a single event over a WebSocket."""
    response, socket = await accept_watch(request)
    await serve_socket(request, socket, send_messages(socket, [event], text=True, seconds=request.seconds))
    return response


def _watch_options(query: Mapping[str, str], name: str) -> ListOptions:
    """Return a watch's options; the path of a single object is the selection of its name."""
    options = request_options.list_options(query, watch=True)
    if name:
        selector, asked = f"metadata.name={name}", options.field_selector
        if asked and not {selector, f"metadata.name=={name}"}.intersection(asked.split(",")):
            raise errors.bad_request("fieldSelector metadata.name doesn't match requested name")
        options = replace(options, field_selector=asked or selector)
    seconds = options.timeout_seconds or int(ids.uniform(WATCH_SECONDS_MIN, WATCH_SECONDS_MAX))
    return replace(options, timeout_seconds=seconds)

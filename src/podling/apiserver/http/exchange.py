"""HTTP request and response types; they add the headers that all responses have."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from email.utils import format_datetime
from functools import cache
from http import HTTPStatus
from itertools import count
from typing import Protocol

from aiohttp import HttpVersion11, hdrs, web
from multidict import CIMultiDict, istr

from podling import clock, ids
from podling.apiserver.http.negotiation import warning_headers
from podling.client.requests import User
from podling.machinery import errors
from podling.streaming.aiohttp_internals import (
    SERVER_SOFTWARE,
    CompletingRequest,
    DirectResponse,
    rfc822_formatted_time,
)

AUDIT_ID = istr("Audit-Id")
CACHE_CONTROL = "Cache-Control"
NOT_KEPT = "no-cache, private"
FLOW_SCHEMA, PRIORITY_LEVEL = "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"
SMALL_BODY_BYTES = 64 * 1024
REQUEST_SECONDS = 60.0
"""kube-apiserver's ``--request-timeout``."""

_numbers = count(1)


@cache
def _process_id() -> str:
    return ids.uid()[:24]


def _new_audit_id() -> str:
    """Random per process, then counted."""
    return f"{_process_id()}{next(_numbers):012x}"


def _date() -> str:
    """Return the value of the header ``Date``: the cluster's time."""
    if clock.own_loop() is None:
        return rfc822_formatted_time()  # which remembers the text for a second
    return format_datetime(clock.now(), usegmt=True)


def audit_id(request: web.BaseRequest) -> str:
    """Return the client's own identifier of the request, or a new one."""
    return request.headers.get(AUDIT_ID) or _new_audit_id()


class Place(Protocol):
    """A request's place in its priority level."""

    def release(self) -> None:
        """Give back the seats of a request that goes on."""
        ...

    def close(self, request: HttpRequest, started_at: float, now: float) -> None:
        """End ``request``."""
        ...


class FlowNames(Protocol):
    """The flow schema and the priority level of a request, as responses name them."""

    @property
    def uids(self) -> tuple[str, str]: ...

    @property
    def lines(self) -> str:
        """Return the lines of their headers."""
        ...


class HttpRequest(CompletingRequest):
    """A request whose answer says what every answer says."""

    __hash__ = object.__hash__  # equal to itself only; its base class, a mapping, has none
    _whole: bytes | None = None
    place: Place | None = None
    """Its seats in the priority level, if that limits it."""
    received: float = 0.0
    """When its head had arrived, in monotonic time."""
    user: User | None = None
    time_limit: float | None = None
    """Seconds that its client allows, if they are fewer than ``seconds``."""
    is_terminated: bool = False
    """The server has ended it to protect itself."""
    timer: asyncio.TimerHandle | None = None
    """Ends it after that time."""
    hold: clock.Timer | None = None
    """Stops a wound clock while the request is in work."""
    is_late: bool = False
    """Its time is over, and it is to be answered with 504."""
    flow: FlowNames | None = None
    is_inside: bool = False
    """It comes from an API worker, which names its user."""
    is_stale: bool = False
    """This process does not have what the answer must show."""
    deprecation: str = ""
    seconds: float = REQUEST_SECONDS
    """The time that the body may take to arrive, and then the client to read the answer."""
    warnings: Sequence[str] = ()
    """Warnings for the client, sent with any answer."""
    token_warning: str = ""
    """A warning about the token of the request, which is in answers of other servers, too."""

    @property
    def has_small_body(self) -> bool:
        """True if its body takes little memory."""
        size = self.content_length
        return size is not None and size <= SMALL_BODY_BYTES

    @property
    def is_usual(self) -> bool:
        """True if an ``Answer`` may answer it."""
        if self.version != HttpVersion11 or self.method == "HEAD" or self.token_warning:
            return False
        return self.keep_alive and AUDIT_ID not in self.headers

    def warn_of_token(self, text: str) -> None:
        """Send a warning about the token with the answer."""
        self.token_warning = text

    async def read(self) -> bytes:
        """Return the body; most came with the head and need not be waited for.

        Raises 413 (``HTTPException``), 504 when it does not come in time.
        """
        content = self.content
        if self._whole is None:
            here = content.is_eof() and content.total_bytes <= self.client_max_size
            self._whole = content.read_nowait() if here else await self._awaited()
        return self._whole

    async def _awaited(self) -> bytes:
        try:
            async with asyncio.timeout(self.seconds):
                return await super().read()
        except TimeoutError:
            raise errors.gateway_timeout("request did not complete within the allotted timeout") from None

    async def drain(self) -> None:
        """Wait until the client has read enough. Raises ``ConnectionError`` when it does not in time."""
        try:
            async with asyncio.timeout(self.seconds):
                await self.writer.drain()
        except TimeoutError:
            self.cut()
            raise ConnectionResetError("the client does not read") from None

    @property
    def deadline(self) -> float:
        """When its time is over, in monotonic time. Holds for requests that may not go on for ever."""
        return self.received + (self.seconds if self.time_limit is None else self.time_limit)

    def end_late(self) -> None:
        """Stop the work on a request whose time is over."""
        self.is_late = True
        self.task.cancel()

    def release_seats(self) -> None:
        """Stop counting as a request in work: a watch that has begun costs little more than its events."""
        if self.place is not None:
            self.place.release()

    def cut(self) -> None:
        """Close the connection at once and discard the unsent bytes."""
        if self.transport is not None:
            self.transport.abort()

    def complete(self, headers: CIMultiDict[str]) -> None:
        if clock.own_loop() is not None:
            headers[hdrs.DATE] = _date()
        if headers.get("Server") == SERVER_SOFTWARE:  # ours; one that is passed on stays
            del headers["Server"]
        if AUDIT_ID not in headers:  # an answer of the writer has one
            headers[AUDIT_ID] = audit_id(self)
        if self.token_warning:
            others = headers.popall(hdrs.WARNING, [])
            first = warning_headers([self.token_warning])
            headers.extend((hdrs.WARNING, each) for each in (*first, *others))
        if CACHE_CONTROL not in headers:
            headers[CACHE_CONTROL] = NOT_KEPT
        if self.flow is not None:
            headers[FLOW_SCHEMA], headers[PRIORITY_LEVEL] = self.flow.uids


class Answer(DirectResponse):
    """The answer to a usual request, when it is nothing but a body.

    The general way of ``web.Response`` through headers that may be anything takes longer than reading an
    object.
    """

    def head(self, request: HttpRequest) -> bytes:
        body, code, media_type, end = self.parts
        more = "Connection: close\r\n" if self.is_last else ""
        if request.flow is not None:
            more += request.flow.lines
        return (
            f"HTTP/1.1 {code} {_phrase(code)}\r\nDate: {_date()}\r\n"
            f"Content-Type: {media_type}\r\nContent-Length: {len(body) + len(end)}\r\n"
            f"{AUDIT_ID}: {_new_audit_id()}\r\n{CACHE_CONTROL}: {NOT_KEPT}\r\n{more}\r\n"
        ).encode()


@cache
def _phrase(code: int) -> str:
    return HTTPStatus(code).phrase

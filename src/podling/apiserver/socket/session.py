"""The requests of one client of the Unix socket: each message starts, changes or ends one of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from podling.apiserver.registry.registry import Registry
from podling.apiserver.socket.calls import Calls
from podling.apiserver.socket.store_stream import StoreStream
from podling.apiserver.socket.watch_stream import Outlet, WatchStream
from podling.client import messages
from podling.client.messages import Failure, Items, Reply
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.store.base import Store

log = logging.getLogger(__name__)

REQUESTS_MAX = 1024
"""Requests of one client that are served at once; others wait unread."""
STREAMS_MAX = 16_384
"""Watches of one client."""

ExtraVerb = Callable[[bytes], Awaitable[bytes]]
"""Answers an ``Extra`` request. Raises ``ApiError``."""

Work = Callable[[Any], Awaitable[Reply | Iterator[Items]]]
"""Serves a request: its reply, or the parts of its answer."""


class ProtocolError(Exception):
    """The client sends what the protocol does not allow."""


class Client(Outlet, Protocol):
    """The connection of a session."""

    component: str

    def answered(self, answer: messages.ClientReply) -> None: ...

    def proceed(self) -> None:
        """Another request may begin."""
        ...


class Owner(Protocol):
    """The server of a session: the parts of it that connections share."""

    @property
    def registry(self) -> Registry: ...

    @property
    def store(self) -> Store: ...

    @property
    def calls(self) -> Calls: ...

    @property
    def extras(self) -> Mapping[str, ExtraVerb]: ...

    def opened(self, connection: Any) -> None: ...

    def closed(self, connection: Any) -> None: ...

    def beat(self, connection: Any, beat: messages.Beat) -> None: ...


class Session:
    """Serves one client."""

    def __init__(self, owner: Owner, client: Client) -> None:
        self._owner, self._client = owner, client
        self._calls = owner.calls
        self._has_begun = False
        self._requests: dict[int, asyncio.Task[None]] = {}
        self._whole: set[int] = set()
        """The requests that are not stopped half-way."""
        self._streams: dict[int, WatchStream | StoreStream] = {}
        self._takes: dict[type[Any], Callable[[Any], None]] = {
            messages.Get: self._get,
            messages.List: partial(self._start, self._calls.list),
            messages.Watch: self._watch,
            messages.Create: partial(self._write, self._calls.create),
            messages.Update: partial(self._write, self._calls.update),
            messages.Patch: partial(self._write, self._calls.patch),
            messages.Delete: partial(self._write, self._calls.delete),
            messages.DeleteCollection: partial(self._start, self._calls.delete_collection, whole=True),
            messages.Cancel: self._cancel,
            messages.Credit: self._credit,
            messages.Extra: partial(self._start, self._extra),
            messages.Follow: self._follow,
            messages.Beat: lambda beat: self._owner.beat(self._client, beat),
            messages.ClientReply: self._client.answered,
        }

    @property
    def is_full(self) -> bool:
        """Return whether no other request may begin now."""
        return len(self._requests) >= REQUESTS_MAX

    def take(self, message: Any) -> None:
        """Take in a message. Raises ``ProtocolError``; ``msgspec.MsgspecError`` for an unreadable user.

        A failure of ours concerns the request alone.
        """
        if not self._has_begun:
            self._begin(message)
            return
        take = self._takes.get(type(message))
        if take is None:
            raise ProtocolError(f"{type(message).__name__} comes once, at the beginning")
        try:
            take(message)
        except ApiError as error:
            self._fail(message.id, error)
        except (ProtocolError, msgspec.MsgspecError):
            raise
        except Exception as error:
            self._fail_unexpectedly(message, error)

    def close(self) -> None:
        """Stop the work for a client that is gone, but for writes of several steps."""
        for number, task in self._requests.items():
            if number not in self._whole:
                task.cancel()
        self._end_streams()

    async def finish(self, seconds: float) -> None:
        """End every stream and wait until the requests under way have ended; not longer than ``seconds``."""
        streams = [stream.task for stream in self._streams.values()]
        self._end_streams()
        running = [*self._requests.values(), *streams]
        if running:
            await asyncio.wait(running, timeout=seconds)

    def _begin(self, hello: Any) -> None:
        if not isinstance(hello, messages.Hello):
            raise ProtocolError("the first message is no Hello")
        self._client.component = hello.component
        self._client.send(messages.Welcome(messages.VERSION))
        if hello.version != messages.VERSION:
            raise ProtocolError(f"the client uses version {hello.version} of the protocol")
        self._has_begun = True
        self._owner.beat(self._client, messages.Beat({}))

    def _get(self, request: messages.Get) -> None:
        reply = self._calls.stored_object(request)
        if reply is None:
            self._start(self._calls.get, request)
        else:
            self._client.send(reply)

    def _write(self, work: Work, request: Any) -> None:
        """Start a write. One of a subresource may be several, and is not stopped half-way."""
        self._start(work, request, whole=bool(request.subresource))

    def _start(self, work: Work, request: Any, *, whole: bool = False) -> None:
        number: int = request.id
        self._check_new(number)
        task = asyncio.get_running_loop().create_task(self._serve(work, request))
        self._requests[number] = task
        if whole:
            self._whole.add(number)
        task.add_done_callback(partial(self._ended, number))

    def _ended(self, number: int, _: asyncio.Task[None]) -> None:
        full = self.is_full
        del self._requests[number]
        self._whole.discard(number)
        if full:
            self._client.proceed()

    async def _serve(self, work: Work, request: Any) -> None:
        try:
            answer = await work(request)
            if isinstance(answer, Reply):
                self._client.send(answer)
                return
            for part in answer:
                await self._client.writable()
                self._client.send(part)
        except ApiError as error:
            self._fail(request.id, error)
        except Exception as error:
            self._fail_unexpectedly(request, error)

    def _fail(self, number: int, error: ApiError) -> None:
        self._client.send(Failure(number, codec.encode(error.status)))

    def _fail_unexpectedly(self, request: Any, error: Exception) -> None:
        log.error("%s of %s failed", type(request).__name__, self._client.component, exc_info=error)
        self._fail(request.id, errors.internal(f"{type(error).__name__}: {error}"))

    async def _extra(self, request: messages.Extra) -> Reply:
        verb = self._owner.extras.get(request.verb)
        if verb is None:
            raise errors.bad_request(f"unknown verb {request.verb}")
        return Reply(request.id, await verb(request.body))

    def _watch(self, request: messages.Watch) -> None:
        watch, resource = self._calls.watch(request)
        stream = WatchStream(self._client, request.id, request.window, watch, resource, self._owner.registry)
        self._open(request.id, stream)

    def _follow(self, request: messages.Follow) -> None:
        stream = StoreStream(self._client, request.id, request.window, self._owner.store, request.after)
        self._open(request.id, stream)

    def _open(self, number: int, stream: WatchStream | StoreStream) -> None:
        self._check_new(number)
        if len(self._streams) >= STREAMS_MAX:
            stream.close()
            raise errors.failure(429, "TooManyRequests", f"a client may have {STREAMS_MAX} watches")
        self._streams[number] = stream
        stream.task.add_done_callback(partial(self._stream_ended, number))

    def _stream_ended(self, number: int, _: asyncio.Task[None]) -> None:
        self._streams.pop(number, None)

    def _check_new(self, number: int) -> None:
        if number in self._requests or number in self._streams:
            raise ProtocolError(f"the request {number} is under way already")

    def _cancel(self, cancel: messages.Cancel) -> None:
        stream = self._streams.get(cancel.id)
        if stream is not None:
            stream.close()
        elif cancel.id not in self._whole and (task := self._requests.get(cancel.id)) is not None:
            task.cancel()

    def _credit(self, credit: messages.Credit) -> None:
        stream = self._streams.get(credit.id)
        if stream is not None:
            stream.add_credit(credit.size)

    def _end_streams(self) -> None:
        for stream in tuple(self._streams.values()):
            stream.close()

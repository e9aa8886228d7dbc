"""One component's connection to the API server, which faults can slow down, break or cut.

``Connection`` is a ``Backend`` like the server itself, so it stands where a network would. Faults
decide single requests; a cut connection refuses them all and ends the open watches, as a network that loses
packets does once the connection is found dead.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Protocol

from msgspec import Struct

from podling import clock, ids
from podling.api.meta_v1 import DeleteOptions
from podling.client.base import Listing, Unreachable, WatchEvent
from podling.client.informer import close_watch
from podling.client.requests import Backend, ListOptions, Patch, Target, User, WriteOptions
from podling.machinery.errors import ApiError
from podling.sim.machine_clock import MachineClock

CONNECT_SECONDS = 10.0
"""The time after which a request over a cut connection fails."""


class WatchId(Struct, frozen=True):
    """A watch: the part that opened it, its number among the part's watches, and the request."""

    part: str
    number: int
    target: Target
    options: ListOptions


Observe = Callable[[WatchId, WatchEvent[Any]], None]


class Request(Struct, frozen=True):
    """A request that the server has answered.

    ``sent`` is the store's revision when the server got it. ``detail``: the options of a list or a deletion,
    the body of a write. ``answer`` is None if ``error`` is the answer.
    """

    part: str
    verb: str
    target: Target
    detail: Any
    sent: int
    answer: Any
    error: ApiError | None = None


class RequestObserver(Protocol):
    """Observes requests for checks."""

    def revision(self) -> int:
        """Return the revision of the last write."""
        ...

    def request(self, request: Request) -> None:
        """A request was answered."""
        ...

    def answer_lost(self, part: str) -> None:
        """The answer to a request that the server has carried out does not reach the part."""
        ...


class RequestFault(Struct, kw_only=True, eq=False):
    """A fault of the requests that fit: they take longer, fail, or fail although they were carried out.

    Args:
        verb: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete``; a pattern.
        resource: the plural name, with the subresource after a slash (``pods/status``); a pattern.
        seconds: the delay before the request is sent, and of each event of a watch.
        error: makes the exception that the caller gets; None: the request succeeds.
        carried_out: the server carries the request out before the caller gets the error.
        share: the part of the fitting requests that are faulty, drawn by the seed.
        times: the number of faulty requests; None: no limit.
    """

    verb: str = "*"
    resource: str = "*"
    seconds: float = 0.0
    error: Callable[[], Exception] | None = None
    carried_out: bool = False
    share: float = 1.0
    times: int | None = None
    met: int = 0
    """The number of requests that it has decided."""

    def decides(self, verb: str, target: Target) -> bool:
        """Return whether the fault decides this request, and count it if so."""
        if self.times is not None and self.met >= self.times:
            return False
        name = target.resource.plural
        if target.subresource:
            name = f"{name}/{target.subresource}"
        if not (fnmatchcase(verb, self.verb) and fnmatchcase(name, self.resource)):
            return False
        if self.share < 1.0 and ids.uniform(0.0, 1.0) >= self.share:
            return False
        self.met += 1
        return True


class Connection:
    """A ``Backend`` for one component. ``faults`` may change at any time; the first that fits decides.

    Args:
        server: returns the server that answers now. Raises ``Unreachable`` while there is none.
        observe: receives what the watches deliver, for checks.
        machine: the clock of the component's machine; None: one of its own.
        server_machine: the clock of the server's machine; None: one of its own.
    """

    def __init__(
        self,
        server: Callable[[], Backend],
        name: str,
        observe: Observe | None = None,
        machine: MachineClock | None = None,
        server_machine: MachineClock | None = None,
    ) -> None:
        self._observe = observe
        self.machine = machine or MachineClock()
        self._server_machine = server_machine or MachineClock()
        self.observe_requests: RequestObserver | None = None
        self._server = server
        self.name = name
        self.faults: list[RequestFault] = []
        self._is_cut = False
        self._watches: dict[int, _Watch] = {}
        self._watch_number = 0

    @property
    def is_cut(self) -> bool:
        return self._is_cut

    @property
    def is_watching(self) -> bool:
        return bool(self._watches)

    async def cut(self) -> None:
        """Break the connection: open watches end with ``Unreachable``, requests fail with it."""
        self._is_cut = True
        await self.break_watches()

    def mend(self) -> None:
        """Let requests through again."""
        self._is_cut = False

    async def break_watches(self) -> None:
        """End the open watches with ``Unreachable``, as a load balancer's restart does."""
        for watch in list(self._watches.values()):
            await watch.abort()

    async def get(self, target: Target, user: User) -> Any:
        return await self._send("get", target, None, lambda: self._server().get(target, user))

    async def list(self, target: Target, user: User, options: ListOptions) -> Listing[Any]:
        answer: Listing[Any] = await self._send(
            "list", target, options, lambda: self._server().list(target, user, options)
        )
        return answer

    def watch(self, target: Target, user: User, options: ListOptions) -> AsyncIterator[WatchEvent[Any]]:
        if self._is_cut:
            raise Unreachable(f"{self.name}: watch {target.resource.plural}: connection timed out")
        fault = self._fault("watch", target)
        if fault is not None and fault.error is not None:
            raise fault.error()
        number = self._watch_number = self._watch_number + 1
        with self._server_machine.in_use():
            source = self._server().watch(target, user, options)
        forget = partial(self._watches.pop, number, None)
        opened = self._watches[number] = _Watch(source, forget, partial(self._lag, target))
        if self._observe is not None:
            opened.observe = partial(self._observe, WatchId(self.name, number, target, options))
        return opened

    async def create(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        return await self._send(
            "create", target, body, lambda: self._server().create(target, user, body, options)
        )

    async def update(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        return await self._send(
            "update", target, body, lambda: self._server().update(target, user, body, options)
        )

    async def patch(self, target: Target, user: User, patch: Patch, options: WriteOptions) -> Any:
        return await self._send(
            "patch", target, patch, lambda: self._server().patch(target, user, patch, options)
        )

    async def delete(self, target: Target, user: User, options: DeleteOptions) -> Any:
        return await self._send(
            "delete", target, options, lambda: self._server().delete(target, user, options)
        )

    async def delete_collection(
        self, target: Target, user: User, selection: ListOptions, options: DeleteOptions
    ) -> Sequence[Any]:
        answer: Sequence[Any] = await self._send(
            "delete",
            target,
            options,
            lambda: self._server().delete_collection(target, user, selection, options),
        )
        return answer

    async def _send(
        self, verb: str, target: Target, detail: Any, work: Callable[[], Coroutine[Any, Any, Any]]
    ) -> Any:
        if self._is_cut:
            await clock.sleep(CONNECT_SECONDS)
            if self._is_cut:
                raise Unreachable(f"{self.name}: {verb} {target.resource.plural}: connection timed out")
        fault = self._fault(verb, target) if self.faults else None
        if fault is not None:
            await clock.sleep(fault.seconds)
            if fault.error is not None:
                if fault.carried_out:
                    await self._observed(verb, target, detail, work)
                    self._note_lost()
                raise fault.error()
        answer = await self._observed(verb, target, detail, work)
        if self.is_cut:
            self._note_lost()
            raise Unreachable(f"{self.name}: {verb} {target.resource.plural}: connection reset by peer")
        return answer

    def _note_lost(self) -> None:
        if self.observe_requests is not None:
            self.observe_requests.answer_lost(self.name)

    async def _observed(
        self, verb: str, target: Target, detail: Any, work: Callable[[], Coroutine[Any, Any, Any]]
    ) -> Any:
        observer = self.observe_requests
        sent = 0 if observer is None else observer.revision()
        try:
            with self._server_machine.in_use():
                answer = await work()
        except ApiError as error:
            if observer is not None:
                observer.request(Request(self.name, verb, target, detail, sent, None, error))
            raise
        if observer is not None:
            observer.request(Request(self.name, verb, target, detail, sent, answer))
        return answer

    def _lag(self, target: Target) -> float:
        """Return the seconds by which an event of a watch is late."""
        fault = self._fault("watch", target) if self.faults else None
        return fault.seconds if fault is not None and fault.error is None else 0.0

    def _fault(self, verb: str, target: Target) -> RequestFault | None:
        return next((fault for fault in self.faults if fault.decides(verb, target)), None)


class _Watch:
    """A watch that can be broken off from outside, also while its reader waits."""

    def __init__(
        self,
        source: AsyncIterator[WatchEvent[Any]],
        forget: Callable[[], object],
        lag: Callable[[], float],
    ) -> None:
        self._source = source
        self._forget = forget
        self._lag = lag
        self._is_broken = False
        self.observe: Callable[[WatchEvent[Any]], None] | None = None

    def __aiter__(self) -> _Watch:
        return self

    def _check(self) -> None:
        if self._is_broken:
            raise Unreachable("the connection of the watch is broken")

    async def __anext__(self) -> WatchEvent[Any]:
        self._check()
        try:
            event = await self._source.__anext__()
        except StopAsyncIteration:
            self._forget()
            if self._is_broken:
                raise Unreachable("the connection of the watch is broken") from None
            raise
        if seconds := self._lag():
            await clock.sleep(seconds)
            self._check()
        if self.observe is not None:
            self.observe(event)
        return event

    async def abort(self) -> None:
        """End the watch with ``Unreachable``."""
        self._is_broken = True
        self._forget()
        await close_watch(self._source)

    async def aclose(self) -> None:
        self._forget()
        await close_watch(self._source)

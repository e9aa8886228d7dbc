"""Turns of the event loop for the pieces of large requests.

A large request works in pieces of a few milliseconds. When many such requests run at once, their pieces must
not all run in one turn of the loop: everything else would wait for the sum of them. So before each piece a
request waits here. Each turn of the loop admits one long piece, and short pieces of ``TURN_BYTES`` in all;
the others follow in the next turns, in the order in which they came. Work that is smaller still does not wait
and runs between them, in every turn. A short piece never waits for the queue of long ones.

The size of a piece stands for its length: the bytes that it reads, encodes or sends. Slow work counts a
multiple of its bytes.

Work on one large value that cannot be cut into pieces runs in a thread, one after the other: the loop waits
for the interpreter's lock for 5 ms at most, but with several such threads for as many times 5 ms.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from podling import clock

P = ParamSpec("P")
T = TypeVar("T")

_ANSWER_SECONDS = 30.0
"""A loop that does not answer a thread for so long has ended."""

TURN_BYTES = 1024 * 1024
"""A long piece: encoding or sending this many bytes takes 1 to 4 ms."""

SHORT_BYTES = TURN_BYTES // 4
"""A piece of at most this size is short."""

LARGE_BYTES = 64 * 1024
"""Smaller pieces need not wait for a turn."""


class _Queue:
    """Pieces that wait. Each turn admits ``TURN_BYTES`` of them, but always one."""

    def __init__(self) -> None:
        self._used = 0
        """The sizes of the pieces that were admitted since the turn began."""
        self._used_before = 0
        """The same of the turn before: some of these may still be to run."""
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    def take(self, size: int, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None] | None:
        used = self._used + self._used_before
        if not self._waiting and (not used or used + size <= TURN_BYTES):
            self._used += size
            return None
        future = loop.create_future()
        self._waiting.append((future, size))
        return future

    def begin_turn(self) -> bool:
        """Admit pieces; return whether the last turn and this one admitted none."""
        self._used_before, self._used = self._used, 0
        while self._waiting:
            future, size = self._waiting[0]
            if not future.done():
                if self._used and self._used + size > TURN_BYTES:
                    break
                self._used += size
                future.set_result(None)
            self._waiting.popleft()
        return not (self._used or self._used_before)


class Turns:
    """The turns of one event loop."""

    def __init__(self) -> None:
        self._short = _Queue()
        self._long = _Queue()
        self._is_begun = False
        """True while a call of ``_begin_turn`` is scheduled."""

    def take(self, size: int, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None] | None:
        """Return a future that is done when a piece of ``size`` may begin; None if it may at once."""
        if not self._is_begun:
            self._is_begun = True
            loop.call_soon(self._begin_turn)
        return (self._short if size <= SHORT_BYTES else self._long).take(size, loop)

    def _begin_turn(self) -> None:
        is_idle = self._short.begin_turn()
        if self._long.begin_turn() and is_idle:
            self._is_begun = False
        else:
            asyncio.get_running_loop().call_soon(self._begin_turn)


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


async def take(size: int = TURN_BYTES) -> None:
    """Wait until a piece of ``size`` bytes may run on the running loop."""
    loop = asyncio.get_running_loop()
    turns = _turns.get(loop)
    if turns is None:
        turns = _turns[loop] = Turns()
    waits = turns.take(size, loop)
    if waits is not None:
        await waits


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what ``work`` returns, computed beside the loop; at once on a loop that keeps its own time."""
    if clock.own_loop() is not None:
        return work(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_thread(), lambda: work(*args, **kwargs))


def on_this_loop(function: Callable[P, T]) -> Callable[P, T]:
    """Return ``function`` for callers in any thread: it always runs on the loop that runs now.

    A caller in another thread waits for it. Raises ``TimeoutError`` there when the loop has ended.
    """
    home, loop = threading.get_ident(), asyncio.get_running_loop()

    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        if threading.get_ident() == home:
            return function(*args, **kwargs)
        answer: Future[T] = Future()
        loop.call_soon_threadsafe(_answer, answer, partial(function, *args, **kwargs))
        return answer.result(_ANSWER_SECONDS)

    return called


def _answer(answer: Future[T], function: Callable[[], T]) -> None:
    try:
        answer.set_result(function())
    except Exception as error:
        answer.set_exception(error)


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "podling-computation")

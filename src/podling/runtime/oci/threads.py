"""Threads that live for one call. Starting one costs about a fortieth of a millisecond.

Namespaces belong to threads: a thread that unshared or entered one must not go back to a pool. And a call
whose length depends on what containers and images hold must not take a thread from the loop's pool.

``threading.Thread`` is not used: its ``start`` blocks the loop until the new thread has run.
"""

from __future__ import annotations

import _thread
import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from podling.cancellation import settled

T = TypeVar("T")

FIRST_SECONDS = 0.0002
"""The longest wait for a thread that runs first: a busy machine may have no processor for it."""


async def in_thread(
    function: Callable[[], T],
    undo: Callable[[T], object] | None = None,
    *,
    first: bool = False,
    then: Callable[[], object] | None = None,
) -> T:
    """Run ``function`` in a new thread and return what it returned.

    ``first``: the thread runs before the loop goes on, which else may keep the interpreter for milliseconds.
    ``then`` is called in the thread after a success, while the caller goes on; it must not raise.

    A thread cannot be cancelled. A cancelled caller without ``undo`` stops waiting and the result is
    dropped; with it, the caller waits for the end, however often it is cancelled, and ``undo`` gets the
    result before it leaves.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    begun = _thread.allocate_lock()

    def work() -> None:
        if first:
            begun.release()
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = function()
        except BaseException as error:
            failure = error
        # Only a loop that was closed meanwhile refuses; then no caller waits any more.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, failure)
        if then is not None and failure is None:
            then()

    if first:
        begun.acquire()
    _thread.start_new_thread(work, ())
    if first:
        begun.acquire(timeout=FIRST_SECONDS)
    try:
        return await (future if undo is None else asyncio.shield(future))
    except asyncio.CancelledError:
        if undo is not None:
            try:
                await settled(future)
            finally:
                with suppress(Exception):  # the thread failed: there is nothing to undo
                    undo(future.result())
        raise


def wait_for_end(result: object) -> None:
    """As ``undo``: nothing to take back, but a cancelled caller goes on only when the thread is through."""

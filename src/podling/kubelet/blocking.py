"""Calls that block: file trees, big copies, directory walks.

On an ordinary loop they run in threads. A loop that keeps its own time (``podling.sim``) would jump past
a thread at work, so there they run at once, in place.

The node's own work shares the loop's pool. Work on files that a pod controls (its volumes, its logs) does
not: a file that never responds would take the pool's few threads from the API server. Each such call has a
thread of its own and a deadline. A thread cannot be ended, so a pod whose call is overdue gets no further
one until that call has ended.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

POD_SECONDS = 60.0
"""The deadline of one call on behalf of a pod."""

_overdue: set[str] = set()
"""The UIDs of pods with a call that has not ended by its deadline."""


async def blocking(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of ``function``, a part of the node's own work."""
    if _keeps_own_time():
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


async def blocking_for_pod(pod_uid: str, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of ``function``, which uses files that the pod controls.

    Raises ``TimeoutError`` (an ``OSError``) at the deadline, and at once while an earlier call for the pod
    is overdue.
    """
    if _keeps_own_time():
        return function(*args, **kwargs)
    if pod_uid in _overdue:
        raise TimeoutError("an earlier call for the pod has not ended yet")
    future = _in_thread(partial(function, *args, **kwargs), partial(_overdue.discard, pod_uid))
    try:
        async with asyncio.timeout(POD_SECONDS):
            return await future
    except TimeoutError:
        if future.cancelled():
            _overdue.add(pod_uid)
        raise


def _in_thread(function: Callable[[], T], ended: Callable[[], None]) -> asyncio.Future[T]:
    """Run ``function`` in a new thread, and ``ended`` on the loop when the thread has finished."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(deliver: Callable[[], None]) -> None:
        ended()
        if not future.done():
            deliver()

    def work() -> None:
        try:
            deliver = partial(future.set_result, function())
        except BaseException as error:
            deliver = partial(future.set_exception, error)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, deliver)

    threading.Thread(target=work, name="pod", daemon=True).start()
    return future


def _keeps_own_time() -> bool:
    return hasattr(asyncio.get_running_loop(), "wall_time")

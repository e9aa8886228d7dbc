"""Waiting that a cancellation does not cut short: clean-up must end before its caller goes on.

A task may be cancelled twice, for instance by the session that ends and by the HTTP server whose client
left. The second cancellation would otherwise interrupt the clean-up that the first one began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def settled(*futures: asyncio.Future[Any]) -> None:
    """Wait until all of ``futures`` are done; raise a cancellation of the caller only after that."""
    cancelled = False
    waiting = set(futures)
    while waiting:
        try:
            _, waiting = await asyncio.wait(waiting)
        except asyncio.CancelledError:
            cancelled = True
            waiting = {future for future in waiting if not future.done()}
    if cancelled:
        raise asyncio.CancelledError


async def cancel_and_settle(*tasks: asyncio.Task[Any]) -> None:
    """Cancel ``tasks`` once and wait until all of them have cleaned up; their errors are dropped."""
    for task in tasks:
        task.cancel()
    try:
        await settled(*tasks)
    finally:
        for task in tasks:
            if not task.cancelled():
                task.exception()


async def cancel_and_wait(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel ``tasks`` and wait until all of them have ended; their errors are dropped.

    A cancellation of the caller cuts the wait short. ``asyncio.gather`` does the same, but takes turns of the
    loop for tasks that are done on some versions of Python only, and so changes the order of all else.
    """
    cancelled = tuple(tasks)
    for task in cancelled:
        task.cancel()
    try:
        if pending := [task for task in cancelled if not task.done()]:
            await asyncio.wait(pending)
    finally:
        for task in cancelled:
            if task.done() and not task.cancelled():
                task.exception()


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end and return its result, also when the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        await settled(task)
    finally:
        if not task.cancelled():
            task.exception()
    return task.result()

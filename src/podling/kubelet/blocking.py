"""Running what blocks: file trees, big copies, directory walks.

On an ordinary loop it happens in a thread. A loop that keeps its own time (``podling.sim``) would jump
past a thread at work, so there it happens at once, in place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def blocking(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of ``function``, without holding up the loop where that can be had."""
    if hasattr(asyncio.get_running_loop(), "wall_time"):
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Await ``work`` to its end even when cancelled meanwhile; the cancellation is raised afterwards.

    For calls into the runtime that must not be left half done: a sandbox whose making was cut off
    would be nobody's.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait([task])
        # Look at the failure, if there was one, so that it counts as seen: the cancellation goes first.
        if not task.cancelled():
            task.exception()
        raise

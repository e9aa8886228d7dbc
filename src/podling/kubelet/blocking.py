"""Running what blocks: file trees, big copies, directory walks.

On an ordinary loop it happens in a thread. A loop that keeps its own time (``podling.sim``) would jump
past a thread at work, so there it happens at once, in place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def blocking(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of ``function``, without holding up the loop where that can be had."""
    if hasattr(asyncio.get_running_loop(), "wall_time"):
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)

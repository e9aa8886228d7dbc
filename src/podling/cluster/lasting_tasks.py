"""Waiting beside tasks that should never end: the components of a cluster, a node or a part."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

LastingTasks = Mapping[str, asyncio.Task[None]]
"""The tasks, by what they are."""


async def run_until(stop: asyncio.Event, tasks: LastingTasks) -> None:
    """Wait for ``stop``. Raises the error of a task that ends before."""
    await first_of(tasks, stop.wait())


async def first_of(
    tasks: LastingTasks, *waits: Coroutine[Any, Any, object], seconds: float | None = None
) -> list[asyncio.Task[object]]:
    """Wait until one of ``waits`` is over, at most ``seconds``; return them as tasks, the others cancelled.

    Raises the error of one of ``tasks`` that ends before.
    """
    waiting = [asyncio.ensure_future(each) for each in waits]
    try:
        await asyncio.wait([*waiting, *tasks.values()], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        over = [each.done() for each in waiting]
        for each in waiting:
            each.cancel()
    if not any(over):
        _raise_failure(tasks)
    return waiting


def _raise_failure(tasks: LastingTasks) -> None:
    for name, task in tasks.items():
        if task.done() and not task.cancelled():
            raise task.exception() or RuntimeError(f"{name} has ended")

"""Controllers that are cut off, as by ``kill -9``, at a chosen call, and others that take over.

``PODLING_KILL_POINTS`` sets the number of calls of each life at which that happens (8; ``0``: every one).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager
from typing import Any

from podling import clock
from podling.client.base import Client
from podling.client.local import LocalClient
from podling.controllers.base import ControllerFactory
from podling.sim.connection import Connection, RequestFault
from podling.testing import ControlPlane, running
from tests.support.killed_kubelet import Line, OverLine

POINTS = int(os.environ.get("PODLING_KILL_POINTS", "8"))
AWAY_SECONDS = 3.0


@asynccontextmanager
async def killed_controllers(
    plane: ControlPlane, line: Line, made: Collection[ControllerFactory], lag: float = 0.0
) -> AsyncIterator[None]:
    """Run controllers on a line; others take over when it is cut. All see changes ``lag`` seconds late."""
    connection = Connection(lambda: plane.backend, "controllers")
    if lag:
        connection.faults.append(RequestFault(verb="watch", seconds=lag))
    client = LocalClient(connection)
    cut: Any = OverLine(client, line)
    first = asyncio.create_task(_run(cut, made))

    async def replace() -> None:
        await line.was_cut.wait()
        first.cancel()  # its end is not awaited: it would make calls, none of which goes through
        await clock.sleep(AWAY_SECONDS)
        await _run(client, made)

    replacing = asyncio.create_task(replace())
    try:
        yield
    finally:
        for task in (first, replacing):
            task.cancel()
        await asyncio.gather(first, replacing, return_exceptions=True)


async def _run(client: Client, made: Collection[ControllerFactory]) -> None:
    async with running(client, *made):
        await asyncio.Event().wait()


def points(calls: int) -> Iterator[tuple[int, bool]]:
    """Yield where to kill: the call, and True for after it."""
    every = [(at, after) for at in range(1, calls + 1) for after in (False, True)]
    return iter(every[:: max(1, len(every) // POINTS) if POINTS else 1])


def failures_of_kills(run: Callable[[Line], int]) -> tuple[int, list[str]]:
    """Play a life undisturbed, then with a kill at its calls; return the number of calls and what failed.

    ``run`` plays the life with the victim on a line, and returns the number of the victim's calls.
    """
    calls, failures = run(Line()), list[str]()
    for at, after in points(calls):
        try:
            run(Line(at, after=after))
        except AssertionError as error:
            failures.append(f"cut {'after' if after else 'before'} call {at} of {calls}: {error}")
    return calls, failures

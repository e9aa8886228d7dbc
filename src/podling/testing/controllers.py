"""Controllers beside a control plane in memory, for tests of controllers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from podling.client.base import Client
from podling.client.typed_kinds import TypedClient
from podling.controllers.base import ControllerFactory
from podling.controllers.controller_manager import ControllerManager


@asynccontextmanager
async def running(client: Client, *controllers: ControllerFactory) -> AsyncIterator[ControllerManager]:
    """Run these controllers until the block ends."""
    manager = ControllerManager(TypedClient(client), controllers)
    task = asyncio.create_task(manager.run())
    started = asyncio.create_task(manager.started())
    await asyncio.wait({task, started}, return_when=asyncio.FIRST_COMPLETED)
    try:
        yield manager
    finally:
        started.cancel()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

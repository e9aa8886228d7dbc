"""What tests of any runtime need."""

from __future__ import annotations

import asyncio

from podling.runtime.base import Container, ContainerState, Runtime

DEADLINE_SECONDS = 30.0


async def exited(runtime: Runtime, container_id: str) -> Container:
    """The container once it has exited."""
    events = runtime.events()
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            container = await runtime.container_status(container_id)
            if container.state is ContainerState.EXITED:
                return container
            await anext(events)

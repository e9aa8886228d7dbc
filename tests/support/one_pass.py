"""A controller whose informers follow and whose queue nothing serves: tests call ``reconcile`` once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from podling import clock
from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.controllers.base import Controller, ControllerContext
from podling.supervisor import Supervisor

T = TypeVar("T", bound=Controller)


@asynccontextmanager
async def following(client: Client, make: Callable[[ControllerContext], T]) -> AsyncIterator[T]:
    """Make a controller, fill its informers, and keep them and its events going until the block ends."""
    informers = InformerFactory(client)
    recorders: dict[str, EventRecorder] = {}

    def recorder(component: str) -> EventRecorder:
        return recorders.setdefault(component, EventRecorder(client, component))

    controller = make(ControllerContext(client, informers, recorder))
    async with Supervisor() as supervisor:
        tasks = [supervisor.keep_running("informers", informers.run)]
        tasks += [supervisor.keep_running("events", each.run, name) for name, each in recorders.items()]
        await informers.synced()
        yield controller
        await clock.sleep(1)  # events are written
        for task in tasks:
            task.cancel()

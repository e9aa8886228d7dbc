"""Runs controllers together: one client, one informer per kind, one event recorder per component."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.client.runner import Counters, Runner
from podling.controllers.base import Controller, ControllerContext, ControllerFactory
from podling.controllers.informer_contents import kept_of
from podling.controllers.queue_metrics import queue_families
from podling.supervisor import Supervisor


class ControllerManager:
    """Makes and runs ``controllers``; each is a controller class or a function that makes one."""

    def __init__(self, client: Client, controllers: Sequence[ControllerFactory]) -> None:
        self._client = client
        self.informers = InformerFactory(client, default=kept_of)
        self._recorders: dict[str, EventRecorder] = {}
        context = ControllerContext(client, self.informers, self._recorder)
        self.controllers: tuple[Controller, ...] = tuple(make(context) for make in controllers)
        self._runners = tuple(
            Runner(each, each.queue, each.workers, name=each.name) for each in self.controllers
        )
        self._started = asyncio.Event()

    async def run(self) -> None:
        """Run everything until cancelled. Reconciling begins once every informer holds its first list,
        so that nothing is decided on half a view."""
        try:
            async with Supervisor() as supervisor:
                supervisor.keep_running("informers", self.informers.run)
                for component, recorder in self._recorders.items():
                    supervisor.keep_running("events", recorder.run, component)
                await self.informers.synced()
                for runner in self._runners:
                    supervisor.keep_running("controller", runner.run, runner.name)
                self._started.set()
        except asyncio.CancelledError:
            for recorder in self._recorders.values():
                await recorder.close()
            raise

    async def started(self) -> None:
        """Wait until every controller works."""
        await self._started.wait()

    @property
    def counters(self) -> dict[str, Counters]:
        """The counts of each controller's work, by name."""
        return {runner.name: runner.counters for runner in self._runners}

    def collect(self) -> Iterator[Any]:
        """Yield the queues and what the controllers count: families of ``prometheus_client``."""
        yield from queue_families({each.name: each.queue for each in self.controllers})
        for each in self.controllers:
            yield from each.families()

    def _recorder(self, component: str) -> EventRecorder:
        if component not in self._recorders:
            self._recorders[component] = EventRecorder(self._client, component)
        return self._recorders[component]

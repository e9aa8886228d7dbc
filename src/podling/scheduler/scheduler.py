"""The scheduler as others start it. Importing this is cheap: numpy and the plugins load when it runs."""

from __future__ import annotations

import asyncio

from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory

DEFAULT_NAME = "default-scheduler"


class Scheduler:
    """Places the pods whose ``spec.schedulerName`` is ``name``.

    ``informers`` are shared with others and run by whoever made them.
    """

    def __init__(self, client: Client, informers: InformerFactory, name: str = DEFAULT_NAME) -> None:
        self.name = name
        self._client = client
        self._informers = informers

    async def run(self) -> None:
        """Schedule until cancelled. Decides nothing before all informers hold their first list."""
        from podling.scheduler.loop import SchedulingLoop

        recorder = EventRecorder(self._client, self.name)
        loop = SchedulingLoop(self._client, self._informers, recorder, self.name)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(recorder.run(), name=f"{self.name}/events")
            tasks.create_task(loop.run(), name=f"{self.name}/loop")

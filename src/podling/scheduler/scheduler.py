"""The scheduler as others start it. Importing this is cheap: numpy and the plugins load when it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.supervisor import Supervisor

if TYPE_CHECKING:
    from podling.scheduler.scheduling_loop import SchedulingLoop

DEFAULT_NAME = "default-scheduler"


class Scheduler:
    """Places the pods whose ``spec.schedulerName`` is ``name``.

    ``informers`` are shared, and their creator runs them.
    """

    def __init__(self, client: Client, informers: InformerFactory, name: str = DEFAULT_NAME) -> None:
        self.name = name
        self._client = client
        self._informers = informers
        self._recorder = EventRecorder(client, name)
        self._loop: SchedulingLoop | None = None

    def collect(self) -> Iterator[Any]:
        """Return its metrics as families of ``prometheus_client``; none before it runs."""
        return iter(()) if self._loop is None else self._loop.metrics.collect()

    async def run(self) -> None:
        """Schedule until cancelled. Decides nothing before all informers hold their first list."""
        from podling.scheduler.scheduling_loop import SchedulingLoop

        if self._loop is None:
            self._loop = SchedulingLoop(self._client, self._informers, self._recorder, self.name)
        async with Supervisor() as supervisor:
            supervisor.keep_running("events", self._recorder.run, self.name)
            supervisor.keep_running("scheduler", self._loop.run, self.name)

"""The scheduler as others start it. Importing this is cheap: numpy and the plugins load when it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.supervisor import Supervisor

if TYPE_CHECKING:
    from podling.scheduler.configuration.types import KubeSchedulerConfiguration
    from podling.scheduler.scheduling_loop import SchedulingLoop


class Scheduler:
    """Places the pods whose ``spec.schedulerName`` is that of a profile.

    Args:
        informers: shared; their creator runs them.
        configuration: with its defaults; None is Kubernetes' default configuration.
    """

    def __init__(
        self,
        client: Client,
        informers: InformerFactory,
        configuration: KubeSchedulerConfiguration | None = None,
    ) -> None:
        self._client = client
        self._informers = informers
        self._configuration = configuration
        self._recorders: dict[str, EventRecorder] = {}
        self._loop: SchedulingLoop | None = None

    def collect(self) -> Iterator[Any]:
        """Return its metrics as families of ``prometheus_client``; none before it runs."""
        return iter(()) if self._loop is None else self._loop.metrics.collect()

    async def run(self) -> None:
        """Schedule until cancelled. Decides nothing before all informers hold their first list."""
        loop = self._loop = self._loop or self._new_loop()
        async with Supervisor() as supervisor:
            for name, recorder in self._recorders.items():
                supervisor.keep_running("events", recorder.run, name)
            supervisor.keep_running("scheduler", loop.run, " ".join(self._recorders))

    def _new_loop(self) -> SchedulingLoop:
        from podling.scheduler.profiles import default_configuration, make_profiles
        from podling.scheduler.queue import Backoff
        from podling.scheduler.scheduling_loop import SchedulingLoop

        configuration = self._configuration or default_configuration()
        profiles = make_profiles(configuration)
        self._recorders = {name: EventRecorder(self._client, name) for name in profiles}
        backoff = Backoff(
            float(configuration.pod_initial_backoff_seconds or 0),
            float(configuration.pod_max_backoff_seconds or 0),
        )
        return SchedulingLoop(self._client, self._informers, self._recorders, profiles, backoff)

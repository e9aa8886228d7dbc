"""The scheduler as others start it: numpy and the plugins are loaded when the first pod waits for a node.

They are a tenth of the start-up time and of the memory of a control plane, which many clusters never need:
those of tests, and those whose pods are all static. A configuration of the user's is checked at the start.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from podling import turns
from podling.api.core_v1 import Node, Pod
from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.machinery.feature_gates import NO_GATES, is_enabled
from podling.scheduler.metrics import SchedulerMetrics, Standing
from podling.supervisor import Supervisor

if TYPE_CHECKING:
    from podling.scheduler.configuration.types import Extender, KubeSchedulerConfiguration
    from podling.scheduler.extenders.http_extender import HttpExtender, Send
    from podling.scheduler.scheduling_loop import SchedulingLoop


class Scheduler:
    """Places the pods whose ``spec.schedulerName`` is that of a profile.

    Args:
        informers: shared; their creator runs them.
        configuration: with its defaults; None is Kubernetes' default configuration.
        connect: makes the connection to an extender; None is HTTP.
        feature_gates: the gates that differ from their defaults.
    """

    def __init__(
        self,
        client: Client,
        informers: InformerFactory,
        configuration: KubeSchedulerConfiguration | None = None,
        connect: Callable[[Extender], Send] | None = None,
        feature_gates: Mapping[str, bool] = NO_GATES,
    ) -> None:
        self._connect = connect
        self._gates = feature_gates
        self._client = client
        self._informers = informers
        self._configuration = configuration
        self._recorders: dict[str, EventRecorder] = {}
        self._metrics = SchedulerMetrics(self._standing)
        self._nodes = informers.informer(Node)
        self._pods = informers.informer(Pod)
        self._pending = asyncio.Event()
        self._pods.add_handler(self._pod_added)
        self._loop: SchedulingLoop | None = None

    def collect(self) -> Iterator[Any]:
        """Return its metrics as families of ``prometheus_client``."""
        return self._metrics.collect()

    async def run(self) -> None:
        """Schedule until cancelled. Decides nothing before all informers hold their first list."""
        if self._loop is None and self._configuration is None:
            await self._pending.wait()
            await turns.in_thread(importlib.import_module, "podling.scheduler.scheduling_loop")
        loop = self._loop = self._loop or self._new_loop()
        async with Supervisor() as supervisor:
            for name, recorder in self._recorders.items():
                supervisor.keep_running("events", recorder.run, name)
            supervisor.keep_running("scheduler", loop.run, " ".join(self._recorders))

    def _pod_added(self, pod: Pod) -> None:
        if not pod.spec.node_name:
            self._pending.set()

    def _standing(self) -> Standing:
        """Return what the scheduler holds before the first pod: nothing but what it could read."""
        return Standing(cached={"nodes": len(self._nodes), "pods": len(self._pods), "assumed_pods": 0})

    def _new_loop(self) -> SchedulingLoop:
        from podling.scheduler.configuration.defaults import with_gates
        from podling.scheduler.profiles import default_configuration, make_profiles
        from podling.scheduler.queue import Backoff
        from podling.scheduler.scheduling_loop import SchedulingLoop

        configuration = self._configuration or default_configuration()
        configuration = with_gates(configuration, self._gates)
        profiles = make_profiles(configuration)
        self._recorders = {name: EventRecorder(self._client, name) for name in profiles}
        backoff = Backoff(
            float(configuration.pod_initial_backoff_seconds or 0),
            float(configuration.pod_max_backoff_seconds or 0),
        )
        has_groups = is_enabled("GenericWorkload", self._gates)
        kind = SchedulingLoop
        if has_groups:
            from podling.scheduler.group_loop import GroupSchedulingLoop

            kind = GroupSchedulingLoop
        return kind(
            self._client,
            self._informers,
            self._recorders,
            profiles,
            backoff,
            self._metrics,
            self._extenders(configuration.extenders),
            has_groups=has_groups,
        )

    def _extenders(self, found: Sequence[Extender]) -> list[HttpExtender]:
        if not found:
            return []
        from podling.scheduler.extenders.http_extender import HttpExtender
        from podling.scheduler.extenders.transport import connection

        connect = self._connect or connection
        return [HttpExtender(each, connect(each)) for each in found]

"""Requests to the pods of scenarios: the CPU time that they cost, shared by the pods that are ready."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podling import clock
from podling.machinery.pods import is_ready
from podling.sim.changes import Change
from podling.sim.scenario import LoadStep, Traffic
from podling.sim.simulated_cluster import SimulatedCluster
from podling.sim.simulated_machine import SimulatedMachine

PERIOD_SECONDS = 5.0
"""The interval at which the load is shared anew."""


def load_at(steps: Sequence[LoadStep], seconds: float) -> float:
    """Return the requests per second at a moment of the run. Pure."""
    return max(((step.at, step.per_second) for step in steps if step.at <= seconds), default=(0.0, 0.0))[1]


class TrafficGenerator:
    """One stream of requests. ``change`` must be called with every change of the cluster."""

    def __init__(self, traffic: Traffic, cluster: SimulatedCluster) -> None:
        self._traffic = traffic
        self._cluster = cluster
        self._ready: dict[str, Any] = {}
        self._before: dict[str, int] = {}

    def change(self, change: Change) -> None:
        if change.resource.kind != "Pod" or change.namespace != self._traffic.namespace:
            return
        pod = change.new
        fits = pod is not None and self._traffic.pods.items() <= pod.metadata.labels.items()
        if fits and is_ready(pod) and pod.metadata.deletion_timestamp is None:
            self._ready[change.name] = pod
        else:
            self._ready.pop(change.name, None)

    async def run(self) -> None:
        """Share the load until cancelled."""
        began = clock.monotonic()
        while True:
            load = load_at(self._traffic.steps, clock.monotonic() - began)
            total = load * self._traffic.cpu_milliseconds
            self._share(int(total / len(self._ready)) if self._ready else 0)
            await clock.sleep(PERIOD_SECONDS)

    def _share(self, millicores: int) -> None:
        """Make every ready pod use so much CPU from now on."""
        for name, pod in self._ready.items():
            node = self._cluster.nodes.get(pod.spec.node_name)
            if node is None or not isinstance(node.runtime, SimulatedMachine):
                continue
            uid = pod.metadata.uid or ""
            if self._before.get(uid) != millicores:
                self._before[uid] = millicores
                node.runtime.use_cpu(self._traffic.namespace, name, self._traffic.container, millicores)

"""The actions of scenarios that break something, and the end of what they broke.

Faults are put into the protocols (store, connections, runtimes) and the machines, never into components.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from podling import clock, ids
from podling.client.base import Unreachable
from podling.machinery import quantity
from podling.machinery.errors import failure
from podling.runtime.base import ContainerState, RuntimeFailure
from podling.runtime.failures import ImageFailure
from podling.runtime.sim import Fault
from podling.runtime.sim.faults import VERBS
from podling.sim.connection import Connection, RequestFault
from podling.sim.faulty_store import FaultyStore, StoreFault
from podling.sim.machine_clock import MachineClock
from podling.sim.scenario_actions import (
    CONTROL_PLANE_MACHINE,
    BadRequests,
    BadRuntime,
    BadServers,
    BadStore,
    ClockStep,
    Compaction,
    EndContainers,
    NodeChoice,
    OnNodes,
    Outage,
    Partition,
    Pressure,
)
from podling.sim.scenario_tasks import ScenarioTasks
from podling.sim.servers.simulated_servers import ServerFault
from podling.sim.simulated_cluster import SimulatedCluster
from podling.sim.simulated_machine import SimulatedMachine
from podling.sim.simulated_node import SimulatedNode

Undo = Callable[[], Awaitable[object]]


PULL = "images.pull"
PULL_PROGRESS_SECONDS = 300.0
"""The time without progress after which a runtime cancels a pull: containerd's
``image_pull_progress_timeout``."""
NO_PROGRESS = "no progress of the pull within 5m0s: context canceled"


class FaultActions:
    """Breaks parts of one cluster, and mends them.

    Args:
        tasks: runs what mends something later.
    """

    def __init__(self, cluster: SimulatedCluster, store: FaultyStore, tasks: ScenarioTasks) -> None:
        self._cluster = cluster
        self._store = store
        self._tasks = tasks
        self._active: list[str] = []
        """The names of the faults that last."""
        self._last: datetime = clock.steady_now()

    def quiet_since(self) -> datetime | None:
        """Return the end of the last fault; None while one lasts."""
        return None if self._active else self._last

    @property
    def active(self) -> Sequence[str]:
        """The names of the faults that last, in the order of their begin."""
        return tuple(self._active)

    async def crash(self, action: OnNodes) -> None:
        nodes = self.chosen(action.nodes)
        for node in nodes:
            await node.crash()
        again = partial(self._start_all, nodes)
        await self._undo_later("crash", action.lasting, again, is_permanent=True)

    async def boot(self, choice: NodeChoice) -> None:
        await self._start_all(self.chosen(choice))

    async def stop_kubelets(self, action: OnNodes) -> None:
        nodes = self.chosen(action.nodes)
        for node in nodes:
            await node.stop()
        again = partial(self._start_all, nodes)
        await self._undo_later("stopKubelets", action.lasting, again, is_permanent=True)

    async def restart_kubelets(self, choice: NodeChoice) -> None:
        for node in self.chosen(choice):
            await node.restart()
        self._touch()

    async def stop_api_server(self, outage: Outage) -> None:
        await self._cluster.stop_server()
        await self._undo_later("stopApiServer", outage.lasting, self._cluster.start_server)

    async def stop_control_plane(self, outage: Outage) -> None:
        await self._cluster.stop_control_plane()
        await self._undo_later("stopControlPlane", outage.lasting, self._cluster.start_control_plane)

    async def partition(self, action: Partition) -> None:
        connections = list(self._connections(action.parts))
        for connection in connections:
            await connection.cut()

        async def mend() -> None:
            for connection in connections:
                connection.mend()

        await self._undo_later("partition", action.lasting, mend)

    async def requests(self, action: BadRequests) -> None:
        connections = list(self._connections(action.parts))
        fault = RequestFault(
            verb=action.verb,
            resource=action.resource,
            seconds=action.seconds,
            error=None if action.code is None else partial(_error, action.code),
            carried_out=action.carried_out,
            share=action.share,
        )
        for connection in connections:
            connection.faults.append(fault)

        async def mend() -> None:
            for connection in connections:
                connection.faults.remove(fault)

        await self._undo_later("requests", action.lasting, mend)

    async def store(self, action: BadStore) -> None:
        fault = StoreFault(seconds=action.seconds, fails=action.fails, share=action.share)
        self._store.faults.append(fault)

        async def mend() -> None:
            self._store.faults.remove(fault)

        await self._undo_later("store", action.lasting, mend)

    async def runtime(self, action: BadRuntime) -> None:
        machines = [node.runtime for node in self.chosen(action.nodes)]
        faults = [_runtime_fault(action, verb) for verb in VERBS if fnmatchcase(verb, action.verb)]
        for machine in machines:
            machine.faults.extend(faults)

        async def mend() -> None:
            for machine in machines:
                machine.faults[:] = [fault for fault in machine.faults if fault not in faults]

        await self._undo_later("runtime", action.lasting, mend)

    async def servers(self, action: BadServers) -> None:
        fault = ServerFault(
            server=action.server,
            seconds=action.seconds or 0.0,
            code=action.code,
            hangs=action.seconds is None and action.code is None,
            share=action.share,
        )
        faults = self._cluster.servers.faults
        faults.append(fault)

        async def mend() -> None:
            faults.remove(fault)

        await self._undo_later("servers", action.lasting, mend)

    async def memory_pressure(self, action: Pressure) -> None:
        await self._press("memoryPressure", "memory_in_use", action)

    async def disk_pressure(self, action: Pressure) -> None:
        await self._press("diskPressure", "disk_in_use", action)

    async def _press(self, name: str, field: str, action: Pressure) -> None:
        amount = quantity.value(action.amount)
        machines = [machine for _, machine in _machines(self.chosen(action.nodes))]
        for machine in machines:
            setattr(machine, field, getattr(machine, field) + amount)

        async def relieve() -> None:
            for machine in machines:
                setattr(machine, field, getattr(machine, field) - amount)

        await self._undo_later(name, action.lasting, relieve)

    async def compact(self, action: Compaction) -> None:
        await self._store.compact(max(self._store.revision - action.keep, self._store.compacted))
        for connection in self._cluster.connections.values():
            await connection.break_watches()
        self._touch()

    async def step_clocks(self, action: ClockStep) -> None:
        step = (action.forward or 0.0) - (action.back or 0.0)
        machines = [
            each
            for name, each in self._machines().items()
            if any(fnmatchcase(name, pattern) for pattern in action.machines)
        ]
        for machine in machines:
            machine.ahead = round(machine.ahead + step, 6)

        async def mend() -> None:
            for machine in machines:
                machine.ahead = round(machine.ahead - step, 6)

        await self._undo_later("stepClocks", action.lasting, mend, is_permanent=True)

    def _machines(self) -> Mapping[str, MachineClock]:
        """Return the machines' clocks by the names that scenarios give them."""
        nodes = {f"node/{name}": node.connection.machine for name, node in self._cluster.nodes.items()}
        return {CONTROL_PLANE_MACHINE: self._cluster.machine, **nodes}

    async def end_containers(self, action: EndContainers) -> None:
        for node, machine in _machines(list(self._cluster.nodes.values())):
            for container, labels in machine.containers():
                fits = fnmatchcase(container.name, action.container) and action.pods.items() <= labels.items()
                if fits and container.state is ContainerState.RUNNING and ids.uniform(0, 1) < action.share:
                    with node.connection.machine.in_use():
                        machine.end(container.id, action.exit_code)
        self._touch()

    def chosen(self, choice: NodeChoice) -> Sequence[SimulatedNode]:
        """Return the nodes that a choice means."""
        found = [
            node
            for node in self._cluster.nodes.values()
            if any(fnmatchcase(node.name, pattern) for pattern in choice.names)
            and choice.zone in ("", node.settings.zone)
            and choice.labels.items() <= node.settings.labels.items()
        ]
        return drawn(found, choice.count)

    def _connections(self, parts: Sequence[str]) -> Iterator[Connection]:
        for name, connection in self._cluster.connections.items():
            if any(fnmatchcase(name, pattern) for pattern in parts):
                yield connection

    async def _start_all(self, nodes: Sequence[SimulatedNode]) -> None:
        for node in nodes:
            if self._cluster.nodes.get(node.name) is node:
                await node.start()

    async def _undo_later(
        self, name: str, seconds: float | None, undo: Undo, *, is_permanent: bool = False
    ) -> None:
        """Undo a fault after a time. Without one it lasts for ever, or is how the world is from now on."""
        self._touch()
        if seconds is None:
            if not is_permanent:
                self._active.append(name)
            return
        self._active.append(name)

        async def work() -> None:
            try:
                await clock.sleep(seconds)
                await undo()
            finally:
                self._active.remove(name)
                self._touch()

        self._tasks.start("mend", work)

    def _touch(self) -> None:
        self._last = clock.steady_now()


def drawn(items: Sequence[Any], count: int | None) -> Sequence[Any]:
    """Return the items, or ``count`` of them drawn by the seed, in their order."""
    if count is None or count >= len(items):
        return items
    left = list(range(len(items)))
    picked = sorted(left.pop(ids.below(len(left))) for _ in range(count))
    return [items[number] for number in picked]


def _machines(nodes: Sequence[SimulatedNode]) -> Iterator[tuple[SimulatedNode, SimulatedMachine]]:
    for node in nodes:
        if isinstance(node.runtime, SimulatedMachine):
            yield node, node.runtime


def _error(code: int) -> Exception:
    if code == 0:
        return Unreachable("connection reset by peer")
    reason = "TooManyRequests" if code == 429 else "ServiceUnavailable" if code == 503 else "InternalError"
    return failure(code, reason, "an injected fault")


def _runtime_fault(action: BadRuntime, verb: str) -> Fault:
    is_image = verb.startswith("images.")
    error: Exception | None = None
    if action.error:
        error = ImageFailure(action.error) if is_image else RuntimeFailure(action.error)
    hangs, seconds = action.seconds is None and error is None, action.seconds or 0.0
    if hangs and verb == PULL:
        # The kubelet gives a pull no deadline and pulls one image after the other: the runtime gives up.
        hangs, seconds, error = False, PULL_PROGRESS_SECONDS, ImageFailure(NO_PROGRESS)
    return Fault(
        verb=verb,
        pod="*" if is_image else action.pod,
        container="*" if is_image else action.container,
        seconds=seconds,
        hangs=hangs,
        error=error,
        done=action.carried_out,
    )

"""The actions of scenarios that break something, and the end of what they broke.

Faults are put into the protocols (store, connections, runtimes) and the machines, never into components.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
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
from podling.sim.scenario_actions import (
    BadRequests,
    BadRuntime,
    BadStore,
    Compaction,
    EndContainers,
    NodeChoice,
    OnNodes,
    Outage,
    Partition,
    Pressure,
)
from podling.sim.scenario_tasks import ScenarioTasks
from podling.sim.simulated_cluster import SimulatedCluster
from podling.sim.simulated_machine import SimulatedMachine
from podling.sim.simulated_node import SimulatedNode

Undo = Callable[[], Awaitable[object]]


class FaultActions:
    """Breaks parts of one cluster, and mends them.

    Args:
        tasks: runs what mends something later.
    """

    def __init__(self, cluster: SimulatedCluster, store: FaultyStore, tasks: ScenarioTasks) -> None:
        self._cluster = cluster
        self._store = store
        self._tasks = tasks
        self._active = 0
        self._last: datetime = clock.now()

    def quiet_since(self) -> datetime | None:
        """Return the end of the last fault; None while one lasts."""
        return None if self._active else self._last

    async def crash(self, action: OnNodes) -> None:
        nodes = self.chosen(action.nodes)
        for node in nodes:
            await node.crash()
        await self._undo_later(action.lasting, partial(self._start_all, nodes), is_permanent=True)

    async def boot(self, choice: NodeChoice) -> None:
        await self._start_all(self.chosen(choice))

    async def stop_kubelets(self, action: OnNodes) -> None:
        nodes = self.chosen(action.nodes)
        for node in nodes:
            await node.stop()
        await self._undo_later(action.lasting, partial(self._start_all, nodes), is_permanent=True)

    async def restart_kubelets(self, choice: NodeChoice) -> None:
        for node in self.chosen(choice):
            await node.restart()
        self._touch()

    async def stop_api_server(self, outage: Outage) -> None:
        await self._cluster.stop_server()
        await self._undo_later(outage.lasting, self._cluster.start_server)

    async def stop_control_plane(self, outage: Outage) -> None:
        await self._cluster.stop_control_plane()
        await self._undo_later(outage.lasting, self._cluster.start_control_plane)

    async def partition(self, action: Partition) -> None:
        connections = list(self._connections(action.parts))
        for connection in connections:
            await connection.cut()

        async def mend() -> None:
            for connection in connections:
                connection.mend()

        await self._undo_later(action.lasting, mend)

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

        await self._undo_later(action.lasting, mend)

    async def store(self, action: BadStore) -> None:
        fault = StoreFault(seconds=action.seconds, fails=action.fails, share=action.share)
        self._store.faults.append(fault)

        async def mend() -> None:
            self._store.faults.remove(fault)

        await self._undo_later(action.lasting, mend)

    async def runtime(self, action: BadRuntime) -> None:
        machines = [node.runtime for node in self.chosen(action.nodes)]
        faults = [_runtime_fault(action, verb) for verb in VERBS if fnmatchcase(verb, action.verb)]
        for machine in machines:
            machine.faults.extend(faults)

        async def mend() -> None:
            for machine in machines:
                machine.faults[:] = [fault for fault in machine.faults if fault not in faults]

        await self._undo_later(action.lasting, mend)

    async def memory_pressure(self, action: Pressure) -> None:
        await self._press("memory_in_use", action)

    async def disk_pressure(self, action: Pressure) -> None:
        await self._press("disk_in_use", action)

    async def _press(self, field: str, action: Pressure) -> None:
        amount = quantity.value(action.amount)
        machines = list(_machines(self.chosen(action.nodes)))
        for machine in machines:
            setattr(machine, field, getattr(machine, field) + amount)

        async def relieve() -> None:
            for machine in machines:
                setattr(machine, field, getattr(machine, field) - amount)

        await self._undo_later(action.lasting, relieve)

    async def compact(self, action: Compaction) -> None:
        await self._store.compact(max(self._store.revision - action.keep, self._store.compacted))
        for connection in self._cluster.connections.values():
            await connection.break_watches()
        self._touch()

    async def end_containers(self, action: EndContainers) -> None:
        for machine in _machines(list(self._cluster.nodes.values())):
            for container, labels in machine.containers():
                fits = fnmatchcase(container.name, action.container) and action.pods.items() <= labels.items()
                if fits and container.state is ContainerState.RUNNING and ids.uniform(0, 1) < action.share:
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

    async def _undo_later(self, seconds: float | None, undo: Undo, *, is_permanent: bool = False) -> None:
        """Undo a fault after a time. Without one it lasts for ever, or is how the world is from now on."""
        self._touch()
        if seconds is None:
            self._active += not is_permanent
            return
        self._active += 1

        async def work() -> None:
            try:
                await clock.sleep(seconds)
                await undo()
            finally:
                self._active -= 1
                self._touch()

        self._tasks.start("mend", work)

    def _touch(self) -> None:
        self._last = clock.now()


def drawn(items: Sequence[Any], count: int | None) -> Sequence[Any]:
    """Return the items, or ``count`` of them drawn by the seed, in their order."""
    if count is None or count >= len(items):
        return items
    left = list(range(len(items)))
    picked = sorted(left.pop(ids.below(len(left))) for _ in range(count))
    return [items[number] for number in picked]


def _machines(nodes: Sequence[SimulatedNode]) -> Iterator[SimulatedMachine]:
    for node in nodes:
        if isinstance(node.runtime, SimulatedMachine):
            yield node.runtime


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
    return Fault(
        verb=verb,
        pod="*" if is_image else action.pod,
        container="*" if is_image else action.container,
        seconds=action.seconds or 0.0,
        hangs=action.seconds is None and error is None,
        error=error,
        done=action.carried_out,
    )

"""A kubelet beside an API server in memory, over the simulated runtime, for the kubelet's tests."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Event, Pod, PodCondition
from podling.client.events import EventRecorder
from podling.client.requests import User
from podling.kubelet.config import KubeletConfig
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.kubelet import Kubelet
from podling.kubelet.node_controllers import NodeControllerFactory
from podling.kubelet.topology.machine_topology import MachineTopology
from podling.kubelet.volumes.mounting import unmount
from podling.machinery.errors import is_not_found
from podling.node.static_pods import complete_static_pod
from podling.runtime.sim import Scenario, SimRuntime
from podling.testing import ControlPlane
from tests.support.simulated_logind import SimulatedLogind

NODE = "node-1"


def pod(
    name: str = "web",
    *,
    script: Mapping[str, Any] | None = None,
    scripts: Mapping[str, Mapping[str, Any]] | None = None,
    containers: list[dict[str, Any]] | None = None,
    **spec: Any,
) -> Pod:
    """Return a pod bound to the node. ``script`` is for its container ``app``; ``scripts``: by name."""
    lives = dict(scripts or {}) | ({"app": script} if script is not None else {})
    plain = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {f"sim.podling.dev/{c}": json.dumps(life) for c, life in lives.items()},
        },
        "spec": {
            "nodeName": NODE,
            "automountServiceAccountToken": False,
            "containers": containers or [{"name": "app", "image": "app:1"}],
            **spec,
        },
    }
    return msgspec.convert(plain, Pod)


class Faults(logging.Handler):
    """A log handler that collects the kubelet's errors: its own faults, which it would survive."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


class SimNode:
    """One simulated node. The runtime is its machine, and outlives kubelets that are stopped and started."""

    def __init__(
        self,
        plane: ControlPlane,
        runtime: SimRuntime,
        config: KubeletConfig,
        root: Path,
        topology: MachineTopology | None = None,
        logind: SimulatedLogind | None = None,
        node_controllers: Mapping[str, NodeControllerFactory] | None = None,
    ) -> None:
        self.plane = plane
        self.client = plane.client
        self.runtime = runtime
        # The kubelet has only a node's rights; the test itself is an administrator.
        own = plane.client_for(User(f"system:node:{NODE}", ("system:nodes", "system:authenticated")))
        self.recorder = EventRecorder(own, "kubelet", NODE)
        self.deps = KubeletDeps(
            own, self.runtime, self.recorder, root, NODE, config, complete_static_pod, topology
        )
        if logind is not None:
            self.deps = structs.replace(self.deps, connect_logind=logind.connect)
        self.deps = structs.replace(self.deps, node_controllers=node_controllers or {})
        self.kubelet = Kubelet(self.deps)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self.kubelet.run())
        waiting = asyncio.create_task(self.kubelet.ready.wait())
        await asyncio.wait([self._task, waiting], return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            await self._task

    async def stop(self) -> None:
        """Stop the kubelet; its containers run on."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def restart(self) -> None:
        await self.stop()
        self.kubelet = Kubelet(self.deps)
        await self.start()

    async def pass_time(self, seconds: float) -> None:
        """Let time pass; a kubelet that broke meanwhile fails the test."""
        await clock.sleep(seconds)
        if self._task is not None and self._task.done():
            await self._task

    async def create(self, obj: Pod) -> Pod:
        return await self.client.create(obj)

    async def get(self, name: str = "web") -> Pod:
        return await self.client.get(Pod, name, "default")

    async def exists(self, name: str = "web") -> bool:
        try:
            await self.get(name)
        except Exception as error:
            if not is_not_found(error):
                raise
            return False
        return True

    async def delete(self, name: str = "web", grace_seconds: int | None = None) -> None:
        await self.client.delete(Pod, name, "default", grace_seconds=grace_seconds)

    async def events(self, name: str = "web") -> list[str]:
        """Return the pod's events as ``Reason: message``, sorted: many have the same time."""
        listing = await self.client.list(Event, "default")
        found = [event for event in listing.items if event.involved_object.name == name]
        found.sort(key=lambda event: (event.reason or "", event.message or ""))
        return [f"{event.reason}: {event.message}" for event in found]

    async def change_condition(self, name: str, condition: PodCondition) -> None:
        """Set a condition that another component owns, as that component would."""
        found = await self.get(name)
        others = tuple(held for held in found.status.conditions if held.type != condition.type)
        status = structs.replace(found.status, conditions=(*others, condition))
        await self.client.update(structs.replace(found, status=status), subresource="status")


def condition(of: Pod, type_: str) -> str:
    """Return a condition's status with its reason, if it has one: ``False ContainersNotReady``."""
    found = next((held for held in of.status.conditions if held.type == type_), None)
    if found is None:
        return "absent"
    return f"{found.status} {found.reason}" if found.reason else found.status


def unmount_volumes(root: Path) -> None:
    """Unmount the volumes in memory that pods of the node below ``root`` have left."""
    for path in root.glob("pods/*/volumes/*/*"):
        unmount(path)


@asynccontextmanager
async def sim_node(
    plane: ControlPlane,
    root: Path,
    scenario: Scenario | None = None,
    config: KubeletConfig | None = None,
    runtime: SimRuntime | None = None,
    topology: MachineTopology | None = None,
    logind: SimulatedLogind | None = None,
    node_controllers: Mapping[str, NodeControllerFactory] | None = None,
) -> AsyncIterator[SimNode]:
    """Run a Ready node until the block ends. ``runtime`` is its machine, if not one of ``scenario``."""
    chosen = config or KubeletConfig(
        node_addresses=("192.168.0.10",),
        capacity={"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi"},
        cluster_dns=("10.96.0.10",),
        write_files=False,
    )
    node = SimNode(plane, runtime or SimRuntime(scenario), chosen, root, topology, logind, node_controllers)
    events = asyncio.create_task(node.recorder.run())
    faults = Faults()
    logging.getLogger("podling.kubelet").addHandler(faults)
    await node.runtime.start()
    await node.start()
    try:
        yield node
        assert not faults.records, faults.format(faults.records[0])
    finally:
        logging.getLogger("podling.kubelet").removeHandler(faults)
        await node.stop()
        events.cancel()
        await asyncio.gather(events, return_exceptions=True)
        await node.runtime.close()

"""A kubelet over real containers beside an API server in memory, with any settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.events import EventRecorder
from podling.client.requests import User
from podling.extensions.extension import Extension
from podling.kubelet.config import KubeletConfig
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.kubelet import Kubelet
from podling.kubelet.topology.machine_topology import MachineTopology
from podling.node.static_pods import complete_static_pod
from podling.runtime.oci import detect
from podling.testing import ControlPlane, memory_cluster
from tests.support import oci_node
from tests.support.kubelet_node import unmount_volumes
from tests.support.oci_node import Said

NODE = "node-1"
DEADLINE_SECONDS = 30.0


class RealNode:
    """One node whose pods are real containers. Its kubelet can be restarted with other settings."""

    def __init__(
        self,
        plane: ControlPlane,
        machine: oci_node.Node,
        config: KubeletConfig,
        topology: MachineTopology | None,
        extensions: Sequence[Extension] = (),
    ) -> None:
        own = plane.client_for(User(f"system:node:{NODE}", ("system:nodes", "system:authenticated")))
        self.plane = plane
        self.client = plane.client
        self.machine = machine
        self.recorder = EventRecorder(own, "kubelet", NODE)
        root = machine.root / "kubelet"
        self.deps = KubeletDeps(
            own, machine.runtime, self.recorder, root, NODE, config, complete_static_pod, topology
        )
        added = {name: make for each in extensions for name, make in each.node_controllers().items()}
        self.deps = replace(self.deps, node_controllers=added)
        self.kubelet = Kubelet(self.deps)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        kubelet = self.kubelet = Kubelet(self.deps)
        self._tasks = [asyncio.create_task(self.recorder.run()), asyncio.create_task(kubelet.run())]
        async with asyncio.timeout(DEADLINE_SECONDS):
            await kubelet.ready.wait()

    async def stop(self) -> None:
        """Stop the kubelet; containers run on."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def run(self, name: str, *containers: dict[str, Any], **spec: Any) -> Pod:
        """Create a pod of busybox containers that sleep, and wait until it runs or has failed."""
        await self.create(name, *containers, **spec)
        return await self.phase(name, "Running", "Failed")

    async def create(self, name: str, *containers: dict[str, Any], **spec: Any) -> None:
        """Create a pod of busybox containers that sleep, unless they have commands of their own."""
        plain = [
            {"image": self.machine.image, "imagePullPolicy": "Never", "command": list(oci_node.SLEEP), **each}
            for each in containers
        ]
        fields = {"nodeName": NODE, "automountServiceAccountToken": False, "containers": plain, **spec}
        metadata = {"name": name, "namespace": "default"}
        await self.client.create(msgspec.convert({"metadata": metadata, "spec": fields}, Pod))

    async def phase(self, name: str, *phases: str) -> Pod:
        """Wait until a pod is in one of the phases, and return it."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while (found := await self.client.get(Pod, name, "default")).status.phase not in phases:
                await clock.sleep(0.05)
        return found

    async def exec(self, pod: Pod, container: str, *command: str) -> Said:
        """Run a command in a container of a running pod."""
        statuses = {each.name: each.container_id or "" for each in pod.status.container_statuses}
        return await self.machine.exec(statuses[container].partition("://")[2], *command)


@asynccontextmanager
async def real_node(
    root: Path,
    config: KubeletConfig,
    topology: MachineTopology | None = None,
    extensions: Sequence[Extension] = (),
    choice: detect.Choice | None = None,
) -> AsyncIterator[RealNode]:
    """Run a Ready node; take down all its pods at the end. ``choice``: its OCI runtime."""
    async with memory_cluster(extensions=extensions) as plane, oci_node.node(root, choice) as machine:
        own = replace(config, cgroup_root=f"/podling-{machine.cluster}", node_addresses=("192.0.2.2",))
        node = RealNode(plane, machine, own, topology, extensions)
        try:
            await node.start()
            yield node
        finally:
            await node.stop()
            unmount_volumes(root / "kubelet")

"""A real container runtime of the test's own, with helpers for tests; it removes all its traces.

``Node.again()`` is a new instance over the same directories, as after a restart. ``traces`` lists all remains
of a node on the machine, so that tests can assert that nothing leaks.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podling import ids
from podling.network.names import Names
from podling.network.pod_network import BridgeNetwork
from podling.runtime.base import Container, ContainerSpec, Sandbox, SandboxSpec, Streams
from podling.runtime.images.store import ImageStore
from podling.runtime.oci import detect
from podling.runtime.oci.cgroups import Cgroups
from podling.runtime.oci.runtime import OciRuntime
from tests.support.images import busybox_archive
from tests.support.runtimes import exited

DEADLINE_SECONDS = 30.0
SLEEP = ("sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait")


def missing() -> str:
    """Return why real containers cannot run here; empty when they can."""
    if os.geteuid() != 0:
        return "needs root"
    if not shutil.which("busybox"):
        return "needs busybox-static"
    return (
        "; ".join(detect.choose(detect.gather()).why) if detect.choose(detect.gather()).engine is None else ""
    )


@dataclass
class Said:
    """A command's output and exit code."""

    code: int
    out: str
    err: str


class Node:
    """One runtime with its network, in directories and under a cluster id of its own."""

    def __init__(
        self, root: Path, *, cluster: str = "", choice: detect.Choice | None = None, **network: Any
    ) -> None:
        self.root = root
        self._network_options = network
        self.cluster = cluster or f"test-{ids.suffix(8)}"
        self.state = Path("/run") / f"podling-{self.cluster}"
        self._choice = choice
        self.network = BridgeNetwork(root / "network", self.cluster, **network)
        self.runtime = OciRuntime(
            root / "oci",
            self.state,
            ImageStore(root / "images"),
            self.network,
            cluster_id=self.cluster,
            choice=choice,
        )
        self.image = ""

    def again(self, **network: Any) -> Node:
        """Return a new instance over the same directories, as after a restart; ``network`` are other options
        of its network."""
        options = network or self._network_options
        other = Node(self.root, cluster=self.cluster, choice=self._choice, **options)
        other.image = self.image
        return other

    async def start(self) -> None:
        await self.runtime.start()
        if not self.image:
            archive = busybox_archive(self.root / "busybox.tar")
            (image,) = await self.runtime.images.load(archive)
            self.image = image.id

    async def remove(self) -> None:
        """Take everything down, and close what this process has open: a machine has few inotify instances."""
        try:
            for sandbox in await self.runtime.list_sandboxes():
                await self.runtime.remove_sandbox(sandbox.id)
            await self.runtime.remove()
            await self.network.remove()
        finally:
            await self.runtime.close()

    async def pod(self, **wish: Any) -> Sandbox:
        uid = ids.uid()
        spec = {
            "pod_uid": uid,
            "pod_name": "pod",
            "pod_namespace": "default",
            "log_directory": self.root / "logs" / uid,
            **wish,
        }
        return await self.runtime.run_sandbox(SandboxSpec(**spec))

    async def create(self, sandbox: Sandbox, *command: str, **wish: Any) -> str:
        name = wish.get("name", "main")
        spec = {
            "name": name,
            "image": self.image,
            "command": command or SLEEP,
            "log_path": self.root / "logs" / sandbox.pod_uid / f"{name}-{ids.suffix()}.log",
            **wish,
        }
        return await self.runtime.create_container(sandbox.id, ContainerSpec(**spec))

    async def run(self, sandbox: Sandbox, *command: str, **wish: Any) -> str:
        """Start a container; returns its id."""
        container = await self.create(sandbox, *command, **wish)
        await self.runtime.start_container(container)
        return container

    async def ended(self, container: str) -> Container:
        """Wait for the container's exit and return its status."""
        return await exited(self.runtime, container)

    async def finish(self, sandbox: Sandbox, *command: str, **wish: Any) -> tuple[Container, str]:
        """Run a command as a container to its end; return the container and its output."""
        container = await self.ended(await self.run(sandbox, *command, **wish))
        return container, said_in(container)

    async def exec(self, container: str, *command: str, timeout: float = DEADLINE_SECONDS) -> Said:
        out, err = bytearray(), bytearray()

        async def to_out(chunk: bytes) -> None:
            out.extend(chunk)

        async def to_err(chunk: bytes) -> None:
            err.extend(chunk)

        streams = Streams(stdout=to_out, stderr=to_err)
        code = await self.runtime.exec(container, command, streams, timeout=timeout)
        return Said(code, out.decode(), err.decode())

    def traces(self) -> list[str]:
        """Return all remains of this node's pods on the machine."""
        found = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        found = [point for point in found if point.startswith((f"{self.state}/", f"{self.root}/"))]
        found = [point for point in found if not point.startswith(f"{self.state}/host-files/")]
        for directory in ("containers", "sandboxes", "engine", "exits"):
            place = self.state / directory
            found += [str(path) for path in place.iterdir()] if place.exists() else []
        for directory in ("containers", "sandboxes"):
            found += [str(path) for path in (self.root / "oci" / directory).iterdir()]
        cgroups = Cgroups(detect.cgroup_mode())
        found += [
            str(place) for top in cgroups.hierarchies() if (place := top / f"podling-{self.cluster}").exists()
        ]
        bridge = Path("/sys/class/net") / Names.of(self.cluster).bridge / "brif"
        found += [str(port) for port in bridge.iterdir()] if bridge.exists() else []
        found += [str(lease) for lease in (self.root / "network/leases").iterdir()]
        return found


@asynccontextmanager
async def node(root: Path, choice: detect.Choice | None = None, **network: Any) -> AsyncIterator[Node]:
    """Run a node; take it down at the end in any case. ``network``: options of its network."""
    one = Node(root, choice=choice, **network)
    try:
        await one.start()
        yield one
    finally:
        await one.runtime.close()
        last = one.again()
        await last.runtime.start()
        await last.remove()


def said_in(container: Container) -> str:
    """Return a container's log, without times and streams."""
    lines = Path(container.log_path).read_text().splitlines()
    return "\n".join(line.split(" ", 3)[3] for line in lines)


def own_address() -> str:
    """Return the address of this machine's default route, or loopback without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.254", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])

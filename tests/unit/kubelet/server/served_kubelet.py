"""A kubelet's server with one simulated pod, and clients with different certificates."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from podling.api.core_v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth.pki import KeyPair
from podling.kubelet.kubelet_metrics import KubeletMetrics
from podling.kubelet.probes.prober import ProbeLabels
from podling.kubelet.server.server import KubeletServer
from podling.runtime.base import ContainerEvent, ContainerSpec, Runtime, SandboxSpec
from podling.runtime.sim import ContainerScript, ExecScript, LogScript, PortScript, SimRuntime
from podling.runtime.sim.script import ANNOTATION_PREFIX, annotation

SCRIPT = ContainerScript(
    logs=(LogScript(text="first"), LogScript(text="second"), LogScript(text="late", after=0.3)),
    exec=(
        ExecScript(command="cat", echo=True),
        ExecScript(command="sh -c exit 3", exit_code=3, stdout="out", stderr="err"),
    ),
    ports=(PortScript(port=80, reply="welcome", echo=True),),
)


@dataclass
class OnePod:
    """A kubelet's pods: one, with a running and a waiting container."""

    runtime: Runtime
    pod: Pod
    container: str
    sandbox: str

    def get_pod(self, namespace: str, name: str) -> Pod | None:
        return self.pod if (namespace, name) == ("default", "web") else None

    def pods(self) -> tuple[Pod, ...]:
        return (self.pod,)

    def container_id(self, pod: Pod, container_name: str, previous: bool = False) -> str | None:
        return self.container if (container_name, previous) == ("app", False) else None

    def sandbox_id(self, pod: Pod) -> str | None:
        return self.sandbox

    def log_path(self, pod: Pod, container_name: str, previous: bool = False) -> Path | None:
        return None

    def probe_counts(self) -> Mapping[ProbeLabels, int]:
        return {}

    def volume_paths(self, pod: Pod) -> Mapping[str, Path]:
        return {}

    @property
    def root_dir(self) -> Path:
        return Path("/")

    @property
    def metrics(self) -> KubeletMetrics:
        return KubeletMetrics()


class Watched(SimRuntime):
    """A runtime that notices when the reader of its events has left."""

    def __init__(self) -> None:
        super().__init__()
        self.reader_left = asyncio.Event()

    async def events(self) -> AsyncIterator[ContainerEvent]:
        try:
            async for event in super().events():
                yield event
        finally:
            self.reader_left.set()


async def one_pod() -> OnePod:
    runtime = Watched()
    sandbox = await runtime.run_sandbox(
        SandboxSpec(pod_uid="uid-1", pod_name="web", pod_namespace="default", log_directory=Path("/logs"))
    )
    image = await runtime.images.pull("app")
    scripted = {ANNOTATION_PREFIX + "app": annotation(SCRIPT)}
    container = await runtime.create_container(
        sandbox.id,
        ContainerSpec(name="app", image=image.id, log_path=Path("/logs/0.log"), annotations=scripted),
    )
    await runtime.start_container(container)
    running = ContainerState(running=ContainerStateRunning())
    waiting = ContainerState(waiting=ContainerStateWaiting(reason="ContainerCreating"))
    status = PodStatus(
        container_statuses=(
            ContainerStatus(name="app", state=running, container_id=f"sim://{container}"),
            ContainerStatus(name="side", state=waiting),
        )
    )
    pod = Pod(
        metadata=ObjectMeta(name="web", namespace="default", uid="uid-1"),
        spec=PodSpec(containers=(Container(name="app"), Container(name="side"))),
        status=status,
    )
    return OnePod(runtime, pod, container, sandbox.id)


class Client:
    """A client with one certificate, or none."""

    def __init__(self, port: int, ca: Path, certificate: KeyPair | None) -> None:
        self.context = ssl.create_default_context(cafile=str(ca))
        if certificate is not None:
            self.context.load_cert_chain(certificate.certificate, certificate.key)
        self.url = f"https://127.0.0.1:{port}"
        self.session = aiohttp.ClientSession(self.url, connector=aiohttp.TCPConnector(ssl=self.context))

    async def get(self, path: str) -> tuple[int, str]:
        async with self.session.get(path) as response:
            return response.status, await response.text()

    async def socket(self, path: str, *protocols: str) -> aiohttp.ClientWebSocketResponse:
        return await self.session.ws_connect(path, protocols=protocols)


@dataclass
class Served:
    """A listening server, and clients of it by their certificates."""

    api_server: Client
    node: Client
    nobody: Client
    source: OnePod
    server: KubeletServer
    logs: Path
    """The directory of the machine's logs."""

"""Runs a test of a client three times: in process on virtual time, over TLS, and over a Unix socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from podling.api.core_v1 import ConfigMap, Container, Pod, PodSpec
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.app import HttpServer, Serving
from podling.apiserver.auth.authn import Authenticator
from podling.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from podling.apiserver.auth.pki import Pki
from podling.apiserver.auth.tokens import Tokens
from podling.apiserver.socket.server import SocketServer
from podling.client.base import Client, WatchEvent, WatchEventType
from podling.client.component_reports import ComponentReports
from podling.client.http import HttpClient
from podling.client.local import LocalClient
from podling.client.socket_backend import SocketBackend
from podling.testing import ControlPlane, memory_cluster

Story = Callable[[ControlPlane, Client], Awaitable[None]]
Play = Callable[[Story], None]

DEADLINE_SECONDS = 20


async def in_process(story: Story) -> None:
    async with memory_cluster() as cluster:
        await story(cluster, cluster.client)


async def over_tls(story: Story, folder: Path) -> None:
    async with memory_cluster() as cluster, serving(cluster, folder) as (_, client):
        async with asyncio.timeout(DEADLINE_SECONDS):
            await story(cluster, client)


async def over_unix_socket(story: Story, folder: Path) -> None:
    async with memory_cluster() as cluster, socket_backend(cluster, folder) as (_, backend):
        async with asyncio.timeout(DEADLINE_SECONDS):
            await story(cluster, LocalClient(backend))


@asynccontextmanager
async def socket_backend(
    cluster: ControlPlane, folder: Path, reports: ComponentReports | None = None
) -> AsyncIterator[tuple[SocketServer, SocketBackend]]:
    """The cluster's API server on a Unix socket, and a backend that is connected to it."""
    server = SocketServer(cluster.server, folder / "api.sock")
    await server.start()
    try:
        async with SocketBackend(server.path, reports) as backend:
            await backend.connected()
            yield server, backend
    finally:
        await server.stop()


@asynccontextmanager
async def serving(cluster: ControlPlane, folder: Path) -> AsyncIterator[tuple[HttpServer, HttpClient]]:
    """The cluster's API server on a real socket, and a client with an administrator's kubeconfig."""
    pki = Pki(folder / "pki")
    authenticator = Authenticator(Tokens(cluster.server.objects))
    certificate = pki.server("test", ["127.0.0.1"])
    listening = Serving(port=0, certificate=certificate, client_ca=pki.ca)
    server = HttpServer(cluster.server, authenticator, listening)
    await server.start()
    url = f"https://127.0.0.1:{server.port}"
    path = folder / "kubeconfig"
    write_kubeconfig(path, kubeconfig(url, pki.ca_pem, pki.admin(), user="admin", name="test"))
    client = HttpClient.from_kubeconfig(path)
    try:
        yield server, client
    finally:
        await client.close()
        await server.stop()


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels={"app": name}), data=data)


def pod(name: str) -> Pod:
    spec = PodSpec(
        containers=(Container(name="main", image="busybox"),), automount_service_account_token=False
    )
    return Pod(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)


async def take(stream: AsyncIterator[WatchEvent[ConfigMap]], count: int) -> list[tuple[str, str]]:
    seen: list[tuple[str, str]] = []
    async for event in stream:
        if event.type is not WatchEventType.BOOKMARK:
            seen.append((event.type.value, event.object.metadata.name or ""))
        if len(seen) == count:
            break
    return seen

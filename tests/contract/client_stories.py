"""Runs a test of a client in process on virtual time, over TLS, by an API worker, and over a Unix socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from podling.api.core_v1 import ConfigMap, Container, Pod, PodSpec
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.app import HttpServer
from podling.apiserver.auth.authn import Authenticator
from podling.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from podling.apiserver.auth.pki import Pki
from podling.apiserver.auth.tokens import Tokens
from podling.apiserver.serving import Serving
from podling.apiserver.socket import store_stream
from podling.apiserver.socket.server import SocketServer
from podling.apiserver.workers.inside import InsideServer
from podling.apiserver.workers.reading_server import ReadingApiServer
from podling.apiserver.workers.worker import ApiWorker, WriterPlaces
from podling.client.base import Client, WatchEvent, WatchEventType
from podling.client.component_reports import ComponentReports
from podling.client.http import HttpClient
from podling.client.local import LocalClient
from podling.client.socket_backend import SocketBackend
from podling.store.shared_revision import SharedRevision
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


async def by_a_worker(story: Story, folder: Path) -> None:
    """Run a story over TLS with a server that reads from a replica and passes writes on."""
    async with (
        memory_cluster() as cluster,
        worker_places(cluster, folder) as places,
        worker_serving(places, folder) as client,
    ):
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


@asynccontextmanager
async def worker_places(cluster: ControlPlane, folder: Path) -> AsyncIterator[WriterPlaces]:
    """The sockets and the revision that workers of the cluster's API server need."""
    places = WriterPlaces(folder / "api.sock", folder / "inside.sock", folder / "revision")
    shared = SharedRevision(places.revision)
    cluster.store.publish_revision(shared.publish)
    http = HttpServer(cluster.server, cluster.server.authenticator, Serving())
    patch = pytest.MonkeyPatch()
    patch.setattr(store_stream, "BEAT_SECONDS", 0.001)
    servers = SocketServer(cluster.server, places.socket), InsideServer(http, places.inside)
    for server in servers:
        await server.start()
    try:
        yield places
    finally:
        for server in servers:
            await server.stop()
        shared.close()
        patch.undo()


@asynccontextmanager
async def worker_serving(places: WriterPlaces, folder: Path) -> AsyncIterator[HttpClient]:
    """A worker on a real socket, and a client with an administrator's kubeconfig."""
    pki = Pki(folder / "pki")
    worker = ApiWorker("api-worker-1", places, lambda replica: ReadingApiServer(replica, ()))
    certificate = pki.server("test", ["127.0.0.1"])
    server = await worker.start(lambda api: Serving(port=0, certificate=certificate, client_ca=pki.ca))
    url, path = f"https://127.0.0.1:{server.port}", folder / "kubeconfig"
    write_kubeconfig(path, kubeconfig(url, pki.ca_pem, pki.admin(), user="admin", name="test"))
    client = HttpClient.from_kubeconfig(path)
    try:
        yield client
    finally:
        await client.close()
        await worker.stop()


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

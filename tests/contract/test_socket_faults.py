"""The Unix socket when something fails: servers that end, clients that do not read, malformed frames."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import msgspec
import pytest

from podling import clock
from podling.api.core_v1 import ConfigMap, Pod
from podling.api.meta_v1 import ObjectMeta, Status
from podling.api.policy_v1 import Eviction
from podling.apiserver.registry.registry import Handler
from podling.apiserver.socket import session
from podling.apiserver.socket.server import SocketServer
from podling.client import messages, unix_sockets
from podling.client.base import Key, Unreachable
from podling.client.frames import FRAME_BYTES_MAX
from podling.client.informer import Informer
from podling.client.local import LocalClient
from podling.client.requests import SYSTEM, ListOptions, Target, User
from podling.client.socket_backend import SocketBackend
from podling.client.socket_watch import WINDOW_BYTES, SocketWatch
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane, memory_cluster
from tests.contract.client_stories import DEADLINE_SECONDS, config_map, pod, socket_backend

pytestmark = pytest.mark.asyncio(loop_factories=["real", "uvloop"])


@pytest.fixture
async def cluster() -> AsyncIterator[ControlPlane]:
    async with memory_cluster() as running:
        yield running


def frame(message: object) -> bytes:
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(4, "big") + body


HELLO = frame(messages.Hello(messages.VERSION, "raw", 1))


async def raw_connection(server: SocketServer) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_unix_connection(server.path)


async def until_unreachable(client: LocalClient) -> None:
    with contextlib.suppress(Unreachable):
        while True:
            await client.get(ConfigMap, "a", "default")


def cut(server: SocketServer) -> None:
    """End every connection as the death of the server's process would."""
    for connection in tuple(server._connections):
        assert connection._transport is not None
        connection._transport.abort()


async def test_requests_that_a_server_takes_along_are_unreachable(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    stuck = asyncio.Event()

    async def wait(_: bytes) -> bytes:
        stuck.set()
        await asyncio.Event().wait()
        return b""

    async with socket_backend(cluster, tmp_path) as (server, backend):
        server.extras = {"wait": wait}
        start = (await LocalClient(backend).list(ConfigMap)).resource_version
        watch = LocalClient(backend).watch(ConfigMap, resource_version=start)
        waiting = asyncio.create_task(backend.extra("wait"))
        event = asyncio.ensure_future(anext(watch))
        await stuck.wait()
        cut(server)
        for lost in (waiting, event):
            with pytest.raises(Unreachable, match=r"the server has closed the connection|reset"):
                await lost
        with pytest.raises(Unreachable):
            await backend.extra("wait")
        await backend.connected()
        assert (await LocalClient(backend).list(ConfigMap)).resource_version == start


async def test_requests_without_a_server_are_unreachable(tmp_path: Path) -> None:
    async with SocketBackend(tmp_path / "api.sock") as backend:
        client = LocalClient(backend)
        with pytest.raises(Unreachable, match=r"api\.sock"):
            await client.get(ConfigMap, "a", "default")
        with pytest.raises(Unreachable):
            await client.list(ConfigMap)
        with pytest.raises(Unreachable):
            await client.create(config_map("a"))
        watch = client.watch(ConfigMap, resource_version="1")
        with pytest.raises(Unreachable):
            await anext(watch)


@pytest.mark.asyncio(loop_factories=["uvloop"])  # it waits for a back-off
async def test_informer_lists_again_when_its_server_is_back(cluster: ControlPlane, tmp_path: Path) -> None:
    async with socket_backend(cluster, tmp_path) as (server, backend):
        client = LocalClient(backend)
        informer = Informer(client, ConfigMap, "default")
        task = asyncio.create_task(informer.run())
        await informer.synced()
        await server.stop()
        await until_unreachable(client)
        await cluster.client.create(config_map("while-down"))
        await cluster.client.create(config_map("compacted"))
        await cluster.store.compact(cluster.store.revision)
        again = SocketServer(cluster.server, server.path)
        await again.start()
        await backend.connected()
        while informer.get(Key("default", "compacted")) is None:
            await clock.sleep(0.01)
        assert informer.get(Key("default", "while-down")) is not None
        await cluster.client.delete(ConfigMap, "compacted", "default")
        while informer.get(Key("default", "compacted")) is not None:
            await clock.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await backend.close()
        await again.stop()


async def test_watch_ends_in_order_when_the_server_stops(cluster: ControlPlane, tmp_path: Path) -> None:
    async with socket_backend(cluster, tmp_path) as (server, backend):
        client = LocalClient(backend)
        start = (await client.list(ConfigMap)).resource_version
        watch = client.watch(ConfigMap, resource_version=start)
        await client.create(config_map("a"))
        assert (await anext(watch)).object.metadata.name == "a"
        await server.stop()
        assert [event async for event in watch] == []


async def test_a_thousand_watches_get_every_event(cluster: ControlPlane, tmp_path: Path) -> None:
    async with socket_backend(cluster, tmp_path) as (server, backend):
        client = LocalClient(backend)
        start = (await client.list(ConfigMap)).resource_version
        names = [f"m{number}" for number in range(20)]

        async def follow() -> list[str]:
            seen: list[str] = []
            async for event in client.watch(ConfigMap, "default", resource_version=start):
                seen.append(event.object.metadata.name or "")
                if len(seen) == len(names):
                    return seen
            return seen

        watches = [asyncio.create_task(follow()) for _ in range(1000)]
        for name in names:
            await client.create(config_map(name))
        assert all(seen == names for seen in await asyncio.gather(*watches))
        await until_idle(server)


async def until_idle(server: SocketServer) -> None:
    """Wait until no request and no watch of a client is left."""
    sessions = [connection._session for connection in server._connections]
    while any(each._streams or each._requests for each in sessions):
        await clock.sleep(0.001)


async def test_ten_thousand_requests_under_way_are_answered(cluster: ControlPlane, tmp_path: Path) -> None:
    most = 0

    async def slow(body: bytes) -> bytes:
        nonlocal most
        (connection,) = server._connections
        most = max(most, len(connection._session._requests))
        await clock.sleep(0)
        return body

    async with socket_backend(cluster, tmp_path) as (server, backend):
        server.extras = {"slow": slow}
        calls = (backend.extra("slow", str(number).encode()) for number in range(10_000))
        assert [int(body) for body in await asyncio.gather(*calls)] == list(range(10_000))
        assert 1 < most <= session.REQUESTS_MAX


async def test_cancelled_request_is_cancelled_at_the_server(cluster: ControlPlane, tmp_path: Path) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait(_: bytes) -> bytes:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return b""

    async with socket_backend(cluster, tmp_path) as (server, backend):
        server.extras = {"wait": wait}
        task = asyncio.create_task(backend.extra("wait"))
        await begun.wait()
        task.cancel()
        await ended.wait()
        await until_idle(server)
        begun.clear()
        ended.clear()
        lost = asyncio.create_task(backend.extra("wait"))
        await begun.wait()
        cut(server)  # a client that is gone is no longer worked for
        await ended.wait()
        with pytest.raises(Unreachable):
            await lost


async def test_write_of_several_steps_outlives_its_client(cluster: ControlPlane, tmp_path: Path) -> None:
    begun, proceed, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def evict(*_: object) -> object:
        begun.set()
        await proceed.wait()
        ended.set()
        return Status(status="Success")

    async with socket_backend(cluster, tmp_path) as (server, backend):
        await cluster.client.create(pod("p"))
        handler = cast(Handler, evict)
        cluster.backend.serve({("", "pods", "eviction"): handler})
        body = Eviction(metadata=ObjectMeta(name="p", namespace="default"))
        call = LocalClient(backend).create_subresource(Pod, "p", "eviction", body, "default")
        task = asyncio.create_task(call)
        await begun.wait()
        task.cancel()
        cut(server)
        proceed.set()
        await ended.wait()


async def slow_watch(backend: SocketBackend) -> SocketWatch:
    """Open a watch of ConfigMaps; none of its events has been taken."""
    start = (await LocalClient(backend).list(ConfigMap)).resource_version
    target = Target(resource_of(ConfigMap), "default")
    watch = backend.watch(target, SYSTEM, ListOptions(resource_version=start))
    assert isinstance(watch, SocketWatch)
    return watch


def received_bytes(watch: SocketWatch) -> int:
    """Return the size of the events that wait for the reader of a watch."""
    assert watch._stream is not None
    return sum(len(data) for part in watch._stream._parts for data in part.objects)


async def test_slow_reader_holds_a_bounded_number_of_bytes(cluster: ControlPlane, tmp_path: Path) -> None:
    async with socket_backend(cluster, tmp_path) as (_, backend):
        client, slow = LocalClient(backend), await slow_watch(backend)
        for number in range(100):
            await client.create(config_map(f"m{number}", text="x" * 100_000))
        assert 1_000_000 < received_bytes(slow) < 2_000_000
        seen = [(await anext(slow)).object.metadata.name for _ in range(100)]
        assert seen == [f"m{number}" for number in range(100)], "the others come later"


async def test_reader_that_is_too_slow_is_cut_off(cluster: ControlPlane, tmp_path: Path) -> None:
    async with socket_backend(cluster, tmp_path) as (_, backend):
        slow = await slow_watch(backend)
        for number in range(3):
            await cluster.client.create(config_map(f"m{number}", text="x" * 1_000_000))
        while received_bytes(slow) < WINDOW_BYTES:
            await clock.sleep(0.001)
        for number in range(3, 50):
            await cluster.client.create(config_map(f"m{number}", text="x" * 1_000_000))
        seen = [event.object.metadata.name async for event in slow]
        assert seen == [f"m{number}" for number in range(len(seen))]
        assert 2 <= len(seen) < 10


async def test_client_that_never_reads_is_not_served_on(cluster: ControlPlane, tmp_path: Path) -> None:
    await cluster.client.create(config_map("big", text="x" * 100_000))
    async with socket_backend(cluster, tmp_path) as (server, _):
        _, writer = await raw_connection(server)
        writer.write(HELLO)
        user = messages.encode_user(User("root", ("system:masters",)))
        place = ("", "v1", "configmaps")
        for number in range(500):
            request = messages.Get(number, place, "default", "big", "", False, user)
            writer.write(frame(request))
        while len(server._connections) < 2:
            await clock.sleep(0.001)
        connection = list(server._connections)[-1]
        while connection.is_writable:
            await clock.sleep(0.001)
        assert connection._transport is not None
        assert connection._transport.get_write_buffer_size() < 4_000_000
        assert not connection._is_reading
        connection._cut_off()
        while connection in server._connections:
            await clock.sleep(0.001)
        writer.close()


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (HELLO + b"\x00\x00\x00\x03abc", "Expected"),
        (HELLO + (FRAME_BYTES_MAX + 1).to_bytes(4, "big"), "is larger than"),
        (b"GET / HTTP/1.1\r\n\r\n", "is larger than"),
        (frame(messages.Cancel(1)), "the first message is no Hello"),
        (HELLO + HELLO, "Hello comes once"),
        (frame(messages.Hello(messages.VERSION + 1, "raw", 1)), "uses version"),
        (HELLO + frame(messages.Get(1, ("", "v1", "pods"), "a", "b", "", False, b"\xc1")), "MessagePack"),
    ],
)
async def test_malformed_messages_close_the_connection(
    cluster: ControlPlane, tmp_path: Path, caplog: pytest.LogCaptureFixture, sent: bytes, why: str
) -> None:
    async with socket_backend(cluster, tmp_path) as (server, backend):
        reader, writer = await raw_connection(server)
        writer.write(sent)
        await reader.read()  # to the end
        writer.close()
        (record,) = (each for each in caplog.records if "closing the connection" in each.getMessage())
        assert record.levelno == logging.WARNING
        assert why in record.getMessage()
        assert (await LocalClient(backend).list(ConfigMap, "default")).items == (), "others are served on"


async def test_client_that_leaves_in_the_middle_of_a_frame_is_forgotten(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    async with socket_backend(cluster, tmp_path) as (server, _):
        before = len(server._connections)
        _, writer = await raw_connection(server)
        writer.write(HELLO + b"\x00\x00\x10\x00half of it")
        await writer.drain()
        while len(server._connections) == before:
            await clock.sleep(0.001)
        writer.close()
        while len(server._connections) > before:
            await clock.sleep(0.001)


async def test_answer_that_is_no_frame_ends_the_connection(tmp_path: Path) -> None:
    served = 0

    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        served += 1
        await reader.readexactly(len(frame(messages.Hello(messages.VERSION, "", os.getpid()))))
        writer.write(frame(messages.Welcome(messages.VERSION)))
        await reader.read(1)
        writer.write(b"\x00\x00\x00\x01\xff")
        await reader.read()
        writer.close()

    listener = unix_sockets.listen(str(tmp_path / "api.sock"))
    server = await asyncio.start_unix_server(garbage, sock=listener)
    async with SocketBackend(tmp_path / "api.sock") as backend, asyncio.timeout(DEADLINE_SECONDS):
        await backend.connected()
        while served < 2:  # the client tries again
            with contextlib.suppress(Unreachable):
                await backend.extra("any")
            await clock.sleep(0.001)
    server.close()


async def test_client_closes_though_its_server_reads_nothing(tmp_path: Path) -> None:
    listener = unix_sockets.listen(str(tmp_path / "api.sock"))
    loop = asyncio.get_running_loop()
    async with SocketBackend(tmp_path / "api.sock") as backend:
        stopped, _ = await loop.sock_accept(listener)
        await loop.sock_sendall(stopped, frame(messages.Welcome(messages.VERSION)))
        await backend.connected()
        calls = [asyncio.create_task(backend.extra("any", bytes(1_000_000))) for _ in range(10)]
        await clock.sleep(0.05)
    for call in calls:
        with pytest.raises(Unreachable):
            await call
    stopped.close()
    listener.close()


async def test_server_of_another_version_is_not_used(tmp_path: Path) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(frame(messages.Welcome(messages.VERSION + 1)))
        await reader.read()
        writer.close()

    server = await asyncio.start_unix_server(other, str(tmp_path / "api.sock"))
    async with SocketBackend(tmp_path / "api.sock") as backend, asyncio.timeout(DEADLINE_SECONDS):
        why = ""
        while "uses version" not in why:
            try:
                await backend.extra("any")
            except Unreachable as error:
                why = str(error)
            await clock.sleep(0.001)
    server.close()


async def test_request_beyond_a_frame_is_too_large(cluster: ControlPlane, tmp_path: Path) -> None:
    async with socket_backend(cluster, tmp_path) as (_, backend):
        with pytest.raises(ApiError) as large:
            await backend.extra("any", bytes(FRAME_BYTES_MAX))
        assert large.value.code == 413
        assert (await LocalClient(backend).list(ConfigMap, "default")).items == ()


async def test_failure_of_the_server_is_an_internal_error(cluster: ControlPlane, tmp_path: Path) -> None:
    async def fail(_: bytes) -> bytes:
        raise ZeroDivisionError("by nothing")

    async with socket_backend(cluster, tmp_path) as (server, backend):
        server.extras = {"fail": fail}
        with pytest.raises(ApiError, match="Internal error occurred: ZeroDivisionError: by nothing") as error:
            await backend.extra("fail")
        assert error.value.code == 500


async def test_only_the_own_user_is_served(
    cluster: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with socket_backend(cluster, tmp_path) as (server, _):
        assert stat.S_IMODE(os.stat(server.path).st_mode) == 0o600
        monkeypatch.setattr("podling.apiserver.socket.connection.peer_of", lambda _: (7, 4_000_000))
        reader, writer = await raw_connection(server)
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        assert "refused the connection of process 7 of user 4000000" in caplog.text


async def test_peer_is_this_process() -> None:
    here, there = socket.socketpair(socket.AF_UNIX)
    assert unix_sockets.peer_of(here) == (os.getpid(), os.geteuid())
    here.close()
    there.close()


async def test_paths_may_be_longer_than_an_address(cluster: ControlPlane, tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    async with socket_backend(cluster, folder) as (_, backend):
        await LocalClient(backend).create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))


async def test_server_leaves_the_socket_of_a_later_one(cluster: ControlPlane, tmp_path: Path) -> None:
    async with socket_backend(cluster, tmp_path) as (server, backend):
        later = SocketServer(cluster.server, server.path)
        await later.start()
        await server.stop()
        await until_unreachable(LocalClient(backend))
        await backend.connected()
        assert len(later._connections) == 1
        await backend.close()
        await later.stop()


async def test_failure_without_a_task_is_an_internal_error(
    cluster: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.client.create(config_map("a"))
    async with socket_backend(cluster, tmp_path) as (server, backend):
        with monkeypatch.context() as broken:
            broken.setattr(server.calls, "user", lambda _: 1 // 0)
            with pytest.raises(ApiError, match="Internal error occurred: ZeroDivisionError"):
                await LocalClient(backend).get(ConfigMap, "a", "default")
        assert (await LocalClient(backend).get(ConfigMap, "a", "default")).metadata.name == "a"


async def test_old_socket_is_replaced(cluster: ControlPlane, tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "api.sock"))
    left.close()
    async with socket_backend(cluster, tmp_path) as (_, backend):
        assert (await LocalClient(backend).list(ConfigMap, "default")).items == ()

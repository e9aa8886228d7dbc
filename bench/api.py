"""The API server: over HTTP beside a bare aiohttp handler that sends the same bytes, and inside the process.

Clients are processes of their own, so that only the server's work is on the server's core.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import uvloop
from aiohttp import web

from bench.harness import Figure, show
from podling.api.core_v1 import Binding, Container, ObjectReference, Pod, PodSpec
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.app import HttpServer
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving
from podling.client.requests import User
from podling.sim.loop import run as run_virtual
from podling.store.memory import MemoryStore
from podling.testing import memory_cluster

CONNECTIONS = 16
READS = 20_000
LISTED = 1_000
LISTS = 200
CREATES = 4_000
WATCHERS = 100
CHANGES = 300
NODES = 1_000
PODS = "/api/v1/namespaces/default/pods"
HEADERS = "Host: x\r\nAuthorization: Bearer bench\r\nAccept: application/json\r\n"


def main() -> None:
    figures = uvloop.run(over_http())
    show([*figures, *run_virtual(inside())])


def pod(name: str) -> Pod:
    spec = PodSpec(containers=(Container(name="c", image="registry.example/app:1"),))
    return Pod(metadata=ObjectMeta(name=name, namespace="default", labels={"app": "web"}), spec=spec)


async def over_http() -> list[Figure]:
    store = MemoryStore()
    api = ApiServer(store, (), static_tokens={"bench": User("bench", ("system:masters",))})
    await api.start()
    server = HttpServer(api, api.authenticator, Serving(port=0))
    await server.start()
    for number in range(LISTED):
        await api.client().create(pod(f"p{number:04}"))
    one, all_of_them = await read(server.port, f"{PODS}/p0000"), await read(server.port, PODS)
    bare = web.Application()
    bare.router.add_get("/one", lambda _: answer(one))
    bare.router.add_get("/list", lambda _: answer(all_of_them))
    runner = web.AppRunner(bare, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    bare_port = runner.addresses[0][1]
    floor = "bare aiohttp"
    get_floor, get = await rate(bare_port, "/one", READS), await rate(server.port, f"{PODS}/p0000", READS)
    list_floor, listed = await rate(bare_port, "/list", LISTS), await rate(server.port, PODS, LISTS)
    created = await rate(server.port, PODS, CREATES, creating="spaced")
    compact = await rate(server.port, PODS, CREATES, creating="compact")
    delivered = await fan_out(api, server.port)
    await runner.cleanup()
    await server.stop()
    await api.stop()
    return [
        Figure("get one pod", get, "/s", get_floor, floor, 0.55, more_is_better=True),
        Figure(f"list {LISTED} pods", listed, "/s", list_floor, floor, 0.6, more_is_better=True),
        Figure("create a pod", created, "/s"),
        Figure("create a pod, in JSON without space", compact, "/s"),
        Figure(f"events to {WATCHERS} watchers", delivered, "/s"),
    ]


async def answer(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


async def read(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = await exchange(reader, writer, f"GET {path} HTTP/1.1\r\n{HEADERS}\r\n".encode())
    writer.close()
    return body


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    """Send one request on a kept connection, with as little client code as possible."""
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"transfer-encoding: chunked" in head:
        return await unchunked(reader)
    start = head.index(b"content-length:") + len(b"content-length:")
    return await reader.readexactly(int(head[start : head.index(b"\r\n", start)]))


async def unchunked(reader: asyncio.StreamReader) -> bytes:
    pieces = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        pieces.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readexactly(2)
    return b"".join(pieces)


async def rate(port: int, path: str, times: int, *, creating: str = "") -> float:
    """Measure requests a second from a process of clients.

    ``creating``: the JSON of new pods, ``spaced`` as of Python or ``compact`` as of Go; empty: read.
    """
    with child(client, port, path, times, creating) as answers:
        return float(await asyncio.to_thread(answers.recv))


def client(answers: Connection, port: int, path: str, times: int, creating: str) -> None:
    separators = (",", ":") if creating == "compact" else None

    async def one(number: int, count: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for index in range(count):
            if creating:
                body = json.dumps(manifest(f"{creating}{number}-{index}"), separators=separators)
                head = f"POST {path} HTTP/1.1\r\n{HEADERS}Content-Type: application/json\r\n"
                request = f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
            else:
                request = f"GET {path} HTTP/1.1\r\n{HEADERS}\r\n".encode()
            await exchange(reader, writer, request)
        writer.close()

    async def everyone() -> float:
        start = time.perf_counter()
        await asyncio.gather(*(one(number, times // CONNECTIONS) for number in range(CONNECTIONS)))
        return times / (time.perf_counter() - start)

    answers.send(uvloop.run(everyone()))


def manifest(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "registry.example/app:1"}]},
    }


async def fan_out(api: ApiServer, port: int) -> float:
    """Measure events a second, all watchers together, while one object changes."""
    with child(watchers, port, str(api.store.revision)) as answers:
        await asyncio.to_thread(answers.recv)
        start = time.perf_counter()
        for number in range(CHANGES):
            await api.client().patch(
                Pod, "p0000", {"metadata": {"annotations": {"n": str(number)}}}, "default"
            )
            await asyncio.sleep(0)
        end = float(await asyncio.to_thread(answers.recv))
    return WATCHERS * CHANGES / (end - start)


def watchers(answers: Connection, port: int, revision: str) -> None:
    async def one(ready: asyncio.Semaphore) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        path = f"{PODS}?watch=true&resourceVersion={revision}"
        writer.write(f"GET {path} HTTP/1.1\r\n{HEADERS}\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        ready.release()
        seen = 0
        while seen < CHANGES:
            seen += (await reader.readuntil(b"\n")).count(b'{"type":')
        writer.close()

    async def everyone() -> None:
        ready = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(one(ready)) for _ in range(WATCHERS)]
        for _ in range(WATCHERS):
            await ready.acquire()
        answers.send(0)
        await asyncio.gather(*tasks)
        answers.send(time.perf_counter())

    uvloop.run(everyone())


@contextmanager
def child(target: Callable[..., None], *arguments: Any) -> Iterator[Connection]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments))
    process.start()
    try:
        yield ours
    finally:
        process.join()


async def inside() -> list[Figure]:
    """Measure a pod's life in process, while every node of a large cluster watches its own pods."""
    async with memory_cluster() as cluster:
        client = cluster.client
        start = str(cluster.store.revision)
        watches = [
            asyncio.create_task(follow(cluster.client, f"n{number}", start)) for number in range(NODES)
        ]
        await cluster.advance(seconds=1)
        names = [f"p{number}" for number in range(2 * NODES)]
        figures = [
            Figure("create, in process", await pace(names, lambda name: client.create(pod(name))), "/s"),
            Figure("bind, in process", await pace(names, lambda name: bind(client, name)), "/s"),
            Figure(
                "patch status, in process",
                await pace(
                    names,
                    lambda name: client.patch(
                        Pod, name, {"status": {"phase": "Running"}}, "default", subresource="status"
                    ),
                ),
                "/s",
            ),
        ]
        for watch in watches:
            watch.cancel()
    return figures


async def follow(client: Any, node: str, start: str) -> None:
    selector = f"spec.nodeName={node}"
    async for _ in client.watch(Pod, None, resource_version=start, field_selector=selector):
        pass


def bind(client: Any, name: str) -> Awaitable[Any]:
    node = f"n{int(name[1:]) % NODES}"
    body = Binding(metadata=ObjectMeta(name=name), target=ObjectReference(kind="Node", name=node))
    bound: Awaitable[Any] = client.create_subresource(Pod, name, "binding", body, "default")
    return bound


async def pace(names: list[str], act: Callable[[str], Awaitable[Any]]) -> float:
    start = time.perf_counter()
    for name in names:
        await act(name)
    return len(names) / (time.perf_counter() - start)

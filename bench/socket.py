"""The API server as components reach it: in the same process, over a Unix socket, and over HTTPS.

The server is a process of its own, the client another. The figures are processor time of each side per call,
which other load of the machine changes least; each is the smallest of several rounds. ``socket, alone`` has
one call under way, the others 64.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import uvloop

from bench.harness import Figure, show
from podling.api.core_v1 import Binding, ConfigMap, Container, ObjectReference, Pod, PodSpec
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.app import HttpServer
from podling.apiserver.auth.pki import Pki
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving
from podling.apiserver.socket.server import SocketServer
from podling.client.base import Client
from podling.client.http import HttpClient
from podling.client.local import LocalClient
from podling.client.requests import User
from podling.client.socket_backend import SocketBackend
from podling.store.memory import MemoryStore

UNDER_WAY = 64
ROUNDS = 5
CALLS = {"get": 4000, "list 500": 20, "create": 1000, "bind": 1000, "patch status": 1000}
LISTED = 500
WATCHERS = 50
EVENTS = 200
ADMIN = User("bench", ("system:masters", "system:authenticated"))
GOAL_MICROSECONDS = 40.0
GOAL_RATE = 20_000

Call = Callable[[Client, int], Awaitable[object]]


class Costs:
    """Microseconds of processor time per call, of the server and of the client, and calls per second."""

    def __init__(self) -> None:
        self.server = self.client = float("inf")
        self.rate = 0.0

    def take(self, server: float, client: float, wall: float, calls: int) -> None:
        self.server = min(self.server, server / calls * 1e6)
        self.client = min(self.client, client / calls * 1e6)
        self.rate = max(self.rate, calls / wall)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="podling-bench-") as folder:
        here, there = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        server = context.Process(target=run_server, args=(there, folder))
        server.start()
        try:
            figures = uvloop.run(measure(here, Path(folder)))
        finally:
            here.send("stop")
            server.join()
        show(figures)


def run_server(pipe: Connection, folder: str) -> None:
    uvloop.run(serve(pipe, Path(folder)))


async def serve(pipe: Connection, folder: Path) -> None:
    """Serve in all three ways until stopped; answer each request of ``pipe``."""
    store, pki = MemoryStore(), Pki(folder / "pki")
    api = ApiServer(store, (), static_tokens={"bench": ADMIN})
    await api.start()
    serving = Serving(port=0, certificate=pki.server("bench", ["127.0.0.1"]))
    http, socket = HttpServer(api, api.authenticator, serving), SocketServer(api, folder / "api.sock")
    await http.start()
    await socket.start()
    pipe.send((http.port, str(pki.ca.certificate)))
    requested: asyncio.Queue[Any] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    loop.add_reader(pipe.fileno(), lambda: requested.put_nowait(pipe.recv()))
    while True:
        match await requested.get():
            case "stop":
                break
            case "cpu":
                pipe.send(time.process_time())
            case ("events", count):
                client = api.client(ADMIN)
                for number in range(count):
                    await client.patch(ConfigMap, "watched", {"data": {"n": str(number)}}, "default")
                pipe.send(None)
            case (operation, first, count):
                started = time.process_time()
                await several(api.client(ADMIN), OPERATIONS[operation], first, count, UNDER_WAY)
                pipe.send(time.process_time() - started)
    loop.remove_reader(pipe.fileno())
    await socket.stop()
    await http.stop()
    await api.stop()
    await store.close()


def pod(name: str, namespace: str = "default") -> Pod:
    spec = PodSpec(containers=(Container(name="c", image="registry.example/app:1"),))
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, labels={"app": "web"}), spec=spec)


def create(client: Client, number: int) -> Awaitable[object]:
    return client.create(pod(f"c{number}"))


def bind(client: Client, number: int) -> Awaitable[object]:
    binding = Binding(metadata=ObjectMeta(name=f"c{number}"), target=ObjectReference(kind="Node", name="n1"))
    return client.create_subresource(Pod, f"c{number}", "binding", binding, "default")


def patch_status(client: Client, number: int) -> Awaitable[object]:
    patch = {"status": {"phase": "Running", "podIP": "10.0.0.1", "message": f"{number}"}}
    return client.patch(Pod, f"c{number}", patch, "default", subresource="status")


OPERATIONS: dict[str, Call] = {
    "get": lambda client, number: client.get(ConfigMap, f"m{number % LISTED}", "default"),
    "list 500": lambda client, number: client.list(Pod, "listed"),
    "create": create,
    "bind": bind,
    "patch status": patch_status,
}


async def several(client: Client, call: Call, first: int, count: int, under_way: int) -> None:
    """Make ``count`` calls, so many of them at a time."""
    numbers = iter(range(first, first + count))

    async def work() -> None:
        for number in numbers:
            await call(client, number)

    await asyncio.gather(*(work() for _ in range(under_way)))


async def prepare(client: Client) -> None:
    for number in range(LISTED):
        name = ObjectMeta(name=f"m{number}", namespace="default")
        await client.create(ConfigMap(metadata=name, data={"key": "value" * 20}))
        await client.create(pod(f"p{number}", "listed"))
    await client.create(ConfigMap(metadata=ObjectMeta(name="watched", namespace="default")))


class Bench:
    """Measures calls of the server at the other end of ``pipe``."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._next = 0

    def server(self, request: object) -> Any:
        self._pipe.send(request)
        return self._pipe.recv()

    async def calls(self, ways: dict[str, tuple[Client | None, int]]) -> dict[tuple[str, str], Costs]:
        """Return the costs by operation and way. A way without a client is that inside of the server."""
        costs = {(operation, way): Costs() for operation in CALLS for way in ways}
        for _ in range(ROUNDS):
            for way, (client, under_way) in ways.items():
                self._next += 10_000
                for operation, count in CALLS.items():
                    if client is None:
                        wall = time.perf_counter()
                        used = self.server((operation, self._next, count))
                        costs[operation, way].take(used, 0.0, time.perf_counter() - wall, count)
                        continue
                    there, here, wall = self.server("cpu"), time.process_time(), time.perf_counter()
                    await several(client, OPERATIONS[operation], self._next, count, under_way)
                    wall = time.perf_counter() - wall
                    used = time.process_time() - here
                    costs[operation, way].take(self.server("cpu") - there, used, wall, count)
        return costs

    async def events(self, client: Client) -> tuple[float, float]:
        """Return the microseconds of an event to one of many watchers, at the server and at the client."""
        best = [float("inf"), float("inf")]
        for _ in range(ROUNDS):
            idle, _ = await self._patches(client, 0)
            there, here = await self._patches(client, WATCHERS)
            best[0] = min(best[0], (there - idle) / (EVENTS * WATCHERS) * 1e6)
            best[1] = min(best[1], here / (EVENTS * WATCHERS) * 1e6)
        return best[0], best[1]

    async def _patches(self, client: Client, watchers: int) -> tuple[float, float]:
        """Return the processor time of both sides while an object changes that some watch."""
        start = (await client.list(ConfigMap, "default")).resource_version
        last = f"{EVENTS - 1}"

        async def watch() -> None:
            async for event in client.watch(ConfigMap, "default", resource_version=start):
                if event.object.data.get("n") == last:
                    return

        tasks = [asyncio.create_task(watch()) for _ in range(watchers)]
        await asyncio.sleep(0.2)
        there, here = self.server("cpu"), time.process_time()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.server, ("events", EVENTS))
        await asyncio.gather(*tasks)
        return self.server("cpu") - there, time.process_time() - here


@asynccontextmanager
async def clients(folder: Path, port: int, authority: str) -> AsyncIterator[tuple[Client, Client]]:
    """The clients over a Unix socket and over HTTPS."""
    context = ssl.create_default_context(cafile=authority)
    https = HttpClient(f"https://127.0.0.1:{port}", context, "bench")
    async with SocketBackend(folder / "api.sock") as backend:
        await backend.connected()
        yield LocalClient(backend, ADMIN), https
    await https.close()


async def measure(pipe: Connection, folder: Path) -> list[Figure]:
    port, authority = pipe.recv()
    bench = Bench(pipe)
    async with clients(folder, port, authority) as (socket, https):
        await prepare(socket)
        costs = await bench.calls({
            "in process": (None, UNDER_WAY),
            "socket": (socket, UNDER_WAY),
            "socket, alone": (socket, 1),
            "HTTPS": (https, UNDER_WAY),
        })  # fmt: skip
        figures: list[Figure] = []
        for operation in CALLS:
            within = costs[operation, "in process"].server
            for way in ("in process", "socket", "socket, alone", "HTTPS"):
                found = costs[operation, way]
                goal = GOAL_MICROSECONDS + within if way == "socket" and operation != "list 500" else None
                figures.append(Figure(f"{operation}: server, {way}", found.server, "µs", goal=goal))
                if way != "in process":
                    figures.append(Figure(f"{operation}: client, {way}", found.client, "µs"))
        rate = costs["get", "socket"].rate
        figures.append(Figure("get over the socket", rate, "/s", goal=GOAL_RATE, more_is_better=True))
        for way, client in (("socket", socket), ("HTTPS", https)):
            server, own = await bench.events(client)
            figures.append(Figure(f"watch event: server, {way}", server, "µs"))
            figures.append(Figure(f"watch event: client, {way}", own, "µs"))
    return figures


if __name__ == "__main__":
    main()

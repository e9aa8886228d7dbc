"""The API server under load, over TLS: ``wrk`` beside a bare handler that sends the same bytes, a thousand
watchers, and a hundred thousand pods.

``wrk`` and the watchers are processes of their own; the server and the bare handler share one event loop, so
that both are measured on the same core in the same minute.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import uvloop
from aiohttp import web

from bench.api import child, exchange, manifest, pod
from bench.harness import Figure, memory_mib, show
from podling import clock
from podling.api.core_v1 import Pod
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.app import HttpServer
from podling.apiserver.auth.pki import Pki
from podling.apiserver.registry.objects import Stored
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving, tls_context
from podling.client.base import PatchType
from podling.client.requests import User
from podling.cluster.garbage_collection import settle
from podling.machinery.encoding import codec
from podling.store.base import Store
from podling.store.memory import MemoryStore
from podling.store.sqlite import SqliteStore

SECONDS, ROUNDS = 1, 15
"""Many short runs, because other load on the machine changes within seconds."""
CONNECTIONS = 16
LISTED = 500
WATCHERS = 1_000
WRITES_A_SECOND = 100
WATCHED_SECONDS = 5
MANY = 100_000
PODS = "/api/v1/namespaces/{}/pods"
TOKEN = "Authorization: Bearer bench"
FLOOR = "bare aiohttp"

POST = """
local count = 0
request = function()
  count = count + 1
  return wrk.format("POST", nil, nil, string.gsub('BODY', "NAME", "PREFIX" .. count))
end
"""
wrk_rate = re.compile(r"Requests/sec:\s+([0-9.]+)")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="podling-bench-") as folder:
        show([
            *uvloop.run(beside_bare(Path(folder))),
            *uvloop.run(watched(Path(folder))),
            *in_a_process_of_its_own(Path(folder)),
        ])  # fmt: skip


@dataclass(frozen=True)
class Served:
    api: ApiServer
    port: int
    tls: ssl.SSLContext | None


@asynccontextmanager
async def serving(store: Store, folder: Path) -> AsyncIterator[Served]:
    """A server over TLS, with the admission of a real cluster, in a process that has settled like one."""
    admin = User("bench", ("system:masters",))
    api = ApiServer(store, plugins_without_controllers(), static_tokens={"bench": admin})
    await api.start()
    pki = Pki(folder / "pki")
    options = Serving(port=0, certificate=pki.server("apiserver", ["127.0.0.1"]), client_ca=pki.ca)
    http = HttpServer(api, api.authenticator, options)
    await http.start()
    settle()
    try:
        yield Served(api, http.port, tls_context(options))
    finally:
        await http.stop()
        await api.stop()
        await store.close()


@dataclass(frozen=True)
class Asked:
    """One kind of request. ``bare`` is the request to the handler of the floor."""

    name: str
    path: str
    bare: str
    goal: float | None = None
    posts: bool = False
    others_write: bool = False


ASKED = (
    Asked("GET one pod", f"{PODS.format('default')}/p0000", "/one", 0.55),
    Asked(f"LIST {LISTED} pods", PODS.format("default"), "/list", 0.75),
    Asked(f"LIST {LISTED} pods while others write", PODS.format("default"), "/list", others_write=True),
    Asked("POST a pod, durably", PODS.format("posted"), "/one", 0.2, posts=True),
)


async def beside_bare(folder: Path) -> list[Figure]:
    async with serving(SqliteStore(folder / "store.db"), folder) as served:
        client = served.api.client()
        first = manifest(
            "p0000"
        )  # applied, it has a record of its fields, as an object has that comes over HTTP
        await client.patch(Pod, "p0000", first, "default", patch_type=PatchType.APPLY, field_manager="bench")
        for number in range(1, LISTED):
            await client.create(pod(f"p{number:04}"))
        await client.create(namespace("posted"))
        async with bare_handler(served) as bare_port:
            return [await rated(asked, served, bare_port, folder) for asked in ASKED]


@asynccontextmanager
async def bare_handler(served: Served) -> AsyncIterator[int]:
    """The floor: the same bytes over the same TLS, and nothing else. Gives its port."""
    pods = PODS.format("default")
    one, many = await read(served.port, f"{pods}/p0000"), await read(served.port, pods)
    bare = web.Application()
    bare.router.add_get("/one", lambda _: answer(one))
    bare.router.add_get("/list", lambda _: answer(many))
    bare.router.add_post("/one", lambda request: taken(request, one))
    runner = web.AppRunner(bare, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=served.tls).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def rated(asked: Asked, served: Served, bare_port: int, folder: Path) -> Figure:
    """Measure floor and server in turns, so that both run under the same load; return the median ratio."""
    rounds: list[tuple[float, float]] = []
    for number in range(ROUNDS):
        options: list[str] = []
        if asked.posts:
            script = folder / "post.lua"
            body = codec.encode(manifest("NAME")).decode()
            script.write_text(POST.replace("BODY", body).replace("PREFIX", f"w{number}-"))
            options = ["-s", str(script), "-H", "Content-Type: application/json"]
        floor = await wrk(bare_port, asked.bare, *options)
        writing = asyncio.create_task(write_beside(served.api)) if asked.others_write else None
        rounds.append((floor, await wrk(served.port, asked.path, *options)))
        if writing is not None:
            writing.cancel()
    floor, rate = sorted(rounds, key=lambda each: each[1] / each[0])[len(rounds) // 2]
    return Figure(f"{asked.name}, TLS", rate, "/s", floor, FLOOR, asked.goal, more_is_better=True)


async def write_beside(api: ApiServer) -> None:
    """Change one of the listed pods again and again."""
    number = 0
    while True:
        number += 1
        body = {"metadata": {"annotations": {"written": str(number)}}}
        await api.client().patch(Pod, "p0001", body, "default")
        await clock.sleep(1 / WRITES_A_SECOND)


def namespace(name: str) -> Any:
    from podling.api.core_v1 import Namespace
    from podling.api.meta_v1 import ObjectMeta

    return Namespace(metadata=ObjectMeta(name=name))


async def answer(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


async def taken(request: web.Request, body: bytes) -> web.Response:
    await request.read()
    return web.Response(body=body, status=201, content_type="application/json")


async def wrk(port: int, path: str, *options: str) -> float:
    """Measure requests a second for a few seconds. Raises when any of them was refused."""
    process = await asyncio.create_subprocess_exec(
        "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}", "-H", TOKEN, *options, f"https://127.0.0.1:{port}{path}",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    text = (await process.communicate())[0].decode()
    found = wrk_rate.search(text)
    if found is None or "Non-2xx" in text or "Socket errors" in text:
        raise RuntimeError(f"wrk of {path} says:\n{text}")
    return float(found[1])


def unchecked() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def ask(streams: Any, method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{TOKEN}\r\nContent-Type: application/merge-patch+json\r\n"
    return await exchange(
        streams[0], streams[1], f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    )


async def read(port: int, path: str) -> bytes:
    streams = await asyncio.open_connection("127.0.0.1", port, ssl=unchecked())
    body = await ask(streams, "GET", path)
    streams[1].close()
    return body


async def watched(folder: Path) -> list[Figure]:
    """Measure the delay from a write to a watcher; writer and watchers are other processes."""
    async with serving(MemoryStore(), folder) as served:
        for number in range(WRITES_A_SECOND):
            await served.api.client().create(pod(f"p{number:04}"))
        with child(watchers, served.port, str(served.api.store.revision)) as answers:
            late: list[float] = await asyncio.to_thread(answers.recv)
    late.sort()
    return [
        Figure(f"a change reaches {WATCHERS} watchers, median", late[len(late) // 2] * 1e3, "ms"),
        Figure("the same, p99", late[len(late) * 99 // 100] * 1e3, "ms", goal=250),
    ]


def watchers(answers: Connection, port: int, revision: str) -> None:
    sent: dict[bytes, float] = {}
    late: list[float] = []
    changes, ready, context = WRITES_A_SECOND * WATCHED_SECONDS, asyncio.Semaphore(0), unchecked()
    mark = re.compile(rb'"written":"(\d+)"')

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, limit=2**20)
        path = f"{PODS.format('default')}?watch=true&resourceVersion={revision}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n{TOKEN}\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        ready.release()
        seen, rest = 0, b""
        while seen < changes:
            *lines, rest = (rest + await reader.read(2**18)).split(b"\n")
            now = time.perf_counter()
            found = mark.findall(b"\n".join(lines))
            late.extend(now - sent[number] for number in found)
            seen += len(found)
        writer.close()

    async def write() -> None:
        streams = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        start = time.perf_counter()
        for number in range(changes):
            await asyncio.sleep(max(0.0, start + number / WRITES_A_SECOND - time.perf_counter()))
            sent[b"%d" % number] = time.perf_counter()
            body = b'{"metadata":{"annotations":{"written":"%d"}}}' % number
            await ask(streams, "PATCH", f"{PODS.format('default')}/p{number % WRITES_A_SECOND:04}", body)
        streams[1].close()

    async def everyone() -> None:
        tasks = []
        for _ in range(WATCHERS):
            tasks.append(asyncio.create_task(one()))
            await ready.acquire()
        await asyncio.gather(write(), *tasks)

    uvloop.run(everyone())
    answers.send(late)


def in_a_process_of_its_own(folder: Path) -> list[Figure]:
    with child(many_pods, str(folder)) as answers:
        found: list[Figure] = answers.recv()
    return found


def many_pods(answers: Connection, folder: str) -> None:
    answers.send(uvloop.run(crowded(Path(folder))))


async def crowded(folder: Path) -> list[Figure]:
    """Measure memory, and how long the loop is held, with very many pods."""
    import os

    store = MemoryStore()
    async with serving(store, folder) as served:
        await served.api.client().create(pod("first"))
        await fill(store)
        memory = memory_mib(os.getpid())
        pods, figures = PODS.format("default"), []
        table = "application/json;as=Table;g=meta.k8s.io;v=v1"
        for name, path, accept in (
            ("LIST", pods, "application/json"),
            ("LIST by label", f"{pods}?labelSelector=app%3Dweb", "application/json"),
            ("LIST as a table", pods, table),
            ("LIST compressed", pods, "application/json\r\nAccept-Encoding: gzip"),
            ("WATCH from the start", f"{pods}?watch=true&timeoutSeconds=1", "application/json"),
        ):
            with child(drain, served.port, path, accept) as reading:
                held = await longest_hold(partial(asyncio.to_thread, reading.recv))
            figures.append(Figure(f"{name} of {MANY} pods holds the loop", held * 1e3, "ms", goal=50))
        held = await longest_hold(lambda: served.api.client().list(Pod, "default"))
        figures.append(Figure("the same in process", held * 1e3, "ms", goal=50))
        peak = memory_mib(os.getpid())
    return [
        Figure(f"memory with {MANY} pods", memory, "MiB", goal=1200),
        Figure("memory after it all", peak, "MiB", goal=1200),
        *figures,
    ]


async def fill(store: Store) -> None:
    """Store pods as if each had been read from disk: they share no data."""
    first = store.peek("/registry/pods/default/first")
    assert first is not None
    for number in range(MANY):
        name = f"p{number:06}"

        def encode(revision: int, name: str = name) -> bytes:
            return first.value.replace(b'"first"', f'"{name}"'.encode()).replace(
                f'"resourceVersion":"{first.revision}"'.encode(), f'"resourceVersion":"{revision}"'.encode()
            )

        entry = await store.put(f"/registry/pods/default/{name}", encode, expect=0)
        entry.memo = Stored(codec.decode(entry.value, Pod))
        if number % 100 == 0:
            await clock.sleep(0)


async def longest_hold(act: Callable[[], Awaitable[Any]]) -> float:
    """Return the longest time for which no other task could run during ``act``."""
    longest, last = 0.0, time.perf_counter()
    task = asyncio.ensure_future(act())
    while not task.done():
        await clock.sleep(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last - 0.001), now
    await task
    return longest


def drain(answers: Connection, port: int, path: str, accept: str) -> None:
    async def read_all() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=unchecked(), limit=2**20)
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: x\r\n{TOKEN}\r\nAccept: {accept}\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        total = 0
        while data := await reader.read(2**18):
            total += len(data)
        writer.close()
        return total

    answers.send(uvloop.run(read_all()))


if __name__ == "__main__":
    main()

"""An API server on a thread of its own, and the cost of each request: time of its loop, and memory.

Time is the processor time of the loop's thread, so other load on the machine does not count. Memory is the
highest resident size of the process while a request was served, less that before; the body of the request is
there before.
"""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
import time  # noqa: TID251 -- processor time, of which ``clock`` knows nothing
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from podling import clock
from podling.api.core_v1 import Namespace
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import RoleBinding, RoleRef, Subject
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.app import HttpServer
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving
from podling.client.requests import User
from podling.store.memory import MemoryStore

T = TypeVar("T")

TENANT = "tenant"
EDITOR = "editor"
DEADLINE_SECONDS = 60.0
READ_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Cost:
    """``seconds`` of the loop's thread; ``grown``: bytes of memory."""

    code: int
    seconds: float
    grown: int
    body: bytes = field(repr=False, default=b"")


@dataclass(frozen=True)
class Asked:
    """One request; ``user``: a bearer token, or nothing for an anonymous one."""

    method: str
    path: str
    body: bytes = field(default=b"", repr=False)
    content_type: str = "application/json"
    user: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    def encoded(self) -> bytes:
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: server"]
        if self.user:
            lines.append(f"Authorization: Bearer {self.user}")
        if self.body:
            lines += [f"Content-Type: {self.content_type}", f"Content-Length: {len(self.body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + self.body


class MeasuredServer:
    """Use as a context manager. The editor of the namespace ``tenant`` has the ClusterRole ``edit``."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="API server", daemon=True)
        self._stack = AsyncExitStack()
        self.api: ApiServer
        self.port = 0
        self._connection: socket.socket | None = None

    def __enter__(self) -> MeasuredServer:
        self._thread.start()
        self.wait_for(self._open())
        self._cpu = time.pthread_getcpuclockid(self._thread.ident or 0)
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        self.wait_for(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_SECONDS)
        self._loop.close()

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE_SECONDS)

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def cost(self, asked: Asked, *, whole: bool = True) -> Cost:
        """Send one request, read its answer, and return what it cost.

        Without ``whole`` the connection ends when an answer is chunked, because it may never end.
        """
        data = asked.encoded()
        if self._connection is None:
            self._connection = socket.create_connection(("127.0.0.1", self.port), DEADLINE_SECONDS)
        self._idle()
        Path("/proc/self/clear_refs").write_text("5")
        before, started = _memory("VmRSS"), self._cpu_seconds()
        with suppress(ConnectionError):  # the server closed the connection, perhaps after its answer
            self._connection.sendall(data)
        code, answer, goes_on = self._answer(asked.method, whole=whole)
        self._idle()
        spent = self._cpu_seconds() - started
        grown = _memory("VmHWM") - before
        if not goes_on:
            self.hang_up()
        return Cost(code, spent, grown, answer)

    def read_all(self, path: str) -> bytes:
        """Return the body of an answer to an administrator."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_SECONDS)
        try:
            connection.request("GET", path, headers={"Authorization": "Bearer admin"})
            return connection.getresponse().read()
        finally:
            connection.close()

    def _answer(self, method: str, *, whole: bool) -> tuple[int, bytes, bool]:
        """Return the code, the beginning of the body, and whether the connection stays open."""
        assert self._connection is not None
        head = b""
        try:
            while b"\r\n\r\n" not in head:
                more = self._connection.recv(READ_BYTES)
                if not more:
                    return 0, b"", False
                head += more
        except ConnectionError:
            return 0, b"", False
        head, _, body = head.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").lower().split("\r\n")
        named = dict(line.split(": ", 1) for line in lines if ": " in line)
        left = 0 if method == "HEAD" else int(named.get("content-length", "0")) - len(body)
        goes_on = "content-length" in named and named.get("connection") != "close"
        chunked = "chunked" in named.get("transfer-encoding", "")
        last = body
        if chunked and not whole:
            return int(status.split(" ")[1]), body, False
        while left > 0 or (chunked and not last.endswith(b"0\r\n\r\n")):
            more = self._connection.recv(READ_BYTES)
            if not more:
                break
            left -= len(more)
            last = (last + more)[-16:]
        return int(status.split(" ")[1]), body, goes_on

    def _cpu_seconds(self) -> float:
        return time.clock_gettime(self._cpu)

    def _idle(self) -> None:
        """Wait until the loop has run all ready callbacks."""
        for _ in range(3):
            self.wait_for(clock.sleep(0))

    async def _open(self) -> None:
        store = MemoryStore()
        users = {
            EDITOR: User("editor", ("system:authenticated",)),
            "admin": User("admin", ("system:masters",)),
        }
        self.api = ApiServer(store, plugins_without_controllers(), static_tokens=users)
        self._stack.push_async_callback(store.close)
        await self.api.start()
        self._stack.push_async_callback(self.api.stop)
        http = HttpServer(self.api, self.api.authenticator, Serving(port=0))
        await http.start()
        self._stack.push_async_callback(http.stop)
        self.port = http.port
        client = self.api.client()
        await client.create(Namespace(metadata=ObjectMeta(name=TENANT)))
        await client.create(
            RoleBinding(
                metadata=ObjectMeta(name="editor", namespace=TENANT),
                role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="edit"),
                subjects=(Subject(kind="User", name="editor", api_group="rbac.authorization.k8s.io"),),
            )
        )


def _memory(name: str) -> int:
    """Return a figure of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)

"""An API server in memory behind a real TLS socket, for clients that know nothing of it.

It runs on an event loop in a thread of its own, so that a test may use blocking clients. Unlike
with a cluster in another process, the test can compact the history, or stop listening for a while.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from podling.apiserver.app import HttpServer
from podling.apiserver.auth.authn import Authenticator
from podling.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from podling.apiserver.auth.pki import Pki
from podling.apiserver.auth.tokens import Tokens
from podling.apiserver.serving import Serving
from podling.testing import ControlPlane, memory_cluster

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """The server's answer; ``headers`` by their names in lower case, those that occur once."""

    code: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


DEADLINE_SECONDS = 30.0


def _answer(response: http.client.HTTPResponse) -> Answer:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, response.read())


class ServedCluster:
    """Use as a context manager; ``kubeconfig`` is an administrator's."""

    def __init__(self, folder: Path) -> None:
        self.kubeconfig = folder / "kubeconfig"
        self._pki = Pki(folder / "pki")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="API server", daemon=True)
        self._stack = AsyncExitStack()
        self._plane: ControlPlane
        self._server: HttpServer
        self._port = 0

    def __enter__(self) -> ServedCluster:
        self._thread.start()
        self._wait_for(self._open())
        self.listen()
        user = self._pki.admin()
        url = f"https://127.0.0.1:{self._port}"
        write_kubeconfig(
            self.kubeconfig, kubeconfig(url, self._pki.ca_pem, user, user="admin", name="served")
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.go_silent()
        self._wait_for(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_SECONDS)
        self._loop.close()

    def listen(self) -> None:
        """Serve, on the same port every time."""
        self._wait_for(self._listen())

    def go_silent(self) -> None:
        """End every connection and stop serving."""
        self._wait_for(self._server.stop())

    def compact(self) -> int:
        """Compact all history; return the revision that is left."""
        store = self._plane.store
        self._wait_for(store.compact(store.revision))
        return store.revision

    def request(
        self, method: str, path: str, body: bytes | str = b"", *, known: bool = True, **headers: str
    ) -> Answer:
        """Send a request over a new connection, as an administrator or (not ``known``) anonymously.

        Headers are named as Python names things: ``content_type="application/json"``.
        """
        context = self._tls(known=known)
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, context=context, timeout=DEADLINE_SECONDS
        )
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body or None, named)
            response = connection.getresponse()
            return _answer(response)
        finally:
            connection.close()

    def ask(self, *lines: str, times: int = 1) -> list[Answer]:
        """Send the same bytes ``times`` times over one connection, as long as the server keeps it open."""
        found: list[Answer] = []
        plain = socket.create_connection(("127.0.0.1", self._port), DEADLINE_SECONDS)
        with self._tls().wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            try:
                for _ in range(times):
                    connection.sendall("\r\n".join([*lines, "", ""]).encode())
                    response = http.client.HTTPResponse(connection, method=lines[0].partition(" ")[0])
                    response.begin()
                    found.append(_answer(response))
            except (http.client.BadStatusLine, ConnectionError, ssl.SSLError):
                assert found, "the first request must be answered"
        return found

    def _tls(self, *, known: bool = True) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self._pki.ca_pem.decode())
        if known:
            admin = self._pki.admin()
            context.load_cert_chain(admin.certificate, admin.key)
        return context

    async def _listen(self) -> None:
        certificate = self._pki.server("served", ["127.0.0.1"])
        serving = Serving(port=self._port, certificate=certificate, client_ca=self._pki.ca)
        authenticator = Authenticator(Tokens(self._plane.server.objects))
        self._server = HttpServer(self._plane.server, authenticator, serving)
        await self._server.start()
        self._port = self._server.port

    async def _open(self) -> None:
        self._plane = await self._stack.enter_async_context(memory_cluster())

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE_SECONDS)

"""Health and figures of the service proxy of a node, and the two servers that show them.

The ports are kube-proxy's: 10256 for health, on every address, and 10249 for metrics, on the loopback
address. Where another node of the machine has them, any free ports are used instead, and the log names them.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterable
from datetime import datetime
from http import HTTPStatus

from podling import clock
from podling.network.services.one_request import HEAD_BYTES, Answer, response, serve_one
from podling.network.services.proxy_health import ProxyHealth
from podling.network.services.proxy_metrics import ProxyMetrics

logger = logging.getLogger(__name__)

HEALTHZ_PORT = 10256
METRICS_PORT = 10249
CONNECTIONS_MAX = 32
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


class ProxyStatus:
    """Health and figures of the proxy of one node, which notes here what it does."""

    def __init__(self, node: str) -> None:
        self.health = ProxyHealth()
        self.metrics = ProxyMetrics()
        self.ports: dict[str, int] = {}
        """The ports that the servers have, by name."""
        self._node = node
        self._open = 0

    def queue(self, families: Iterable[str]) -> None:
        """Note that the rules of these families are to be written."""
        now = clock.now()
        for family in families:
            self.health.queue((family,), now)
            self.metrics.queue(family, now)

    def finish(self, families: Iterable[str], triggers: Iterable[datetime]) -> None:
        """Note that the kernel has the changes that ``triggers`` caused, and all before."""
        now, found = clock.now(), list(families)
        self.health.update(found, now)
        self.metrics.finish(found, list(triggers), now)

    def is_healthy(self) -> bool:
        return self.health.is_healthy(clock.now())

    async def run(self) -> None:
        """Serve until cancelled."""
        servers = [
            await self._listen("healthz", HEALTHZ_PORT, self._answer_health),
            await self._listen("metrics", METRICS_PORT, self._answer_metrics),
        ]
        try:
            await asyncio.Event().wait()
        finally:
            for server in servers:
                server.close()

    async def _listen(self, name: str, port: int, answer: Answer) -> asyncio.Server:
        try:
            listener = _listener(name, port)
        except OSError:
            listener = _listener(name, 0)
            found = listener.getsockname()[1]
            logger.info("%s: port %d for %s is taken; it is served on %d", self._node, port, name, found)
        self.ports[name] = listener.getsockname()[1]

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if self._open >= CONNECTIONS_MAX:
                writer.transport.abort()
                return
            self._open += 1
            try:
                await serve_one(reader, writer, answer)
            finally:
                self._open -= 1

        return await asyncio.start_server(connected, sock=listener, limit=HEAD_BYTES)

    def _answer_health(self, _method: str, path: str) -> bytes:
        if path not in ("/healthz", "/livez"):
            return _not_found()
        judge = self.health.healthz if path == "/healthz" else self.health.livez
        status, body = judge(clock.now())
        self.metrics.count_answer(path.removeprefix("/"), status.value)
        return response(status, body, _JSON, {})

    def _answer_metrics(self, _method: str, path: str) -> bytes:
        if path == "/metrics":
            return response(HTTPStatus.OK, self.metrics.page(), _METRICS, {})
        texts = {"/healthz": b"ok", "/proxyMode": b"nftables"}
        if path in texts:
            return response(HTTPStatus.OK, texts[path], _TEXT, {})
        return _not_found()


def _not_found() -> bytes:
    return response(HTTPStatus.NOT_FOUND, b"404 page not found\n", _TEXT, {})


def _listener(name: str, port: int) -> socket.socket:
    """Return a listening socket. Raises ``OSError``."""
    if name == "metrics":
        return socket.create_server(("127.0.0.1", port))
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))

"""The servers that a simulated cluster's API server calls, and the ways on which its requests get lost.

A server behind a Service answers at an endpoint as a real one does: the pod with that address must run on a
machine that has power and a connection. Time-outs and delays pass in the cluster's time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from podling import clock, ids
from podling.apiserver.backends.local_servers import ServerAnswer, ServerRequest, ServerUnreachable

NEVER_SECONDS = 1e9
"""A time after every time-out."""
ERROR = b"an injected fault"


class Route(Protocol):
    """Decides whether a packet to an address arrives."""

    def __call__(self, address: str) -> str:
        """Return why a connection fails; ``LOST`` if no answer comes; empty if a program answers."""
        ...


Handler = Callable[[ServerRequest], Awaitable[ServerAnswer]]
"""Answers requests, as a program in a pod does."""
LOST = "lost"


class ServerFault(Struct, kw_only=True, eq=False):
    """A fault of the requests to the servers that fit.

    Args:
        server: ``namespace/name`` of a Service, or a URL; a pattern.
        seconds: the delay of an answer.
        code: the HTTP status of the answer; 0: the connection breaks; None: the answer only comes later.
        hangs: no answer comes.
        share: the part of the requests that are faulty, drawn by the seed.
    """

    server: str = "*"
    seconds: float = 0.0
    code: int | None = None
    hangs: bool = False
    share: float = 1.0

    def decides(self, server: str) -> bool:
        """Return whether the fault decides a request."""
        if not fnmatchcase(server, self.server):
            return False
        return self.share >= 1.0 or ids.uniform(0.0, 1.0) < self.share


class SimulatedServers:
    """``LocalServers`` of a simulated cluster.

    Args:
        route: how requests to addresses of endpoints fare.
        has_network: servers that are not here are called over HTTPS; otherwise they are out of reach.
    """

    def __init__(self, route: Route, *, has_network: bool = False) -> None:
        self._route = route
        self._has_network = has_network
        self._servers: dict[str, _SimulatedServer] = {}
        self.faults: list[ServerFault] = []

    def serve(self, name: str, handler: Handler, *, needs_endpoint: bool = True) -> None:
        """Let ``handler`` answer for a server: ``namespace/name`` of a Service, or the beginning of a URL.

        Args:
            needs_endpoint: requests go to an endpoint of the Service; otherwise they arrive in any case.
        """
        is_url = "://" in name
        self._servers[name] = _SimulatedServer(
            self, name, handler, self._route, needs_endpoint=needs_endpoint and not is_url
        )

    def remove(self, name: str) -> None:
        """Let nothing answer for a server any more."""
        self._servers.pop(name, None)

    def of_service(self, namespace: str, name: str) -> _SimulatedServer | None:
        found = self._servers.get(f"{namespace}/{name}")
        if found is None and not self._has_network:
            return _SimulatedServer(self, f"{namespace}/{name}", _refuse, self._route, needs_endpoint=True)
        return found

    def of_url(self, url: str) -> _SimulatedServer | None:
        for name, found in self._servers.items():
            if url == name or url.startswith(name.rstrip("/") + "/"):
                return found
        if self._has_network:
            return None
        host = urlsplit(url).hostname or ""
        return _SimulatedServer(self, url, _unknown(host), self._route, needs_endpoint=False)


class _SimulatedServer:
    """``LocalServer``: one server with its faults and the way to it."""

    def __init__(
        self, servers: SimulatedServers, name: str, handler: Handler, route: Route, *, needs_endpoint: bool
    ) -> None:
        self._servers = servers
        self._name = name
        self._handler = handler
        self._route = route
        self._needs_endpoint = needs_endpoint

    @property
    def needs_endpoint(self) -> bool:
        return self._needs_endpoint

    async def answer(self, request: ServerRequest) -> ServerAnswer:
        if self._needs_endpoint:
            failure = self._route(request.address)
            if failure == LOST:
                await clock.sleep_in_request(NEVER_SECONDS)
            if failure:
                raise ServerUnreachable(failure)
        for fault in self._servers.faults:
            if fault.decides(self._name):
                return await self._faulty(fault, request)
        return await self._handler(request)

    async def _faulty(self, fault: ServerFault, request: ServerRequest) -> ServerAnswer:
        if fault.hangs:
            await clock.sleep_in_request(NEVER_SECONDS)
        if fault.seconds:
            await clock.sleep_in_request(fault.seconds)
        if fault.code is None:
            return await self._handler(request)
        if fault.code == 0:
            raise ServerUnreachable("EOF")
        return ServerAnswer(fault.code, ERROR, (("Content-Type", "text/plain"),))


async def _refuse(request: ServerRequest) -> ServerAnswer:
    raise ServerUnreachable(f"dial tcp {request.address}: connect: connection refused")


def _unknown(host: str) -> Handler:
    async def fail(_: ServerRequest) -> ServerAnswer:
        raise ServerUnreachable(f"dial tcp: lookup {host}: no such host")

    return fail

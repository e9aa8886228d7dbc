"""Servers in this process that stand for those behind the API server: webhooks and aggregated APIs.

A simulated cluster has no network, and a test may bring its webhook as a Python function. ``LocalServers``
finds such a server by the name under which the API server calls it; all others are called over HTTPS.
Time-outs pass in the cluster's time.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from podling import clock

REQUEST_SECONDS = 60.0
"""The time-out of clients' requests that are passed on. Source: kube-apiserver's ``--request-timeout``."""

Headers = tuple[tuple[str, str], ...]


class ServerRequest(Struct, frozen=True):
    """A request of the API server. ``path`` has the query; ``address``: host and port that were chosen.

    ``seconds`` is the time that the API server waits for the answer.
    """

    method: str
    path: str
    headers: Headers = ()
    body: bytes = b""
    address: str = ""
    seconds: float = REQUEST_SECONDS


class ServerAnswer(Struct, frozen=True):
    """An answer with a JSON body, unless ``headers`` name another type."""

    status: int = 200
    body: bytes = b""
    headers: Headers = (("Content-Type", "application/json"),)


class ServerUnreachable(ConnectionError):
    """A connection that cannot be made, or breaks; the text is that of Go's client."""


class LocalServer(Protocol):
    """A server in this process."""

    @property
    def needs_endpoint(self) -> bool:
        """Return whether its Service must have a ready endpoint, as it must for a server over HTTPS."""
        ...

    async def answer(self, request: ServerRequest) -> ServerAnswer:
        """Return the answer; it may come late or never. Raises ``ServerUnreachable``."""
        ...


class LocalServers(Protocol):
    """Finds the servers of this process."""

    def of_service(self, namespace: str, name: str) -> LocalServer | None:
        """Return the server behind a Service; None for one that is called over HTTPS."""
        ...

    def of_url(self, url: str) -> LocalServer | None:
        """Return the server at a URL; None for one that is called over HTTPS."""
        ...


async def exchange(server: LocalServer, request: ServerRequest) -> ServerAnswer:
    """Return a local server's answer. Raises ``TimeoutError`` and ``ServerUnreachable``."""
    async with clock.timeout(request.seconds):
        answer = await server.answer(request)
    return answer

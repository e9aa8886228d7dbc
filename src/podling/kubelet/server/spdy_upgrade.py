"""The HTTP upgrade to SPDY/3.1, which clients use that are older than the WebSocket protocol.

The client lists its protocols, one header each; the server selects the first that it supports and names it
in the response (``k8s.io/apimachinery/pkg/util/httpstream``). A client that lists none uses the first
version.
"""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from podling.machinery.errors import failure
from podling.streaming.upgrades import ClientConnection, accept_upgrade

SPDY = "SPDY/3.1"
VERSION_HEADER = "X-Stream-Protocol-Version"
SPDY_VERSIONS = {
    "v4.channel.k8s.io": 4,
    "v3.channel.k8s.io": 3,
    "v2.channel.k8s.io": 2,
    "channel.k8s.io": 1,
    "": 1,
}
"""Protocols of ``exec`` and ``attach``: 3 added the terminal's size, 4 the exit code."""


def wants_spdy(request: web.BaseRequest) -> bool:
    return request.headers.get("Upgrade", "").lower() == SPDY.lower()


def negotiate(offered: Sequence[str], known: Sequence[str]) -> str:
    """Return the first of the client's protocols that the server supports. Raises 403."""
    if not offered and "" in known:
        return ""
    found = next((name for name in offered if name in known), None)
    if found is None:
        ours = [name for name in known if name]
        why = f"client supports {list(offered)}, server accepts {ours}"
        raise failure(403, "Forbidden", f"unable to upgrade: unable to negotiate protocol: {why}")
    return found


async def accept_spdy(
    request: web.BaseRequest, known: Sequence[str], *, idle_seconds: float
) -> tuple[web.StreamResponse, ClientConnection, str]:
    """Upgrade to SPDY; return the response, the connection and the protocol inside. Raises 403."""
    texts = ",".join(request.headers.getall(VERSION_HEADER, ()))
    protocol = negotiate([name.strip() for name in texts.split(",") if name.strip()], known)
    headers = {VERSION_HEADER: protocol} if protocol else {}
    response, connection = await accept_upgrade(request, SPDY, headers, idle_seconds=idle_seconds)
    return response, connection, protocol

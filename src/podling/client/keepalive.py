"""Sockets that notice the silent end of their peer: a machine without power, a network that is gone.

A watch may be silent for minutes, so that silence alone means nothing. The kernel probes the peer instead:
one that does not answer for half a minute has gone, and the connection fails as if it had been closed.
"""

from __future__ import annotations

import socket
from typing import Any

IDLE_SECONDS, INTERVAL_SECONDS, QUESTIONS = 5, 5, 5
"""The kernel probes after so long a silence, then so often and so many times (client-go pings after 30 s, and
waits for 15 s). A machine that has restarted knows nothing of the connection: it refuses the first probe."""
UNACKNOWLEDGED_MILLISECONDS = 30_000
"""The time that the peer has to acknowledge what was sent."""


def new_socket(address: tuple[Any, ...]) -> socket.socket:
    """Return a socket for an address, as ``socket.getaddrinfo`` describes it."""
    family, kind, protocol, _, _ = address
    found = socket.socket(family, kind, protocol)
    try:
        watch(found)
    except OSError:
        found.close()
        raise
    return found


def watch(connection: socket.socket) -> None:
    """Have the kernel probe the peer."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, number in (
        ("TCP_KEEPIDLE", IDLE_SECONDS),
        ("TCP_KEEPINTVL", INTERVAL_SECONDS),
        ("TCP_KEEPCNT", QUESTIONS),
        ("TCP_USER_TIMEOUT", UNACKNOWLEDGED_MILLISECONDS),
    ):
        if (known := getattr(socket, option, None)) is not None:
            connection.setsockopt(socket.IPPROTO_TCP, known, number)

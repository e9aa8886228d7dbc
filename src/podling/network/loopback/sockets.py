"""Sockets that listen at a place. A Service's own address is bound to the loopback interface only."""

from __future__ import annotations

import os
import socket
import sys

from podling.network.loopback.places import Place

BACKLOG = 1024
_KINDS = {"TCP": socket.SOCK_STREAM, "UDP": socket.SOCK_DGRAM}


def listening(place: Place) -> socket.socket:
    """Return a socket that listens at ``place``, not blocking. Raises ``OSError`` if it cannot."""
    family = socket.AF_INET6 if ":" in place.address else socket.AF_INET
    opened = socket.socket(family, _KINDS[place.protocol] | socket.SOCK_CLOEXEC)
    try:
        if place.protocol == "TCP":
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if sys.platform == "linux" and os.geteuid() == 0:
            # Other machines could reach the address by a route of their own.
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
        opened.bind((place.address, place.port))
        if place.protocol == "TCP":
            opened.listen(BACKLOG)
        opened.setblocking(False)
    except BaseException:
        opened.close()
        raise
    return opened

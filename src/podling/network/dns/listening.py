"""The listening sockets of cluster DNS, bound by the node's process and handed on from process to process."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from contextlib import suppress

from podling.network.dns.messages import CONNECTIONS, DATAGRAMS, STATUS, Endpoint

DNS_PORT, STATUS_PORT = 53, 9153
BUFFER_BYTES = 4 * 1024 * 1024
"""Space for some thousand questions, for a moment without a reader: the start of a process, or a flood."""
_FREEBIND, _IPV6_FREEBIND = 15, 78
_RECEIVE_BUFFER_FORCE = 33
_TRIES = 16


class Listening:
    """Sockets, and what each of them is for."""

    def __init__(self) -> None:
        self.endpoints: list[Endpoint] = []
        self.sockets: list[socket.socket] = []

    def add(self, kind: str, found: socket.socket) -> None:
        ip, port = found.getsockname()[:2]
        self.endpoints.append(Endpoint(kind, ip, port))
        self.sockets.append(found)

    def close(self) -> None:
        for each in self.sockets:
            each.close()

    @property
    def ips(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.ip for each in self.endpoints))

    def port(self, kind: str) -> int:
        """Return the port that serves ``kind``."""
        return next(each.port for each in self.endpoints if each.kind == kind)


def bind(ips: Iterable[str]) -> Listening:
    """Bind the sockets for DNS and for figures on these addresses. Raises ``OSError``.

    Where a port is taken, by a server on every address of the machine, all addresses have another one, the
    same. The addresses need not exist yet.
    """
    wanted, listening = tuple(ips), Listening()
    try:
        for kinds, port in (((DATAGRAMS, CONNECTIONS), DNS_PORT), ((STATUS,), STATUS_PORT)):
            pairs = [(kind, ip) for ip in wanted for kind in kinds]
            for (kind, _), found in zip(pairs, _on_one_port(pairs, port), strict=True):
                listening.add(kind, found)
    except OSError:
        listening.close()
        raise
    return listening


def _on_one_port(pairs: Sequence[tuple[str, str]], port: int) -> list[socket.socket]:
    for attempt in range(_TRIES):
        found: list[socket.socket] = []
        chosen = 0 if attempt else port
        with suppress(OSError):
            for kind, ip in pairs:
                found.append(_bound(kind, ip, chosen))
                chosen = found[-1].getsockname()[1]
            return found
        for each in found:
            each.close()
    raise OSError(f"no port is free on {', '.join(ip for _, ip in pairs)}")


def _bound(kind: str, ip: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    made = socket.socket(family, socket.SOCK_DGRAM if kind == DATAGRAMS else socket.SOCK_STREAM)
    try:
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            made.setsockopt(socket.IPPROTO_IPV6, _IPV6_FREEBIND, 1)
        else:
            made.setsockopt(socket.IPPROTO_IP, _FREEBIND, 1)
        if kind == DATAGRAMS:
            with suppress(PermissionError):
                made.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, BUFFER_BYTES)
        else:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((ip, port))
        if kind != DATAGRAMS:
            made.listen(128)
    except OSError:
        made.close()
        raise
    return made

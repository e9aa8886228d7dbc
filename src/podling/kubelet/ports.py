"""Ports named in probes and hooks: a number, or the name of one of the container's own ports."""

from __future__ import annotations

from podling.api.core_v1 import Container
from podling.machinery.numbers import is_number


class UnknownPort(Exception):
    """The container has no port of that name, or the number is not a port."""


def resolve_port(port: int | str | None, container: Container) -> int:
    """Return the number of ``port``. Raises ``UnknownPort``."""
    if isinstance(port, str):
        named = next((found.container_port for found in container.ports if found.name == port), None)
        if named is None and is_number(port):
            named = int(port)
        if named is None:
            raise UnknownPort(f"couldn't find port: {port}")
        port = named
    if port is None or not 0 < port < 65536:
        raise UnknownPort(f"invalid port number: {port}")
    return port

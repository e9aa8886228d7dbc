"""The other servers that names are forwarded to: which are queried, in which order. Pure; takes ``now``.

Upstream: CoreDNS, ``plugin/forward`` (``max_fails 2``; where every server has failed, all are queried).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podling.network.dns.settings import Server

FAILURES_MAX = 2
LOOP_SECONDS = 30.0
"""A server that led back to us is left out for so long, then tested again."""


class Upstream:
    """One server, and what is known of its health."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.failures = 0
        """Questions in a row that it left without an answer."""
        self.probing = False
        self.loops_until = 0.0

    @property
    def is_down(self) -> bool:
        return self.failures >= FAILURES_MAX


class Upstreams:
    """Knows every server that is in use, so that its health outlives a change of settings."""

    def __init__(self) -> None:
        self._known: dict[Server, Upstream] = {}

    def of(self, servers: Iterable[Server]) -> list[Upstream]:
        return [self._known.setdefault(server, Upstream(server)) for server in servers]

    def keep_only(self, servers: Iterable[Server]) -> None:
        wanted = set(servers)
        for server in [each for each in self._known if each not in wanted]:
            del self._known[server]

    def all(self) -> list[Upstream]:
        return list(self._known.values())


def order(upstreams: Sequence[Upstream], first: int, now: float) -> list[Upstream]:
    """Return the servers to query, in order: those that are up, from number ``first`` on; if none is, all.

    A server that leads back to us is never queried.
    """
    safe = [each for each in upstreams if each.loops_until <= now]
    up = [each for each in safe if not each.is_down] or safe
    start = first % len(up) if up else 0
    return up[start:] + up[:start]

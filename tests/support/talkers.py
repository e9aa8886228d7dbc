"""Pods that keep connections to a Service during faults of nodes, and the check of what happened to them.

A connection must survive every fault but one: a restart of the machine of its client or of its server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from podling import clock
from tests.support.service_ground import FAMILIES, Ground, talk_service, talker
from tests.support.service_ways import NODES

CONNECT_SECONDS = 15.0


class Talkers:
    """A pod on each node for each address family, whose log names its server and each break.

    ``ended`` counts the connections that ended with a machine.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._servers: dict[str, int] = {}
        self.ended = 0
        ground.cluster.apply(talk_service())
        self._start(f"talker-{node}-{family}" for node in NODES for family in FAMILIES)

    def check(self, restarted: frozenset[int], fault: str) -> None:
        """Check every connection after a fault during which machines restarted; replace the ended ones."""
        ended = []
        for name, server in self._servers.items():
            if server in restarted or _node(name) in restarted:
                ended.append(name)
                continue
            log = self._log(name)
            assert "broken" not in log, f"{fault}: {name}: {log}"
            assert log.count("connected") == 1, f"{fault}: {name}: {log}"
        if ended:
            self._ground.cluster.kubectl("delete", "--wait", *(f"pod/{name}" for name in ended))
            self._start(ended)
            self.ended += len(ended)

    def _start(self, names: Iterable[str]) -> None:
        cluster, started = self._ground.cluster, list(names)
        for name in started:
            host = self._ground.address("talk", name.rpartition("-")[2])
            cluster.apply(talker(name, _node(name), host))
        cluster.kubectl("wait", "--for=condition=Ready", *(f"pod/{name}" for name in started))
        deadline = clock.monotonic() + CONNECT_SECONDS
        for name in started:
            while not (found := re.search(r"connected to server-(\d)", self._log(name))):
                assert clock.monotonic() < deadline, f"{name}: {self._log(name)}"
            self._servers[name] = int(found[1])

    def _log(self, name: str) -> str:
        return self._ground.cluster.kubectl("logs", name)


def _node(name: str) -> int:
    return int(name.split("-")[1])

"""Observes a cluster from outside: heartbeats and conditions of its nodes, and its memory."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from bench.abusing.wire import Endpoint, Wire, make_request, tls_of

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?watch=true&timeoutSeconds=7200"
NODES = "/api/v1/nodes?watch=true&timeoutSeconds=7200"
HEARTBEAT_SECONDS = 10.0
"""The interval of heartbeats: a quarter of the lease's 40 s."""
JITTER = 0.04
"""The part of the interval by which a heartbeat may be later, as in Kubernetes."""
MEMORY_SECONDS = 0.5


class Heartbeat(NamedTuple):
    """A renewed lease, with the moment at which its watcher got it."""

    node: str
    renewed: float
    arrived: float


def lateness(heartbeats: list[Heartbeat], now: float) -> float:
    """Return by how much the latest heartbeat came after its time, in seconds.

    A heartbeat is due an interval and its jitter after the one before. One that has not come yet is late too.
    """
    worst, last = 0.0, dict[str, Heartbeat]()
    for each in heartbeats:
        if each.node in last:  # the first one is the state at the begin of the watch, not a renewal
            worst = max(worst, each.arrived - each.renewed)
            worst = max(worst, each.arrived - last[each.node].renewed - HEARTBEAT_SECONDS * (1 + JITTER))
        last[each.node] = each
    due = [now - each.renewed - HEARTBEAT_SECONDS * (1 + JITTER) for each in last.values()]
    return max(worst, *due) if due else worst


def processes_of(pid: int) -> list[int]:
    """Return a process and its descendants that run the same program; containers run others."""
    found, row = [], [pid]
    program = _program(pid)
    while row:
        each = row.pop()
        if _program(each) == program:
            found.append(each)
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                row += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def _program(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""


def memory_mib(pid: int) -> float:
    """Return the proportional memory of a cluster's processes in MiB."""
    total = 0
    for each in processes_of(pid):
        try:
            text = Path(f"/proc/{each}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)
    return total / 1024


def peak_mib(pid: int) -> float:
    """Return the greatest resident memory that each of the processes ever had, in MiB, added up."""
    total = 0
    for each in processes_of(pid):
        try:
            text = Path(f"/proc/{each}/status").read_text()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM:")), 0)
    return total / 1024


class Observer:
    """Watches Leases and Nodes as the administrator, and measures memory every half second."""

    def __init__(self, admin: Endpoint, pid: int) -> None:
        self._admin, self._pid = admin, pid
        self._context = tls_of(admin)
        self.heartbeats: list[Heartbeat] = []
        self.not_ready: list[float] = []
        self.memory: list[tuple[float, float]] = []
        self._tasks: list[asyncio.Future[None]] = []

    def start(self) -> None:
        self._tasks = [
            asyncio.ensure_future(each)
            for each in (self._follow(LEASES, self._lease), self._follow(NODES, self._node), self._measure())
        ]

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _measure(self) -> None:
        while True:
            memory = await asyncio.to_thread(memory_mib, self._pid)
            self.memory.append((time.monotonic(), memory))
            await asyncio.sleep(MEMORY_SECONDS)

    async def _follow(self, path: str, take: Any) -> None:
        while True:
            rest = b""

            def received(data: bytes) -> None:
                nonlocal rest
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    if line.startswith(b'{"type"'):
                        take(json.loads(line)["object"])

            try:
                wire = await Wire.open(self._admin, self._context, received)
                await wire.ask(make_request(self._admin, "GET", path))
            except OSError:
                pass
            await asyncio.sleep(0.5)

    def _lease(self, lease: dict[str, Any]) -> None:
        now, wall = time.monotonic(), time.time()
        renewed = datetime.fromisoformat(lease["spec"]["renewTime"]).timestamp() - wall + now
        self.heartbeats.append(Heartbeat(lease["metadata"]["name"], renewed, now))

    def _node(self, node: dict[str, Any]) -> None:
        for condition in node.get("status", {}).get("conditions", ()):
            if condition["type"] == "Ready" and condition["status"] != "True":
                self.not_ready.append(time.monotonic())

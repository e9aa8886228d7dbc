"""A full node of probed pods: cost and punctuality of 220 probes every ten seconds.

Punctuality is seen from outside, by the time at which each probe arrives: HTTP probes at a server in this
process, exec probes in a file that the probed container writes. Once all pods are Ready, the most punctual
arrival of each probe sets its rhythm, and every other one is due a whole number of periods before or after
it; a probe left out makes all that follow late.

Cost is the processor time of the podling process and of every child that it waited for: for an
exec probe the OCI runtime that joins the container, and the command itself. Pods whose probes are both exec
are the worst case and have no goal. The pods' own processes and their monitors are theirs.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.harness import BenchCluster, Figure, cluster, cpu_seconds, cpu_seconds_of_children, show
from podling.api.core_v1 import Pod
from podling.client.http import HttpClient

PODS = 110
PERIOD_SECONDS = 10
WATCH_SECONDS = 40
SETTLE_SECONDS = 5
CPU_GOAL_PERCENT = 15
LATE_GOAL_SECONDS = 1
KINDS = ("liveness", "readiness")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
NOTE = 'read up _ </proc/uptime; echo "$up" >>/arrivals/"$0"'
"""The command of an exec probe: shell built-ins only, so that a probe is a single process."""

Arrivals = Mapping[str, list[float]]


Handlers = tuple[str, str]
"""Handlers of the liveness probe and of the readiness probe."""


def main() -> None:
    for handlers in (("httpGet", "httpGet"), ("exec", "httpGet"), ("exec", "exec")):
        with cluster("--runtime", "oci") as running:
            show(asyncio.run(measure(running, handlers)))


async def measure(running: BenchCluster, handlers: Handlers) -> list[Figure]:
    folder = running.data_directory / "arrivals"
    folder.mkdir()
    heard = Listener()
    server = await asyncio.get_running_loop().create_server(heard.protocol, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = HttpClient.from_kubeconfig(running.kubeconfig)
    try:
        await start_pods(client, [probed_pod(number, handlers, port, folder) for number in range(PODS)])
        await asyncio.sleep(PERIOD_SECONDS + SETTLE_SECONDS)
        began = time.monotonic()
        own, children = cpu_seconds(running.pid), cpu_seconds_of_children(running.pid)
        await asyncio.sleep(WATCH_SECONDS)
        seconds = time.monotonic() - began
        own = (cpu_seconds(running.pid) - own) / seconds * 100
        children = (cpu_seconds_of_children(running.pid) - children) / seconds * 100
        noted = heard.arrivals | written(folder)
        arrivals = {name: [moment for moment in times if moment > began] for name, times in noted.items()}
    finally:
        server.close()
        await client.close()
    return figures(handlers, own, children, arrivals)


def figures(handlers: Handlers, own: float, children: float, arrivals: Arrivals) -> list[Figure]:
    found = sorted(late for times in arrivals.values() for late in lateness(times, PERIOD_SECONDS))
    if len(arrivals) != PODS * len(KINDS) or not found:
        raise SystemExit(f"{len(arrivals)} probes arrived where {PODS * len(KINDS)} should")
    unit = "% of a core"
    name = f"{PODS} pods, {' and '.join(handlers)} probe every {PERIOD_SECONDS} s: CPU"
    goal = CPU_GOAL_PERCENT if "httpGet" in handlers else None
    return [
        Figure(name, own + children, unit, goal=goal),
        Figure("  the podling process", own, unit),
        Figure("  the processes it started and waited for", children, unit),
        Figure(f"  latest of {len(found)} probes", found[-1], "s", goal=LATE_GOAL_SECONDS),
        Figure("  p50 of their lateness", statistics.median(found) * 1e3, "ms"),
    ]


def lateness(times: Sequence[float], period: float) -> list[float]:
    """Return the delay of each arrival after its due time; the most punctual one sets the rhythm."""
    offsets = [moment - times[0] - count * period for count, moment in enumerate(times)]
    return [offset - min(offsets) for offset in offsets]


class Listener:
    """Answers every HTTP request with success, and notes when requests for each path came."""

    def __init__(self) -> None:
        self.arrivals: dict[str, list[float]] = defaultdict(list)

    def protocol(self) -> asyncio.Protocol:
        return _Connection(self.arrivals)


class _Connection(asyncio.Protocol):
    def __init__(self, arrivals: dict[str, list[float]]) -> None:
        self._arrivals = arrivals

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._arrivals[data.split(b" ", 2)[1].decode()].append(time.monotonic())
        self._transport.write(ANSWER)
        self._transport.close()


def written(folder: Path) -> dict[str, list[float]]:
    """Return the arrivals that exec probes recorded, by pod and kind."""
    return {file.name: [float(line) for line in file.read_text().split()] for file in folder.iterdir()}


def probed_pod(number: int, handlers: Handlers, port: int, folder: Path) -> Pod:
    name = f"probed-{number}"

    def probe(kind: str, handler: str) -> dict[str, Any]:
        action: dict[str, Any] = {"command": ["sh", "-c", NOTE, f"{kind}-{name}"]}
        if handler == "httpGet":
            action = {"host": "127.0.0.1", "port": port, "path": f"/{kind}-{name}"}
        return {handler: action, "periodSeconds": PERIOD_SECONDS, "timeoutSeconds": 5}

    container = {
        "name": "main",
        "image": "podling.local/host",
        "command": ["sleep", "infinity"],
        "livenessProbe": probe("liveness", handlers[0]),
        "readinessProbe": probe("readiness", handlers[1]),
        "volumeMounts": [{"name": "arrivals", "mountPath": "/arrivals"}],
    }
    plain: dict[str, Any] = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "volumes": [{"name": "arrivals", "hostPath": {"path": os.fspath(folder)}}],
            "containers": [container],
        },
    }
    return msgspec.convert(plain, Pod)


async def start_pods(client: HttpClient, pods: Sequence[Pod]) -> None:
    """Create all pods, and wait until each is Ready."""
    version = (await client.list(Pod, "default")).resource_version
    await asyncio.gather(*(client.create(pod) for pod in pods))
    ready: set[str] = set()
    async for event in client.watch(Pod, "default", resource_version=version):
        conditions = event.object.status.conditions
        if any(item.type == "Ready" and item.status == "True" for item in conditions):
            ready.add(event.object.metadata.name or "")
        if len(ready) == len(pods):
            return


if __name__ == "__main__":
    main()

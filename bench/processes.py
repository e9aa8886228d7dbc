"""``podling up --processes several`` beside ``one``, in turns: start, idle cost, and rates under load.

The nodes of the rates are Node objects without kubelets. ``wrk`` posts the pods, so that the clients use
little of the two cores that the cluster has. ``python -m bench.processes post`` measures one of them alone.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import yaml

from bench.harness import PODLING, BenchCluster, Figure, cluster, cpu_seconds, memory_mib, show
from bench.startup import start_to_ready
from podling.api.core_v1 import Node, NodeStatus
from podling.api.meta_v1 import ObjectMeta
from podling.client.http import HttpClient
from podling.cluster.processes.state_file import read_states

ARRANGEMENTS = ("one", "several")
STARTS, ROUNDS = 5, 3
SETTLE_SECONDS, WATCH_SECONDS = 10, 30
POST_SECONDS = 4
CLIENTS = 16
POSTED_NODES, NODES = 200, 1_000
SETS, REPLICAS = 10, 300
LOOK_SECONDS = 0.25

WITHOUT_KUBELETS = ("--nodes", "0", "--controllers", "*,-node-lifecycle-controller", "--runtime", "sim")
CONTAINER = {"name": "app", "image": "registry.example/app:1", "resources": {"requests": {"cpu": "1m"}}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "NAME", "labels": {"app": "web"}},
    "spec": {
        "containers": [
            {"name": "app", "image": "registry.example/app:1", "resources": {"requests": {"cpu": "1m"}}}
        ]
    },
}
POST = """
local count = 0
request = function()
  count = count + 1
  return wrk.format("POST", nil, nil, (string.gsub('BODY', "NAME", "p" .. count)))
end
"""
RATE = re.compile(r"Requests/sec:\s+([0-9.]+)")

Measure = Callable[[str], dict[str, float]]


def main() -> None:
    named = [measure for measure in MEASURES if measure.__name__ in sys.argv[1:]]
    for measure in named or MEASURES:
        show(compare(measure, TIMES[measure.__name__]))


def compare(measure: Measure, times: int) -> list[Figure]:
    """Measure both arrangements in turns; return the medians, those of ``one`` as the floor."""
    found: dict[str, list[dict[str, float]]] = {each: [] for each in ARRANGEMENTS}
    for number in range(times):
        for arrangement in ARRANGEMENTS if number % 2 else reversed(ARRANGEMENTS):
            found[arrangement].append(measure(arrangement))
    figures = []
    for name in found["one"][0]:
        one, several = (statistics.median(each[name] for each in found[each_]) for each_ in ARRANGEMENTS)
        unit, goal, more = UNITS[name]
        figures.append(Figure(name, several, unit, one, "one", goal, more_is_better=more))
    return figures


UNITS: dict[str, tuple[str, float | None, bool]] = {
    "start to Ready": ("s", None, False),
    "idle memory of all processes": ("MiB", None, False),
    "idle CPU": ("% of a core", None, False),
    f"pods posted by {CLIENTS} clients": ("/s", None, True),
    "pods scheduled meanwhile": ("/s", None, True),
    "pods posted, until the last has a node": ("/s", 1.8, True),
    "CPU for a pod, all processes": ("ms", None, False),
    "CPU for a pod, the busiest process": ("ms", None, False),
    f"{SETS * REPLICAS} pods on {NODES} nodes": ("/s", 1.4, True),
    "CPU for each, all processes": ("ms", None, False),
    "CPU for each, the busiest process": ("ms", None, False),
}
"""Unit, goal of the ratio of several to one, and whether more is better."""


def start(arrangement: str) -> dict[str, float]:
    return {"start to Ready": start_to_ready("--processes", arrangement)}


def idle(arrangement: str) -> dict[str, float]:
    """Measure a cluster with one real node and no pods."""
    with cluster("--processes", arrangement) as running:
        time.sleep(SETTLE_SECONDS)
        pids = processes(running)
        before = sum(map(cpu_seconds, pids))
        time.sleep(WATCH_SECONDS)
        share = (sum(map(cpu_seconds, pids)) - before) / WATCH_SECONDS * 100
        memory = sum(map(memory_mib, pids))
    return {"idle memory of all processes": memory, "idle CPU": share}


def processes(running: BenchCluster) -> list[int]:
    """Return every process of a cluster."""
    found = read_states(running.data_directory)
    return [running.pid, *(each.pid for each in found.parts)] if found else [running.pid]


def post(arrangement: str) -> dict[str, float]:
    """Post pods for a while beside the scheduler that places them, then wait until it has placed all.

    Only the rate of both together distinguishes two arrangements: in one process the clients can take
    the processor from the scheduler, so that pods are posted faster than they are placed.
    """
    with cluster("--processes", arrangement, *WITHOUT_KUBELETS) as running:
        asyncio.run(make_nodes(running, POSTED_NODES))
        time.sleep(1)
        api, pids = Api(running), processes(running)
        before = [cpu_seconds(pid) for pid in pids]
        with tempfile.TemporaryDirectory(prefix="podling-bench-") as folder:
            script = Path(folder) / "post.lua"
            script.write_text(POST.replace("BODY", json.dumps(POD)))
            command = ["wrk", "-t1", f"-c{CLIENTS}", f"-d{POST_SECONDS}", "-s", str(script)]
            for header in (api.authorization, "Content-Type: application/json"):
                command += ["-H", header]
            url = f"{api.server}/api/v1/namespaces/default/pods"
            began = time.perf_counter()
            done = subprocess.run([*command, url], check=True, capture_output=True, text=True).stdout
        scheduled = api.scheduled()
        found = RATE.search(done)
        if found is None or "Non-2xx" in done or "Socket errors" in done:
            raise RuntimeError(f"wrk says:\n{done}")
        while api.has_unscheduled():
            time.sleep(LOOK_SECONDS / 5)
        seconds, pods = time.perf_counter() - began, api.scheduled()
        used = [cpu_seconds(pid) - start for pid, start in zip(pids, before, strict=True)]
        return {
            f"pods posted by {CLIENTS} clients": float(found[1]),
            "pods scheduled meanwhile": scheduled / POST_SECONDS,
            "pods posted, until the last has a node": pods / seconds,
            "CPU for a pod, all processes": sum(used) / pods * 1e3,
            "CPU for a pod, the busiest process": max(used) / pods * 1e3,
        }


def schedule(arrangement: str) -> dict[str, float]:
    """Measure from the POST of replica sets to the last of their pods that has a node."""
    with cluster("--processes", arrangement, *WITHOUT_KUBELETS) as running:
        asyncio.run(make_nodes(running, NODES))
        time.sleep(1)
        api, pids = Api(running), processes(running)
        before = [cpu_seconds(pid) for pid in pids]
        began = time.perf_counter()
        for number in range(SETS):
            api.post("/apis/apps/v1/namespaces/default/replicasets", replica_set(number))
        while api.scheduled() < SETS * REPLICAS:
            time.sleep(LOOK_SECONDS)
        seconds, pods = time.perf_counter() - began, SETS * REPLICAS
        used = [cpu_seconds(pid) - start for pid, start in zip(pids, before, strict=True)]
        return {
            f"{pods} pods on {NODES} nodes": pods / seconds,
            "CPU for each, all processes": sum(used) / pods * 1e3,
            "CPU for each, the busiest process": max(used) / pods * 1e3,
        }


def replica_set(number: int) -> dict[str, object]:
    labels = {"set": f"s{number}"}
    template = {"metadata": {"labels": labels}, "spec": POD["spec"]}
    return {
        "metadata": {"name": f"s{number}"},
        "spec": {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template},
    }


class Api:
    """Plain requests of an administrator."""

    def __init__(self, running: BenchCluster) -> None:
        found = yaml.safe_load(running.kubeconfig.read_text())["clusters"][0]["cluster"]
        self.server = found["server"]
        self._context = ssl.create_default_context(
            cadata=base64.b64decode(found["certificate-authority-data"]).decode()
        )
        command = [*PODLING, "token", "create", "--data-dir", str(running.data_directory)]
        token = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        self.authorization = f"Authorization: Bearer {token}"

    def post(self, path: str, body: object) -> None:
        self._send(path, json.dumps(body).encode())

    def scheduled(self) -> int:
        """Return the number of pods that have a node."""
        return self._send("/api/v1/pods?fieldSelector=spec.nodeName!%3D").count(b'"nodeName":')

    def has_unscheduled(self) -> bool:
        """Return whether a pod has no node yet."""
        return b'"uid"' in self._send("/api/v1/pods?limit=1&fieldSelector=spec.nodeName%3D")

    def _send(self, path: str, body: bytes | None = None) -> bytes:
        name, _, value = self.authorization.partition(": ")
        headers = {name: value, "Content-Type": "application/json"}
        request = urllib.request.Request(self.server + path, body, headers)
        with contextlib.closing(urllib.request.urlopen(request, context=self._context)) as response:
            found: bytes = response.read()
            return found


async def make_nodes(running: BenchCluster, count: int) -> None:
    """Create Node objects that pods fit on, without the taint of nodes that have not reported."""
    client = HttpClient.from_kubeconfig(running.kubeconfig)
    allocatable = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    try:
        for number in range(count):
            labels = {"topology.kubernetes.io/zone": f"zone-{number % 10}"}
            metadata = ObjectMeta(name=f"node-{number}", labels=labels)
            status = NodeStatus(capacity=allocatable, allocatable=allocatable)
            await client.create(Node(metadata=metadata, status=status))
            await client.patch(Node, f"node-{number}", {"spec": {"taints": None}})
    finally:
        await client.close()


MEASURES: tuple[Measure, ...] = (start, idle, post, schedule)
TIMES = {"start": STARTS, "idle": 1, "post": ROUNDS, "schedule": ROUNDS}


if __name__ == "__main__":
    main()

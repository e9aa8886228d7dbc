"""Simulated clusters: the CPU time of filling one, of idle hours, and of a day with changes.

``python -m bench sim`` measures the quick load; ``python -m bench.sim LOAD`` measures one load, with sizes of
one's own if they are given: ``python -m bench.sim idle --nodes 100 --pods 1000 --hours 1``. Each load runs in
a process of its own. The time is that process' CPU time, so other work of the machine changes it little.
``--profile FILE`` writes what took the time of the hours, for ``pstats``.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from msgspec import Struct, convert, structs, to_builtins

from bench.harness import Figure, show

PODS_OF_A_DEPLOYMENT = 100
CONTAINER = {"name": "main", "image": "load:1", "resources": {"requests": {"cpu": "100m"}}}
PROBES = {
    "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 10},
    "livenessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 10},
}
READY_SECONDS_MAX = 1800
"""The virtual time within which everything must run."""
REPLACED_SHARE = 0.05
"""The part of the pods that a day with changes deletes in each hour."""


class Size(Struct, frozen=True, kw_only=True):
    """The size of a cluster and the virtual time that passes in it."""

    nodes: int
    pods: int
    hours: float
    changes: bool = False
    """Replace a twentieth of the pods in each hour, and roll everything out in the middle."""
    probes: bool = False
    """Probe readiness and liveness of each pod every ten seconds."""


class Goal(Struct, frozen=True, kw_only=True):
    """The most that a load may take: seconds, seconds, MiB."""

    fill: float | None = None
    hours: float | None = None
    memory: float | None = None


class Rate(Struct, frozen=True, kw_only=True):
    """A load that only the scheduler has: pods that wait, and nodes without kubelets."""

    nodes: int
    pods: int


class Result(Struct, frozen=True, kw_only=True):
    """CPU seconds to the last running pod, CPU seconds of the hours after it, and the peak memory in MiB."""

    fill: float
    hours: float
    memory: float


SCHEDULE = "schedule"
SCHEDULE_SIZE = Rate(nodes=5_000, pods=30_000)
SCHEDULE_GOAL = 500.0
"""Pods a second."""
LOADS = {
    "idle": (Size(nodes=100, pods=1_000, hours=1), Goal(hours=2)),
    "large": (Size(nodes=1_000, pods=10_000, hours=24), Goal(fill=60, hours=600, memory=3 * 1024)),
    "changes": (
        Size(nodes=1_000, pods=10_000, hours=24, changes=True),
        Goal(fill=60, hours=1_200, memory=3 * 1024),
    ),
    "probes": (Size(nodes=100, pods=1_000, hours=24, probes=True), Goal(hours=10)),
}
QUICK = ("idle",)
"""The loads that run without being named: the others take many minutes."""


def main() -> None:
    """Measure the quick loads."""
    for name in QUICK:
        size, goal = LOADS[name]
        report(name, size, goal, measured(size))


def report(name: str, size: Size, goal: Goal, result: Result) -> None:
    title = f"{size.nodes:,} nodes, {size.pods:,} pods"
    hours = f"{size.hours:g} h" + (" with changes" if size.changes else " idle")
    show(
        [
            Figure(f"{name}: {title}: filled", result.fill, "s of CPU", goal=goal.fill),
            Figure(f"{name}: {title}: {hours}", result.hours, "s of CPU", goal=goal.hours),
            Figure(f"{name}: {title}: peak memory", result.memory, "MiB", goal=goal.memory),
        ]
    )


def report_rate(options: argparse.Namespace) -> None:
    """Measure and show how fast pods are scheduled."""
    from podling.sim.loop import run

    asked = SCHEDULE_SIZE
    size = Rate(nodes=options.nodes or asked.nodes, pods=options.pods or asked.pods)
    title = f"{SCHEDULE}: {size.nodes:,} nodes, {size.pods:,} pods"
    goal = SCHEDULE_GOAL if size == asked else None
    figure = Figure(title, run(pods_a_second(size)), "pods/s of CPU", goal=goal, more_is_better=True)
    show([figure])


def measured(size: Size, profile: str = "") -> Result:
    """Measure a load in a process of its own. Raises ``CalledProcessError``."""
    command = [sys.executable, "-m", "bench.sim", "--measure", json.dumps(to_builtins(size))]
    options = ["--profile", profile] if profile else []
    done = subprocess.run([*command, *options], check=True, stdout=subprocess.PIPE, text=True)
    return convert(json.loads(done.stdout), Result)


def measure(size: Size, profile: str) -> Result:
    """Fill a cluster, let the hours pass, and return what both took."""
    from podling.cluster.garbage_collection import settle
    from podling.sim.loop import run

    settle()
    recorder = cProfile.Profile() if profile else None
    result = run(live(size, recorder or nullcontext()))
    if recorder is not None:
        recorder.dump_stats(profile)
    return result


async def live(size: Size, during_hours: Any) -> Result:
    """Fill a cluster and let the hours pass."""
    from podling.sim.simulated_cluster import simulated_cluster
    from podling.sim.simulated_node import NodeSettings

    began = time.process_time()
    nodes = [NodeSettings(name=f"node-{number}", cpu="32", memory="256Gi") for number in range(size.nodes)]
    async with simulated_cluster(nodes) as cluster:
        for number, count in enumerate(portions(size.pods)):
            await cluster.client.create(deployment(f"load-{number}", count, size.probes))
        await all_run(cluster, size.pods)
        filled = time.process_time()
        with during_hours:
            await (day_of_changes if size.changes else idle_hours)(cluster, size)
        ended = time.process_time()
        if await running(cluster) != size.pods:
            raise RuntimeError("not all pods run at the end")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return Result(fill=filled - began, hours=ended - filled, memory=peak)


async def pods_a_second(size: Rate) -> float:
    """Return how many waiting pods are bound in a second of CPU time of scheduler and API server."""
    from podling.api.core_v1 import ServiceAccount
    from podling.sim.simulated_cluster import ClusterSettings, simulated_cluster

    async with simulated_cluster(0, ClusterSettings(controllers=())) as cluster:
        await cluster.stop_control_plane()
        account = {"metadata": {"name": "default", "namespace": "default"}}
        await cluster.client.create(convert(account, ServiceAccount))
        for number in range(size.nodes):
            made = await cluster.client.create(bare_node(number))
            # The controller that removes the taint of a new node does not run.
            await cluster.client.update(structs.replace(made, spec=structs.replace(made.spec, taints=())))
        for number in range(size.pods):
            await cluster.client.create(bare_pod(number))
        began = time.process_time()
        await cluster.start_control_plane()
        while await bound(cluster) < size.pods:
            await cluster.advance(seconds=1)
        return size.pods / (time.process_time() - began)


def bare_node(number: int) -> Any:
    """Return a node that is Ready without a kubelet."""
    from podling.api.core_v1 import Node

    name = f"node-{number}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % 10}"}
    capacity = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"capacity": capacity, "allocatable": capacity, "conditions": conditions}
    return convert({"metadata": {"name": name, "labels": labels}, "status": status}, Node)


def bare_pod(number: int) -> Any:
    from podling.api.core_v1 import Pod

    labels = {"app": f"load-{number // PODS_OF_A_DEPLOYMENT}"}
    metadata = {"name": f"pod-{number}", "namespace": "default", "labels": labels}
    return convert({"metadata": metadata, "spec": {"containers": [CONTAINER]}}, Pod)


async def bound(cluster: Any) -> int:
    from podling.api.core_v1 import Pod

    pods = (await cluster.client.list(Pod, "default")).items
    return sum(bool(pod.spec.node_name) for pod in pods)


async def idle_hours(cluster: Any, size: Size) -> None:
    await cluster.advance(hours=size.hours)


async def day_of_changes(cluster: Any, size: Size) -> None:
    """Delete a part of the pods in each hour, and roll all Deployments out in the hour in the middle."""
    from podling.api.core_v1 import Pod

    hours = int(size.hours)
    for hour in range(hours):
        if hour == hours // 2:
            await roll_out(cluster)
        pods = (await cluster.client.list(Pod, "default")).items
        step = round(1 / REPLACED_SHARE)
        for pod in pods[hour % step :: step]:
            await cluster.client.delete(Pod, pod.metadata.name or "", "default")
        await cluster.advance(hours=1)


async def roll_out(cluster: Any) -> None:
    """Change every Deployment's template, as ``kubectl rollout restart`` does."""
    from podling.api.apps_v1 import Deployment

    annotations = {"kubectl.kubernetes.io/restartedAt": "now"}
    patch = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
    for each in (await cluster.client.list(Deployment, "default")).items:
        await cluster.client.patch(Deployment, each.metadata.name or "", patch, "default")


async def all_run(cluster: Any, count: int) -> None:
    """Wait until so many pods run. Raises ``RuntimeError`` after half an hour of virtual time."""
    for _ in range(READY_SECONDS_MAX // 5):
        if await running(cluster) == count:
            return
        await cluster.advance(seconds=5)
    raise RuntimeError(f"{await running(cluster)} of {count} pods run after half an hour")


async def running(cluster: Any) -> int:
    from podling.api.core_v1 import Pod

    pods = (await cluster.client.list(Pod, "default")).items
    return sum(pod.status.phase == "Running" for pod in pods)


def portions(pods: int) -> Sequence[int]:
    """Return the replicas of Deployments that have so many pods together."""
    whole, rest = divmod(pods, PODS_OF_A_DEPLOYMENT)
    return [PODS_OF_A_DEPLOYMENT] * whole + ([rest] if rest else [])


def deployment(name: str, replicas: int, probes: bool) -> Any:
    from podling.api.apps_v1 import Deployment

    labels = {"app": name}
    container = {**CONTAINER, **PROBES} if probes else CONTAINER
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return convert({"metadata": {"name": name, "namespace": "default"}, "spec": spec}, Deployment)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("load", nargs="?", choices=(*LOADS, SCHEDULE), default="idle")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--pods", type=int)
    parser.add_argument("--hours", type=float)
    parser.add_argument("--profile", default="", metavar="FILE")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    return parser.parse_args()


def run_command() -> None:
    options = parse()
    if options.measure:
        result = measure(convert(json.loads(options.measure), Size), options.profile)
        print(json.dumps(to_builtins(result)))
        return
    if options.load == SCHEDULE:
        report_rate(options)
        return
    size, goal = LOADS[options.load]
    chosen = {name: value for name in ("nodes", "pods", "hours") if (value := getattr(options, name))}
    other = Size(**{**to_builtins(size), **chosen})
    result = measured(other, options.profile)
    report(options.load, other, goal if other == size else Goal(), result)


if __name__ == "__main__":
    run_command()

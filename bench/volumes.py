"""Volumes that follow their sources: how soon 100 pods have a changed ConfigMap, and the cost when idle.

The files are read on the node, which shows them when the containers see them. The cost is the CPU time of the
cluster with these pods, less that with as many pods without volumes.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from pathlib import Path

from bench.harness import BenchCluster, Figure, cluster, cpu_seconds, show

PODS = 100
CHANGES = 10
IDLE_SECONDS = 90.0
"""Longer than the period after which volumes are compared with their sources in any case."""
DEADLINE_SECONDS = 120.0


def main() -> None:
    with cluster("--runtime", "oci") as running:
        start(running, "plain", with_volumes=False)
        plain = idle_share(running)
        running.kubectl("delete", "pods", "--all", "--grace-period=0", "--force", "--wait=true")
        change(running, 0)
        start(running, "with", with_volumes=True)
        files = files_of(running)
        delays = [delay for number in range(1, CHANGES + 1) for delay in delays_of(running, files, number)]
        following = idle_share(running)
    show(
        [
            Figure("ConfigMap change to file, median", statistics.median(delays), "s"),
            Figure(f"p99 of {PODS} pods", statistics.quantiles(delays, n=100)[98], "s", goal=2),
            Figure(f"idle with {PODS} pods without volumes", plain * 100, "% of a core"),
            Figure("what their volumes add", (following - plain) * 100, "% of a core", goal=1),
        ]
    )


def start(running: BenchCluster, name: str, *, with_volumes: bool) -> None:
    """Create the pods and wait until all of them run."""
    container: dict[str, object] = {
        "name": "app",
        "image": "podling.local/host",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", "infinity"],
    }
    spec: dict[str, object] = {"containers": [container], "automountServiceAccountToken": with_volumes}
    if with_volumes:
        container["volumeMounts"] = [{"name": "files", "mountPath": "/files"}]
        spec["volumes"] = [{"name": "files", "configMap": {"name": "settings"}}]
    items = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{number}"}, "spec": spec}
        for number in range(PODS)
    ]
    apply(running, {"apiVersion": "v1", "kind": "List", "items": items})
    running.kubectl("wait", "pods", "--all", "--for=condition=Ready", "--timeout=300s")


def change(running: BenchCluster, number: int) -> None:
    data = {"number": str(number), "other": "unchanged"}
    apply(running, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data})


def apply(running: BenchCluster, objects: dict[str, object]) -> None:
    command = ["kubectl", "--kubeconfig", str(running.kubeconfig), "apply", "-f", "-"]
    subprocess.run(command, input=json.dumps(objects), text=True, check=True, stdout=subprocess.DEVNULL)


def files_of(running: BenchCluster) -> list[Path]:
    found = list(running.data_directory.glob("**/volumes/kubernetes.io~configmap/files/number"))
    if len(found) != PODS:
        raise RuntimeError(f"{len(found)} volumes instead of {PODS}")
    return found


def delays_of(running: BenchCluster, files: list[Path], number: int) -> list[float]:
    """Return for each file the seconds between the answer to the change and its new content."""
    change(running, number)
    began = time.perf_counter()
    delays, left = [], files
    while left:
        if time.perf_counter() - began > DEADLINE_SECONDS:
            raise RuntimeError(f"{len(left)} volumes are not up to date")
        old = [path for path in left if path.read_text() != str(number)]
        delays += [time.perf_counter() - began] * (len(left) - len(old))
        left = old
        time.sleep(0.002)
    return delays


def idle_share(running: BenchCluster) -> float:
    """Return the part of a core that the cluster uses while nothing changes."""
    time.sleep(15)
    before, began = cpu_seconds(running.pid), time.perf_counter()
    time.sleep(IDLE_SECONDS)
    return (cpu_seconds(running.pid) - before) / (time.perf_counter() - began)

"""Cost and age of ``metrics.k8s.io`` for a node of 110 pods: what ``kubectl top`` and autoscalers read.

``python -m bench metrics`` measures simulated pods; ``BENCH_RUNTIME=oci`` real ones.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime

from bench.harness import Figure, cluster, cpu_seconds, show

PODS = 110
WATCH_SECONDS = 60
PATH = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"


def main() -> None:
    with cluster("--runtime", os.environ.get("BENCH_RUNTIME", "sim")) as running:
        kubectl = ["kubectl", "--kubeconfig", str(running.kubeconfig)]
        usage = '{"usage": [{"cpuMillicores": 10, "memoryBytes": 10000000}]}'
        metadata = {"labels": {"app": "m"}, "annotations": {"sim.podling.dev/c": usage}}
        container = {"name": "c", "image": "podling.local/host", "command": ["sleep", "3600"]}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
        template = {"metadata": metadata, "spec": spec}
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "m"},
            "spec": {"replicas": PODS, "selector": {"matchLabels": {"app": "m"}}, "template": template},
        }
        subprocess.run(
            [*kubectl, "apply", "-f", "-"],
            input=json.dumps(deployment).encode(),
            check=True,
            stdout=sys.stderr,
        )
        wait = ["rollout", "status", "deployment/m", "--timeout=300s"]
        subprocess.run([*kubectl, *wait], check=True, stdout=sys.stderr)
        time.sleep(15)
        idle = share_of(running.pid, kubectl, reads=False)
        busy = share_of(running.pid, kubectl, reads=True)
        show(
            [
                Figure(
                    f"metrics of {PODS} pods: CPU while read every 15 s",
                    busy[0] - idle[0],
                    "% of a core",
                    goal=1,
                ),
                Figure("metrics: oldest sample seen", busy[1], "s", goal=15),
            ]
        )


def share_of(pid: int, kubectl: list[str], *, reads: bool) -> tuple[float, float]:
    """Return the share of a core in percent, and the age of the oldest sample that was read."""
    oldest = 0.0
    before, began = cpu_seconds(pid), time.monotonic()
    while time.monotonic() - began < WATCH_SECONDS:
        if reads:
            answer = json.loads(
                subprocess.run([*kubectl, "get", "--raw", PATH], check=True, capture_output=True).stdout
            )
            assert len(answer["items"]) == PODS, f"{len(answer['items'])} pods have metrics"
            now = datetime.now(UTC)
            ages = [now - datetime.fromisoformat(each["timestamp"]) for each in answer["items"]]
            oldest = max(oldest, *(age.total_seconds() for age in ages))
        time.sleep(15)
    return (cpu_seconds(pid) - before) / (time.monotonic() - began) * 100, oldest


if __name__ == "__main__":
    main()

"""Rolling updates of a Deployment under constant load through its Service lose no request.

``PODLING_ROLLING_UPDATES`` is the number of updates. One client is a pod, the other a process of the node.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import DEADLINE, RealCluster, namespace, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root]

UPDATES = int(os.environ.get("PODLING_ROLLING_UPDATES", "3"))
SPACE = "rolling"
IN = ("-n", SPACE)
LOAD = Path(__file__).parents[1] / "support" / "steady_load.py"
RATE = "50"
SECONDS = 60
SERVER = """
mkdir /tmp/www && echo "$POD" >/tmp/www/index.html
busybox httpd -f -p 8080 -h /tmp/www &
trap 'kill $!; exit 0' TERM
wait
"""


@pytest.fixture(scope="module")
def web(cluster: RealCluster) -> Iterator[RealCluster]:
    """The cluster with two servers behind the Service ``web``, each named in what it serves."""
    with namespace(cluster, SPACE):
        cluster.apply(SERVICE)
        cluster.apply(DEPLOYMENT)
        cluster.kubectl("rollout", "status", "deployment/web", *IN, f"--timeout={DEADLINE}")
        yield cluster


@contextmanager
def load_from_pod(cluster: RealCluster, address: str) -> Iterator[dict[str, Any]]:
    """Send requests from a pod as long as the block lasts; the result is filled in after it."""
    manifest = shell_pod(
        "load",
        "",
        container={
            "command": ["python3", "/load.py", address, "80", RATE],
            "volumeMounts": [{"name": "program", "mountPath": "/load.py", "readOnly": True}],
        },
        volumes=[{"name": "program", "hostPath": {"path": str(LOAD), "type": "File"}}],
        restartPolicy="Never",
        terminationGracePeriodSeconds=SECONDS,
    )
    manifest["metadata"]["namespace"] = SPACE
    cluster.apply(manifest)
    cluster.wait_ready("load", *IN)
    result: dict[str, Any] = {}
    command = cluster.kubectl_command("logs", "--follow", "load", *IN)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as log:
        try:
            yield result
            cluster.kubectl("delete", "pod", "load", *IN)
            result |= json.loads(log.communicate(timeout=SECONDS)[0])
        finally:
            log.kill()


@contextmanager
def load_from_node(address: str) -> Iterator[dict[str, Any]]:
    """Send requests from this machine as long as the block lasts; the result is filled in after it."""
    result: dict[str, Any] = {}
    command = [sys.executable, str(LOAD), address, "80", RATE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield result
            process.send_signal(signal.SIGTERM)
            result |= json.loads(process.communicate(timeout=SECONDS)[0])
        finally:
            process.kill()


@pytest.mark.timeout(120 + 10 * UPDATES)
def test_rolling_updates_lose_no_request(web: RealCluster) -> None:
    address = web.get("service", "web", *IN)["spec"]["clusterIP"]
    with load_from_pod(web, address) as in_pod, load_from_node(address) as on_node:
        for number in range(UPDATES):
            change = {"spec": {"template": {"metadata": {"annotations": {"update": str(number)}}}}}
            web.kubectl("patch", "deployment", "web", *IN, "-p", json.dumps(change))
            web.kubectl("rollout", "status", "deployment/web", *IN, f"--timeout={DEADLINE}")
    for result in (in_pod, on_node):
        assert not result["failures"], f"{len(result['failures'])} requests lost:\n" + "\n".join(
            result["failures"]
        )
        assert len(result["answers"]) >= 2 * UPDATES, result["answers"]


SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": SPACE},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": SPACE},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "terminationGracePeriodSeconds": 10,
                "containers": [
                    {
                        "name": "main",
                        "image": "podling.local/host",
                        "command": ["sh", "-c", SERVER],
                        "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                        "readinessProbe": {"httpGet": {"port": 8080}, "periodSeconds": 1},
                        "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
                    }
                ],
            },
        },
    },
}

"""An operator written with kopf, on a real cluster over HTTPS: create, update, resume, delete.

Every step waits for the API's own objects; nothing else shows the operator's progress.
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

from tests.support.clusters import RealCluster

pytestmark = pytest.mark.e2e

OPERATOR = Path(__file__).parents[1] / "support" / "webapp_operator.py"
FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
HANDLED = r"{.metadata.annotations.kopf\.zalando\.org/last-handled-configuration}"
SECONDS = 30


@pytest.fixture(scope="module")
def cluster(sim_cluster: RealCluster) -> Iterator[RealCluster]:
    """A cluster with simulated pods: the operator sees the same objects."""
    cluster_knows_webapps(sim_cluster)
    yield sim_cluster
    sim_cluster.kubectl("delete", "crd", "webapps.example.com", f"--timeout={SECONDS}s")
    sim_cluster.kubectl("delete", "configmap", "-l", "by=operator")


def cluster_knows_webapps(cluster: RealCluster) -> None:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {
        "type": "object",
        "required": ["size"],
        "properties": {"size": {"type": "integer", "minimum": 0}, "title": {"type": "string"}},
    }
    schema = {"type": "object", "properties": {"spec": spec, "status": anything}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    cluster.apply(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "webapps.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "webapps", "kind": "WebApp"},
                "versions": [version],
            },
        }
    )
    cluster.kubectl("wait", "--for=condition=Established", "crd/webapps.example.com", f"--timeout={SECONDS}s")


@contextmanager
def operator(cluster: RealCluster, log: Path) -> Iterator[None]:
    """Run the operator in a process of its own, which has to end cleanly on SIGTERM."""
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "-n", "default", str(OPERATOR)]
    environment = os.environ | {"KUBECONFIG": str(cluster.kubeconfig)}
    with log.open("ab") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            yield
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) in (0, -signal.SIGTERM), log.read_text()
        finally:
            process.kill()
            process.wait()
            print(log.read_text())


def webapp(name: str, size: int) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "WebApp",
        "metadata": {"name": name},
        "spec": {"size": size},
    }


def wait(cluster: RealCluster, what: str, *conditions: str) -> None:
    for condition in conditions:
        cluster.kubectl("wait", what, f"--for={condition}", f"--timeout={SECONDS}s")


def event(cluster: RealCluster, name: str, selector: str) -> str:
    """Wait for the first such event about an object and return its message."""
    command = cluster.kubectl_command(
        *("get", "events", "--watch", f"--request-timeout={SECONDS}s", "-o", r"jsonpath={.message}{'\n'}"),
        f"--field-selector=involvedObject.name={name},{selector}",
    )
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout
        line = watching.stdout.readline()
        watching.kill()
    return line


def resize(cluster: RealCluster, name: str, size: int) -> None:
    cluster.kubectl("patch", "webapp", name, "--type=merge", "-p", json.dumps({"spec": {"size": size}}))


def test_a_life_under_an_operator(cluster: RealCluster, tmp_path: Path) -> None:
    log = tmp_path / "operator.log"
    with operator(cluster, log):
        for name in ("shop", "blog"):
            cluster.apply(webapp(name, 2))
        wait(cluster, "webapp/shop", "jsonpath={.status.create.deployment}=shop")
        wait(cluster, "deployment/shop", "jsonpath={.status.readyReplicas}=2")
        created = cluster.get("webapp", "shop")
        assert created["metadata"]["finalizers"] == [FINALIZER]
        (owner,) = cluster.get("deployment", "shop")["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("WebApp", created["metadata"]["uid"])
        wait(cluster, "webapp/blog", "jsonpath={.status.create.deployment}=blog")
        assert event(cluster, "shop", "reason=Deployed") == "2 wanted\n"

        resize(cluster, "shop", 3)
        wait(cluster, "deployment/shop", "jsonpath={.status.readyReplicas}=3")
        wait(cluster, "webapp/shop", "jsonpath={.status.before}=2", "jsonpath={.status.size}=3")

    # The operator is down: an object changes, one is being deleted, and one is new.
    resize(cluster, "shop", 1)
    cluster.kubectl("delete", "webapp", "blog", "--wait=false")
    cluster.apply(webapp("late", 1))
    assert cluster.get("webapp", "blog")["metadata"]["deletionTimestamp"]
    assert cluster.get("webapp", "shop")["status"]["size"] == 3
    assert "status" not in cluster.get("webapp", "late")

    with operator(cluster, log):
        wait(cluster, "webapp/shop", "jsonpath={.status.size}=1", "jsonpath={.status.resumed}=1")
        wait(cluster, "deployment/shop", "jsonpath={.status.readyReplicas}=1")
        wait(cluster, "webapp/late", "jsonpath={.status.create.deployment}=late")
        wait(cluster, "webapp/blog", "delete")
        wait(cluster, "deployment/blog", "delete")
        assert cluster.get("configmap", "gone-blog")["data"] == {"size": "2"}

        cluster.apply(webapp("huge", 101))
        wait(cluster, "webapp/huge", f"jsonpath={HANDLED}")
        assert "Handler 'create' failed permanently: too large" in event(cluster, "huge", "type=Error")
        cluster.kubectl("delete", "webapp", "huge", f"--timeout={SECONDS}s")

        cluster.kubectl("delete", "webapp", "--all", f"--timeout={SECONDS}s")
        for name in ("shop", "late"):
            wait(cluster, f"deployment/{name}", "delete")
            assert cluster.get("configmap", f"gone-{name}")["data"] == {"size": "1"}
        for name in ("shop", "late"):
            cluster.kubectl("wait", "pod", "-l", f"app={name}", "--for=delete", f"--timeout={SECONDS}s")
    assert "Traceback" not in log.read_text(), log.read_text()

"""Clusters with fewer parts: without nodes, without some controllers, with the API server only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.controllers.registry import names_with
from podling.machinery.feature_gates import NO_GATES
from tests.support.clusters import RealCluster

pytestmark = [pytest.mark.e2e]

POD_TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "example.com/web"}]},
}
FAKE_NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "fake"}}


def workload(kind: str, name: str) -> dict[str, object]:
    labels = {"app": "web", "of": name}
    template = POD_TEMPLATE | {"metadata": {"labels": labels}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


@pytest.fixture
def small(tmp_path: Path) -> Iterator[RealCluster]:
    cluster = RealCluster(tmp_path / "data", "sim", "--port", "0")
    try:
        yield cluster
    finally:
        cluster.remove()


def test_switched_off_controller_does_not_run(small: RealCluster) -> None:
    small.up("--nodes", "0", "--controllers", "*,-deployment-controller,-nodelifecycle")
    assert small.get("nodes")["items"] == []
    small.apply(FAKE_NODE)
    small.apply(workload("Deployment", "idle"))
    small.apply(workload("ReplicaSet", "busy"))
    small.kubectl("wait", "rs/busy", "--for=jsonpath={.status.replicas}=1", "--timeout=30s")
    assert [item["metadata"]["name"] for item in small.get("rs")["items"]] == ["busy"]
    assert "conditions" not in small.get("node", "fake")["status"], (
        "an untouched node, as a test suite made it"
    )
    assert small.down().code == 0
    small.up()  # the choice is remembered
    assert [item["metadata"]["name"] for item in small.get("rs")["items"]] == ["busy"]
    assert small.get("nodes")["items"][0]["metadata"]["name"] == "fake"
    small.down()
    small.up("--controllers", "*")
    small.kubectl("wait", "deployment/idle", "--for=jsonpath={.status.replicas}=1", "--timeout=30s")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("*,-deployments", '"deployments" is not in the list of known controllers'),
        ("selinux-warning-controller", '"selinux-warning-controller" does not exist in Podling'),
    ],
)
def test_unknown_controllers_are_refused_before_anything_starts(
    small: RealCluster, choice: str, message: str
) -> None:
    done = small.podling("up", "--detach", "--port", "0", "--controllers", choice)
    assert done.code == 2
    assert message in done.err
    assert not small.directory.exists()


def test_lists_of_controllers_add_up(small: RealCluster) -> None:
    """As repeated flags of kube-controller-manager do."""
    lists = ("--controllers", "*,-replicaset", "--controllers", "-deployment")
    started = small.up("--nodes", "0", *lists)
    whole = small.podling("up", "--help").out
    assert f"{len(names_with(NO_GATES)) - 2} controllers" in started.out, whole
    small.apply(workload("Deployment", "idle"))
    small.kubectl("create", "configmap", "later")
    assert small.get("rs")["items"] == []


@pytest.mark.parametrize(
    "options", [("--runtime", "sim"), ("--nodes", "2"), ("--controllers", "*"), ("--static-pod-path", "/x")]
)
def test_api_server_alone_takes_no_options_of_other_parts(
    small: RealCluster, options: tuple[str, str]
) -> None:
    done = small.podling("up", "--detach", "--port", "0", "--api-only", *options)
    assert done.code == 2
    assert f"{options[0]} means nothing with --api-only" in done.err
    assert not small.directory.exists()


def test_api_server_alone(small: RealCluster) -> None:
    done = small.podling("up", "--detach", "--port", "0", "--api-only")
    assert done.code == 0, done.err
    assert "control plane" not in done.out
    small.apply(FAKE_NODE)
    small.apply(workload("Deployment", "idle"))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, **{"spec": POD_TEMPLATE["spec"]}}
    small.apply(pod)  # no service account is needed: no controller would make one
    bound = json.loads(json.dumps(pod))
    bound["metadata"]["name"], bound["spec"]["nodeName"] = "bound", "fake"
    small.apply(bound)
    small.kubectl("patch", "pod", "bound", "--subresource=status", "-p", '{"status": {"phase": "Running"}}')
    small.kubectl("delete", "pod", "bound", "--grace-period=0", "--force")
    assert small.get("rs")["items"] == []
    assert small.get("pod", "pod")["spec"].get("nodeName") is None
    assert small.get("events")["items"] == []
    assert small.down().code == 0
    assert small.podling("status").code == 3
    again = small.podling("up", "--detach", "--port", "0")
    assert "as last time; --no-api-only starts the other parts" in again.out
    assert "none: the API server runs alone" in small.podling("status").out
    assert small.down().code == 0
    whole = small.podling("up", "--detach", "--port", "0", "--no-api-only", "--runtime", "sim")
    assert whole.code == 0
    small.kubectl("rollout", "status", "deployment/idle", "--timeout=60s")

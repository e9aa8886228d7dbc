"""An operator inside a pod: it finds the API server by its environment and its service account alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_kopf_operator import cluster_knows_webapps
from tests.support.clusters import DEADLINE, RealCluster, namespace, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root]

SPACE = "operated"
IN = ("-n", SPACE)
OPERATOR = Path(__file__).parents[1] / "support" / "webapp_operator.py"
LIVENESS = "http://0.0.0.0:8081/healthz"


@pytest.fixture(scope="module")
def operated(cluster: RealCluster) -> Iterator[RealCluster]:
    """The cluster with the operator of ``WebApp`` objects in a pod."""
    cluster_knows_webapps(cluster)
    with namespace(cluster, SPACE):
        for manifest in manifests():
            cluster.apply(manifest)
        cluster.wait_ready("operator", *IN)
        yield cluster
        cluster.kubectl("delete", "webapps", "--all", *IN, f"--timeout={DEADLINE}")
    for kind in (
        "clusterrolebinding/webapp-operator",
        "clusterrole/webapp-operator",
        "crd/webapps.example.com",
    ):
        cluster.kubectl("delete", kind)


def test_operator_creates_changes_and_deletes_what_it_owns(operated: RealCluster) -> None:
    webapp = {
        "apiVersion": "example.com/v1",
        "kind": "WebApp",
        "metadata": {"name": "shop", "namespace": SPACE},
        "spec": {"size": 1},
    }
    operated.apply(webapp)
    wait(operated, "webapp/shop", "{.status.size}", "1")
    wait(operated, "deployment/shop", "{.spec.replicas}", "1")
    operated.apply(webapp | {"spec": {"size": 2}})
    wait(operated, "webapp/shop", "{.status.before}", "1")
    wait(operated, "deployment/shop", "{.spec.replicas}", "2")
    operated.kubectl("delete", "webapp", "shop", *IN, f"--timeout={DEADLINE}")
    operated.kubectl("wait", "--for=delete", "deployment/shop", *IN, f"--timeout={DEADLINE}")
    about = ("-l", "!component", "--field-selector", "involvedObject.kind=WebApp,reason=Deployed")
    (event,) = operated.get("events", *IN, *about)["items"]
    assert event["message"] == "1 wanted"


def wait(cluster: RealCluster, what: str, path: str, value: str) -> None:
    cluster.kubectl("wait", f"--for=jsonpath={path}={value}", what, *IN, f"--timeout={DEADLINE}")


def manifests() -> Iterator[dict[str, Any]]:
    account = {"name": "operator", "namespace": SPACE}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}
    group, role = "rbac.authorization.k8s.io", {"name": "webapp-operator"}
    rules = [
        {"apiGroups": ["example.com"], "resources": ["webapps", "webapps/status"], "verbs": ["*"]},
        {"apiGroups": ["apps"], "resources": ["deployments", "deployments/scale"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["events", "configmaps"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list", "watch"]},
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "verbs": ["list", "watch"],
        },
    ]
    yield {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": role, "rules": rules}
    yield {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": role,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole"} | role,
        "subjects": [{"kind": "ServiceAccount"} | account],
    }
    paths = sorted({str(OPERATOR), sys.prefix, sys.base_prefix})
    options = ("--standalone", "-n", SPACE, f"--liveness={LIVENESS}")
    pod = shell_pod(
        "operator",
        "",
        container={
            "command": [sys.executable, "-m", "kopf", "run", *options, str(OPERATOR)],
            "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8081}, "periodSeconds": 1},
            "volumeMounts": [
                {"name": f"path-{number}", "mountPath": path, "readOnly": True}
                for number, path in enumerate(paths)
            ],
        },
        serviceAccountName="operator",
        volumes=[{"name": f"path-{number}", "hostPath": {"path": path}} for number, path in enumerate(paths)],
    )
    pod["metadata"]["namespace"] = SPACE
    yield pod

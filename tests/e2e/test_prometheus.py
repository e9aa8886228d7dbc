"""Prometheus from its Debian package in a pod: it scrapes the API server, the kubelets and a Service.

All that it trusts and says is its service account's: the token, the root certificate, and the Service
``kubernetes``. A sidecar finds the targets, since Debian builds Prometheus without Kubernetes' discovery.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import RealCluster, namespace, shell_pod
from tests.support.local_ports import fetch, listening

pytestmark = [pytest.mark.e2e, pytest.mark.root]

SPACE = "monitoring"
IN = ("-n", SPACE)
DISCOVERY = Path(__file__).parents[1] / "support" / "target_discovery.py"
METRICS = "requests_served_total 42"
ALL_UP = "busybox wget -qO- 'http://127.0.0.1:9090/api/v1/query?query=sum(up)' | grep -q '\"3\"'"
"""The pod is Ready once the last scrape of all three targets succeeded."""


@pytest.fixture(scope="module")
def prometheus(cluster: RealCluster) -> Iterator[int]:
    """A local port of Prometheus in a pod, with a Service whose pod has metrics."""
    if not shutil.which("prometheus"):
        pytest.skip("needs prometheus: scripts/setup --dev")
    with namespace(cluster, SPACE):
        for manifest in manifests():
            cluster.apply(manifest)
        for pod in ("shop", "prometheus"):
            cluster.wait_ready(pod, *IN)
        with listening(cluster, "port-forward", "service/prometheus", ":80", *IN) as port:
            yield port
        cluster.kubectl("delete", "clusterrolebinding", "prometheus")
        cluster.kubectl("delete", "clusterrole", "prometheus")


def query(port: int, path: str) -> Any:
    return json.loads(fetch(port, f"/api/v1/{path}"))["data"]


def test_every_target_is_found_and_up(prometheus: int) -> None:
    targets = query(prometheus, "targets?state=active")["activeTargets"]
    shown = {each["labels"]["job"]: (each["health"], each["lastError"]) for each in targets}
    assert shown == dict.fromkeys(("apiserver", "kubelet", "services"), ("up", ""))


def test_samples_of_each_target_are_stored(prometheus: int) -> None:
    for name in ("apiserver_request_total", "kubelet_running_pods"):
        assert query(prometheus, f"query?query=count({name})")["result"], name
    (sample,) = query(prometheus, "query?query=requests_served_total")["result"]
    assert sample["value"][1] == "42"
    assert (sample["metric"]["service"], sample["metric"]["namespace"]) == ("shop", SPACE)


ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
SECURE = f"""
  scheme: https
  tls_config: {{ca_file: {ACCOUNT}/ca.crt}}
  authorization: {{credentials_file: {ACCOUNT}/token}}"""
CONFIGURATION = "global: {scrape_interval: 1s}\nscrape_configs:" + "".join(
    f"""
- job_name: {job}{security}
  http_sd_configs: [{{url: "http://127.0.0.1:9000/{job}", refresh_interval: 1s}}]"""
    for job, security in (("apiserver", SECURE), ("kubelet", SECURE), ("services", ""))
)


def manifests() -> Iterator[dict[str, Any]]:
    named = {"name": "prometheus", "namespace": SPACE}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": named}
    rules: list[dict[str, Any]] = [
        {
            "apiGroups": [""],
            "resources": ["nodes", "nodes/proxy", "services"],
            "verbs": ["get", "list", "watch"],
        },
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]
    group = "rbac.authorization.k8s.io"
    role = {"name": "prometheus"}
    yield {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": role, "rules": rules}
    yield {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": role,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "prometheus"},
        "subjects": [{"kind": "ServiceAccount"} | named],
    }
    data = {"prometheus.yml": CONFIGURATION}
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": data}
    script = (
        f"mkdir -p /tmp/www && echo {METRICS} >/tmp/www/metrics && exec busybox httpd -f -p 8080 -h /tmp/www"
    )
    shop = shell_pod("shop", script)
    shop["metadata"] |= {"namespace": SPACE, "labels": {"app": "shop"}}
    yield shop
    yield service("shop", 8080, {"prometheus.io/scrape": "true"})
    command = ["prometheus", "--config.file=/etc/p/prometheus.yml", "--storage.tsdb.path=/data"]
    pod = shell_pod(
        "prometheus",
        "",
        container={
            "command": command,
            "readinessProbe": {"exec": {"command": ["sh", "-c", ALL_UP]}, "periodSeconds": 1},
            "volumeMounts": [
                {"name": "configuration", "mountPath": "/etc/p"},
                {"name": "data", "mountPath": "/data"},
            ],
        },
        serviceAccountName="prometheus",
        volumes=[
            {"name": "configuration", "configMap": {"name": "prometheus"}},
            {"name": "data", "emptyDir": {}},
            {"name": "program", "hostPath": {"path": str(DISCOVERY), "type": "File"}},
        ],
    )
    pod["spec"]["containers"].append(
        {
            "name": "discovery",
            "image": "podling.local/host",
            "command": ["python3", "/discovery.py", "9000"],
            "volumeMounts": [{"name": "program", "mountPath": "/discovery.py", "readOnly": True}],
        }
    )
    pod["metadata"] |= {"namespace": SPACE, "labels": {"app": "prometheus"}}
    yield pod
    yield service("prometheus", 9090, {})


def service(name: str, target: int, annotations: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": SPACE, "annotations": annotations},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": target}]},
    }

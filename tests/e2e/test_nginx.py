"""nginx from its Debian package behind a Service, reached in the ways that users of kubectl have."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.clusters import DEADLINE, RealCluster, namespace
from tests.support.debian_programs import load_program
from tests.support.local_ports import fetch, listening

pytestmark = [pytest.mark.e2e, pytest.mark.root]

SPACE = "nginx"
IN = ("-n", SPACE)
IMAGE = "podling.local/nginx:test"
CONFIGURATION = """
daemon off;
error_log stderr;
pid /tmp/nginx.pid;
events {}
http {
    access_log off;
    server {
        listen 80;
        location / { return 200 "served by $hostname\\n"; }
    }
}
"""


@pytest.fixture(scope="module")
def nginx(cluster: RealCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """The cluster with a Deployment of two nginx and the Service ``web`` in front of them."""
    folders = ("etc/nginx", "var/log/nginx", "var/lib/nginx")
    load_program(cluster, tmp_path_factory.mktemp("image"), IMAGE, "nginx", "usr/sbin/nginx", folders)
    with namespace(cluster, SPACE):
        for manifest in MANIFESTS:
            cluster.apply(manifest)
        cluster.kubectl("rollout", "status", "deployment/web", *IN, f"--timeout={DEADLINE}")
        yield cluster


def pods(cluster: RealCluster) -> set[str]:
    return {each["metadata"]["name"] for each in cluster.get("pods", *IN)["items"]}


def test_port_forward_to_service_reaches_one_of_its_pods(nginx: RealCluster) -> None:
    with listening(nginx, "port-forward", "service/web", ":http", *IN) as port:
        assert fetch(port).removeprefix("served by ").strip() in pods(nginx)


def test_kubectl_proxy_reaches_service_and_pods_through_api_server(nginx: RealCluster) -> None:
    with listening(nginx, "proxy", "--port=0") as port:
        base = f"/api/v1/namespaces/{SPACE}"
        listed = json.loads(fetch(port, f"{base}/services"))
        assert [each["metadata"]["name"] for each in listed["items"]] == ["web"]
        assert fetch(port, f"{base}/services/web:http/proxy/").startswith("served by web-")
        for name in pods(nginx):
            assert fetch(port, f"{base}/pods/{name}/proxy/") == f"served by {name}\n"


MANIFESTS = (
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "nginx", "namespace": SPACE},
        "data": {"nginx.conf": CONFIGURATION},
    },
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": SPACE},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [
                        {
                            "name": "nginx",
                            "image": IMAGE,
                            "ports": [{"name": "web", "containerPort": 80}],
                            "readinessProbe": {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 1},
                            "volumeMounts": [
                                {
                                    "name": "configuration",
                                    "mountPath": "/etc/nginx/nginx.conf",
                                    "subPath": "nginx.conf",
                                }
                            ],
                        }
                    ],
                    "volumes": [{"name": "configuration", "configMap": {"name": "nginx"}}],
                },
            },
        },
    },
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": SPACE},
        "spec": {
            "selector": {"app": "web"},
            "ports": [{"name": "http", "port": 8080, "targetPort": "web"}],
        },
    },
)

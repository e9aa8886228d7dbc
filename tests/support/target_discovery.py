"""Targets for Prometheus, from the API: a program for pods, nothing but the library.

    python3 target_discovery.py PORT

Debian builds Prometheus without Kubernetes' service discovery, so this program stands in for it: it reads
Nodes and Services with the pod's service account, and serves the targets as ``http_sd_configs`` reads them.
``/apiserver``, ``/kubelet`` and ``/services`` are the jobs.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SCRAPE = "prometheus.io/scrape"

Group = dict[str, Any]


def items(path: str) -> list[Any]:
    """Return the objects of a list of the API, read with the service account."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    request = urllib.request.Request(f"https://{host}:{port}{path}")
    request.add_header("Authorization", f"Bearer {(ACCOUNT / 'token').read_text()}")
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, context=trusted, timeout=10) as response:
        found: list[Any] = json.load(response)["items"]
    return found


def api_servers() -> Iterator[Group]:
    for each in items("/api/v1/namespaces/default/services"):
        if each["metadata"]["name"] == "kubernetes":
            yield {"targets": [f"{each['spec']['clusterIP']}:443"]}


def kubelets() -> Iterator[Group]:
    """Yield each kubelet by way of the API server: its own port admits administrators only."""
    (api,) = api_servers()
    for node in items("/api/v1/nodes"):
        name = node["metadata"]["name"]
        yield api | {"labels": {"node": name, "__metrics_path__": f"/api/v1/nodes/{name}/proxy/metrics"}}


def services() -> Iterator[Group]:
    for each in items("/api/v1/services"):
        metadata = each["metadata"]
        if metadata.get("annotations", {}).get(SCRAPE) == "true":
            labels = {"service": metadata["name"], "namespace": metadata["namespace"]}
            yield {
                "targets": [f"{each['spec']['clusterIP']}:{port['port']}" for port in each["spec"]["ports"]],
                "labels": labels,
            }


JOBS: dict[str, Callable[[], Iterator[Group]]] = {
    "/apiserver": api_servers,
    "/kubelet": kubelets,
    "/services": services,
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(list(JOBS[self.path]())).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

"""Clients of other libraries over HTTPS, and the kubelets that they reach. Real threads and sockets."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from podling.testing.clusters import Cluster, running_cluster
from podling.testing.settings import TestSettings
from tests.support import certificate_requests
from tests.support.tested_clusters import WEB, request


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_cluster(TestSettings(nodes=2)) as running:
        yield running


def test_other_clients_reach_the_cluster_over_https(cluster: Cluster) -> None:
    cluster.apply(WEB)
    found = json.loads(request(cluster, "/api/v1/namespaces/default/pods"))
    assert len(found["items"]) == 3
    assert cluster.environment == {"KUBECONFIG": str(cluster.kubeconfig)}
    assert cluster.kubeconfig.stat().st_mode & 0o777 == 0o600


def test_logs_come_from_simulated_kubelets(cluster: Cluster) -> None:
    annotations = {"sim.podling.dev/main": json.dumps({"logs": [{"text": "hello"}]})}
    spec = {"containers": [{"name": "main", "image": "app"}]}
    metadata = {"name": "a", "annotations": annotations}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    assert request(cluster, "/api/v1/namespaces/default/pods/a/log") == b"hello\n"


def test_certificates_are_good_by_the_machines_time(tmp_path: Path) -> None:
    """The cluster begins after the end of its authority; in an hour the cleaner of requests makes a pass."""
    manifest = certificate_requests.manifest(
        "jane", certificate_requests.request_pem("jane"), ["client auth"]
    )
    approval = {"type": "Approved", "status": "True", "reason": "Test", "message": ""}
    with running_cluster(TestSettings(nodes=0, start="2090-01-01")) as cluster:
        cluster.apply(manifest)
        cluster.patch("csr/jane", {"status": {"conditions": [approval]}}, subresource="approval")
        cluster.advance(hours=1)
        signed = base64.b64decode(cluster.get("csr/jane")["status"]["certificate"])
        (tmp_path / "jane.pem").write_bytes(signed + certificate_requests.key_pem())
        assert json.loads(request(cluster, "/api/v1/namespaces"))["kind"] == "NamespaceList"
        assert json.loads(request(cluster, "/api", tmp_path / "jane.pem"))["kind"] == "APIVersions"


def test_kubectl_sees_new_kinds_in_a_cluster_ahead_of_its_time(tmp_path: Path) -> None:
    """It takes kept documents with a ``Date`` in its future for fresh ones, unless it may not keep them."""
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    with running_cluster(TestSettings(nodes=0, start="2090-01-01")) as cluster:
        environment = {**os.environ, **cluster.environment, "KUBECACHEDIR": str(tmp_path)}
        kubectl = partial(subprocess.run, check=True, capture_output=True, text=True, env=environment)
        kubectl(["kubectl", "get", "pods"])
        cluster.apply(definition)
        cluster.expect("crd/widgets.example.com", "condition=Established")
        assert "No resources found" in kubectl(["kubectl", "get", "widgets"]).stderr

"""A user gets a certificate by kubectl and authenticates with it."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest

from tests.support.certificate_requests import key_pem, manifest, request_pem
from tests.support.clusters import RealCluster, command

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl")]


def test_approved_certificate_authenticates_its_user(sim_cluster: RealCluster, tmp_path: Path) -> None:
    cluster = sim_cluster
    pem = request_pem("jane", ["dev", "ops"])
    cluster.apply(manifest("jane", pem, ["client auth"], expirationSeconds=3600))
    row = cluster.kubectl("get", "csr", "jane").splitlines()[1].split()
    assert row[2:] == ["kubernetes.io/kube-apiserver-client", "kubernetes-admin", "60m", "Pending"]
    said = cluster.kubectl("certificate", "approve", "jane")
    assert said == "certificatesigningrequest.certificates.k8s.io/jane approved\n"
    cluster.kubectl("wait", "--for=jsonpath={.status.certificate}", "csr/jane", "--timeout=10s")
    assert cluster.kubectl("get", "csr", "jane").splitlines()[1].split()[-1] == "Approved,Issued"

    (tmp_path / "jane.key").write_bytes(key_pem())
    certificate = cluster.kubectl("get", "csr", "jane", "-o", "jsonpath={.status.certificate}")
    (tmp_path / "jane.crt").write_bytes(base64.b64decode(certificate))
    own = tmp_path / "jane.kubeconfig"
    shutil.copy(cluster.kubeconfig, own)
    as_jane = ["kubectl", "--kubeconfig", str(own), "--user", "jane"]
    files = [
        f"--client-{kind}={tmp_path / f'jane.{end}'}"
        for kind, end in (("certificate", "crt"), ("key", "key"))
    ]
    done = command([*as_jane[:3], "config", "set-credentials", "jane", *files])
    assert done.code == 0, done.err
    who = json.loads(command([*as_jane, "auth", "whoami", "-o", "json"]).out)["status"]["userInfo"]
    assert (who["username"], who["groups"]) == ("jane", ["dev", "ops", "system:authenticated"])
    ((kind, value),) = ((key, values[0]) for key, values in who["extra"].items())
    assert kind == "authentication.kubernetes.io/credential-id"
    assert value.startswith("X509SHA256=")
    assert command([*as_jane, "get", "pods"]).err.strip() == (
        'Error from server (Forbidden): pods is forbidden: User "jane" cannot list resource "pods" '
        'in API group "" in the namespace "default"'
    )
    cluster.kubectl("delete", "csr", "jane")


def test_denied_request_gets_no_certificate(sim_cluster: RealCluster) -> None:
    cluster = sim_cluster
    cluster.apply(manifest("joe", request_pem("joe"), ["client auth"]))
    said = cluster.kubectl("certificate", "deny", "joe")
    assert said == "certificatesigningrequest.certificates.k8s.io/joe denied\n"
    assert cluster.kubectl("get", "csr", "joe").splitlines()[1].split()[-1] == "Denied"
    cluster.kubectl("delete", "csr", "joe")

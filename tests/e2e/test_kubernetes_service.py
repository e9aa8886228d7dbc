"""The Service ``kubernetes`` of a real cluster: what is behind it, and that its address can be trusted."""

from __future__ import annotations

import base64
import json
import socket
import ssl

import pytest
import yaml
from cryptography import x509

from podling.kubelet.node.machine import primary_address
from tests.support.clusters import RealCluster

pytestmark = pytest.mark.e2e


@pytest.mark.root
def test_api_server_is_behind_its_service(cluster: RealCluster) -> None:
    endpoints = json.loads(cluster.kubectl("get", "endpoints", "kubernetes", "-o", "json"))
    ((address,), (port,)) = (endpoints["subsets"][0][each] for each in ("addresses", "ports"))
    assert (port["name"], port["protocol"]) == ("https", "TCP")
    pem = ssl.get_server_certificate((address["ip"], port["port"]), timeout=5)
    names = x509.load_pem_x509_certificate(pem.encode()).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    served = cluster.kubectl("get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}")
    addresses = [str(each) for each in names.value.get_values_for_type(x509.IPAddress)]
    assert {served, address["ip"], "127.0.0.1"} <= set(addresses)
    assert "kubernetes.default.svc" in names.value.get_values_for_type(x509.DNSName)
    slices = cluster.kubectl(
        "get", "endpointslices", "-l", "kubernetes.io/service-name=kubernetes", "-o", "json"
    )
    (only,) = json.loads(slices)["items"]
    assert [each["addresses"] for each in only["endpoints"]] == [[address["ip"]]]
    assert only["ports"] == endpoints["subsets"][0]["ports"]


@pytest.mark.root
def test_client_that_trusts_cluster_reaches_server_by_each_of_its_names(cluster: RealCluster) -> None:
    """A pod's client connects to the Service's address and verifies the certificate against that."""
    config = yaml.safe_load(cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
    trusted = base64.b64decode(config["certificate-authority-data"]).decode()
    served = cluster.kubectl("get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}")
    port = int(config["server"].rpartition(":")[2])
    for name in (served, "kubernetes", "kubernetes.default.svc", "127.0.0.1", primary_address()):
        context = ssl.create_default_context(cadata=trusted)
        with (
            socket.create_connection((primary_address(), port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname=name) as secure,
        ):
            assert secure.version() in ("TLSv1.2", "TLSv1.3")
    with (
        socket.create_connection((primary_address(), port), timeout=10) as plain,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        ssl.create_default_context(cadata=trusted).wrap_socket(plain, server_hostname="10.96.0.2")


@pytest.mark.skipif(primary_address() == "127.0.0.1", reason="the machine has no address that others reach")
def test_simulated_cluster_has_endpoints_as_well(sim_cluster: RealCluster) -> None:
    found = json.loads(sim_cluster.kubectl("get", "endpoints", "kubernetes", "-o", "json"))
    assert found["subsets"][0]["addresses"][0]["ip"]

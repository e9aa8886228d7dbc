"""The Service ``kubernetes`` of a real cluster: what is behind it, and that its address can be trusted."""

from __future__ import annotations

import json
import ssl

import pytest
from cryptography import x509

from podling.node.machine import primary_address
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


@pytest.mark.skipif(primary_address() == "127.0.0.1", reason="the machine has no address that others reach")
def test_simulated_cluster_has_endpoints_as_well(sim_cluster: RealCluster) -> None:
    found = json.loads(sim_cluster.kubectl("get", "endpoints", "kubernetes", "-o", "json"))
    assert found["subsets"][0]["addresses"][0]["ip"]

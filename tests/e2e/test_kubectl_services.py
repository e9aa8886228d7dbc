"""The real kubectl about Services, endpoints and the network of nodes: complete, as Kubernetes shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.clusters import RealCluster, namespace, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root]

SPACE = "described"
IN = ("-n", SPACE)


@pytest.fixture(scope="module")
def described(cluster: RealCluster) -> Iterator[RealCluster]:
    """The cluster with a pod behind a Service of type LoadBalancer."""
    with namespace(cluster, SPACE):
        pod = shell_pod("web", "exec busybox httpd -f -p 8080")
        pod["metadata"] |= {"namespace": SPACE, "labels": {"app": "web"}}
        cluster.apply(pod)
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": SPACE},
            "spec": {
                "type": "LoadBalancer",
                "selector": {"app": "web"},
                "ports": [{"name": "http", "port": 18080, "targetPort": 8080}],
                "sessionAffinity": "ClientIP",
            },
        }
        cluster.apply(service)
        cluster.wait_ready("web", *IN)
        ingress = "--for=jsonpath={.status.loadBalancer.ingress[0].ipMode}=VIP"
        cluster.kubectl("wait", ingress, "service/web", *IN, "--timeout=30s")
        ready = "--for=jsonpath={.endpoints[0].conditions.ready}=true"
        cluster.kubectl("wait", ready, "endpointslices", "--all", *IN, "--timeout=30s")
        yield cluster


def node_address(cluster: RealCluster) -> str:
    (node,) = cluster.get("nodes")["items"]
    addresses = {each["type"]: str(each["address"]) for each in node["status"]["addresses"]}
    return addresses["InternalIP"]


def fields(text: str) -> dict[str, str]:
    """Return the lines ``Name:  value`` of a description."""
    return dict(re.findall(r"^([A-Z][^:\n]*): *(.*)$", text, re.MULTILINE))


def test_description_of_a_load_balancer_is_complete(described: RealCluster) -> None:
    shown = fields(described.kubectl("describe", "service", "web", *IN))
    pod = described.get("pod", "web", *IN)["status"]["podIP"]
    assert shown["Type"] == "LoadBalancer"
    assert shown["LoadBalancer Ingress"] == f"{node_address(described)} (VIP)"
    assert shown["Port"].split() == ["http", "18080/TCP"]
    assert shown["TargetPort"] == "8080/TCP"
    assert shown["NodePort"].startswith("http")
    assert shown["Endpoints"] == f"{pod}:8080"
    assert shown["Session Affinity"] == "ClientIP"
    assert (shown["External Traffic Policy"], shown["Internal Traffic Policy"]) == ("Cluster", "Cluster")


def test_events_of_a_load_balancer_are_those_of_a_cloud(described: RealCluster) -> None:
    found = described.get(
        "events", *IN, "--field-selector", "involvedObject.name=web,involvedObject.kind=Service"
    )
    events = {(each["reason"], each["source"]["component"]) for each in found["items"]}
    assert events == {(f"Ensur{end}LoadBalancer", "service-controller") for end in ("ing", "ed")}


def test_tables_of_services_and_slices_are_wide(described: RealCluster) -> None:
    (row,) = described.kubectl("get", "services", *IN, "-o", "wide", "--no-headers").splitlines()
    name, type_, cluster_ip, external, ports, _, selector = row.split()
    address = described.get("service", "web", *IN)["spec"]["clusterIP"]
    assert (name, type_, cluster_ip, external) == ("web", "LoadBalancer", address, node_address(described))
    assert re.fullmatch(r"18080:3\d{4}/TCP", ports)
    assert selector == "app=web"
    (row,) = described.kubectl("get", "endpointslices", *IN, "-o", "wide", "--no-headers").splitlines()
    pod = described.get("pod", "web", *IN)["status"]["podIP"]
    assert row.split()[1:4] == ["IPv4", "8080", pod]


def test_description_of_a_node_has_its_block_of_pod_addresses(described: RealCluster) -> None:
    shown = fields(described.kubectl("describe", "node"))
    (node,) = described.get("nodes")["items"]
    assert (shown["PodCIDR"], shown["PodCIDRs"]) == (node["spec"]["podCIDR"], node["spec"]["podCIDR"])

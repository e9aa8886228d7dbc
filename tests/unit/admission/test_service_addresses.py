"""Cluster addresses and node ports: chosen when left open, checked when named, kept when known."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from podling.api.core_v1 import Service
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.manifests import obj

PLAIN: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}


async def create(cluster: ControlPlane, fragment: str = "") -> Service:
    service: Service = obj(Service, fragment, PLAIN)
    return await cluster.client.create(service)


async def refusal(cluster: ControlPlane, fragment: str) -> str:
    with pytest.raises(ApiError) as caught:
        await create(cluster, fragment)
    assert caught.value.code == 422
    return str(caught.value)


async def test_a_service_gets_an_address(cluster: ControlPlane) -> None:
    service = await create(cluster)
    assert ipaddress.ip_address(service.spec.cluster_ip or "") in ipaddress.ip_network("10.96.0.0/12")
    assert service.spec.cluster_ips == (service.spec.cluster_ip,)
    assert (service.spec.ip_families, service.spec.ip_family_policy) == (("IPv4",), "SingleStack")
    assert service.spec.ports[0].node_port is None


async def test_no_two_services_share_an_address(cluster: ControlPlane) -> None:
    made = [await create(cluster, f"metadata: {{name: web-{number}}}") for number in range(20)]
    assert len({service.spec.cluster_ip for service in made}) == 20


async def test_a_headless_service_gets_none(cluster: ControlPlane) -> None:
    service = await create(cluster, "spec: {clusterIP: None}")
    assert service.spec.cluster_ips == ("None",)


async def test_a_name_for_something_outside_gets_none(cluster: ControlPlane) -> None:
    service = await create(cluster, "spec: {type: ExternalName, externalName: example.com, ports: []}")
    assert (service.spec.cluster_ip, service.spec.cluster_ips) == (None, ())


async def test_an_address_can_be_chosen_but_not_twice(cluster: ControlPlane) -> None:
    assert (await create(cluster, "spec: {clusterIP: 10.96.0.77}")).spec.cluster_ip == "10.96.0.77"
    assert await refusal(cluster, "metadata: {name: two}\nspec: {clusterIP: 10.96.0.77}") == (
        'Service "two" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.77"]: failed to allocate IP '
        "10.96.0.77: provided IP is already allocated"
    )


async def test_an_address_from_elsewhere_is_refused(cluster: ControlPlane) -> None:
    assert await refusal(cluster, "spec: {clusterIP: 192.168.0.1}") == (
        'Service "web" is invalid: spec.clusterIPs: Invalid value: ["192.168.0.1"]: failed to allocate IP '
        "192.168.0.1: the provided IP (192.168.0.1) is not in the valid range. The range of valid IPs is "
        "10.96.0.0/12"
    )


async def test_node_ports(cluster: ControlPlane) -> None:
    service = await create(cluster, "spec: {type: NodePort}")
    assert (service.spec.ports[0].node_port or 0) in range(30000, 32768)
    chosen = "metadata: {name: two}\nspec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}"
    assert (await create(cluster, chosen)).spec.ports[0].node_port == 30080
    assert await refusal(cluster, chosen.replace("two", "three")) == (
        'Service "three" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already '
        "allocated"
    )
    assert await refusal(cluster, chosen.replace("30080", "80")) == (
        'Service "two" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the '
        "valid range. The range of valid ports is 30000-32767"
    )


async def test_applying_the_same_manifest_again_keeps_what_was_allocated(cluster: ControlPlane) -> None:
    first = await create(cluster, "spec: {type: NodePort}")
    again = await cluster.client.update(obj(Service, "spec: {type: NodePort}", PLAIN))
    assert again.spec == first.spec


async def test_a_changed_type_drops_what_belonged_to_the_old_one(cluster: ControlPlane) -> None:
    first = await create(cluster, "spec: {type: NodePort}")
    later = await cluster.client.patch(Service, "web", {"spec": {"type": "ClusterIP"}}, "default")
    assert later.spec.ports[0].node_port is None
    assert later.spec.external_traffic_policy is None
    assert later.spec.cluster_ip == first.spec.cluster_ip


async def test_the_address_never_changes(cluster: ControlPlane) -> None:
    await create(cluster, "spec: {clusterIP: 10.96.0.77}")
    changed = obj(Service, "spec: {clusterIP: 10.96.0.78}", PLAIN)
    with pytest.raises(ApiError) as caught:
        await cluster.client.update(changed)
    assert str(caught.value) == (
        'Service "web" is invalid: spec.clusterIPs[0]: Invalid value: ["10.96.0.78"]: may not change once set'
    )


async def test_a_load_balancer_that_keeps_client_addresses_has_a_health_check(cluster: ControlPlane) -> None:
    service = await create(cluster, "spec: {type: LoadBalancer, externalTrafficPolicy: Local}")
    assert (service.spec.health_check_node_port or 0) in range(30000, 32768)
    assert service.spec.allocate_load_balancer_node_ports is True

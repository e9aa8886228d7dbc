"""Cluster IPs and node ports: allocated if empty, checked if requested, kept on updates."""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import Service
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.server import ApiServer
from podling.machinery.errors import ApiError
from podling.store.base import Encode, Entry
from podling.store.memory import MemoryStore
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
    assert service.spec.ports[0].node_port == 0


async def test_no_two_services_share_an_address(cluster: ControlPlane) -> None:
    made = [await create(cluster, f"metadata: {{name: web-{number}}}") for number in range(20)]
    assert len({service.spec.cluster_ip for service in made}) == 20


async def test_a_headless_service_gets_none(cluster: ControlPlane) -> None:
    service = await create(cluster, "spec: {clusterIP: None}")
    assert service.spec.cluster_ips == ("None",)


async def test_a_name_for_something_outside_gets_none(cluster: ControlPlane) -> None:
    service = await create(cluster, "spec: {type: ExternalName, externalName: example.com, ports: []}")
    assert (service.spec.cluster_ip, service.spec.cluster_ips) == ("", ())


async def test_an_address_can_be_chosen_but_not_twice(cluster: ControlPlane) -> None:
    assert (await create(cluster, "spec: {clusterIP: 10.96.0.77}")).spec.cluster_ip == "10.96.0.77"
    assert await refusal(cluster, "metadata: {name: two}\nspec: {clusterIP: 10.96.0.77}") == (
        'Service "two" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.77"]: failed to allocate IP '
        "10.96.0.77: provided IP is already allocated"
    )


async def test_an_address_from_elsewhere_is_refused(cluster: ControlPlane) -> None:
    assert await refusal(cluster, "spec: {clusterIP: 192.168.0.1}") == (
        'Service "web" is invalid: spec.clusterIPs: Invalid value: ["192.168.0.1"]: failed to allocate IP '
        "192.168.0.1: the provided network does not match the current range"
    )
    assert await refusal(cluster, "spec: {clusterIP: 10.96.0.0}") == (
        'Service "web" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.0"]: failed to allocate IP '
        "10.96.0.0: the provided network does not match the current range"
    ), "the network's own address is no Service's (PrefixContainsIP)"


async def test_node_ports_are_allocated_or_checked(cluster: ControlPlane) -> None:
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


async def test_one_port_under_two_protocols_has_one_node_port(cluster: ControlPlane) -> None:
    dns = "{name: udp, port: 53, protocol: UDP}, {name: tcp, port: 53, protocol: TCP}"
    first, second = (await create(cluster, f"spec: {{type: NodePort, ports: [{dns}]}}")).spec.ports
    assert first.node_port == second.node_port
    named = dns.replace("TCP", "TCP, nodePort: 30053")
    chosen = f"metadata: {{name: two}}\nspec: {{type: NodePort, ports: [{named}]}}"
    assert {port.node_port for port in (await create(cluster, chosen)).spec.ports} == {30053}


async def test_health_check_node_port_can_be_requested(cluster: ControlPlane) -> None:
    balancer = "type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort"
    service = await create(cluster, f"spec: {{{balancer}: 30099}}")
    assert service.spec.health_check_node_port == 30099
    with pytest.raises(ApiError) as caught:
        await create(cluster, f"metadata: {{name: two}}\nspec: {{{balancer}: 30099}}")
    assert (caught.value.code, str(caught.value)) == (
        500,
        "Internal error occurred: failed to allocate requested HealthCheck NodePort 30099: provided port is "
        "already allocated",
    )


FAMILIES: list[tuple[str, tuple[str, ...], str]] = [
    ("", ("IPv4",), "SingleStack"),
    ("ipFamilyPolicy: PreferDualStack", ("IPv4",), "PreferDualStack"),
    ("clusterIP: None", ("IPv4",), "SingleStack"),
    ("clusterIP: None, selector: null", ("IPv4", "IPv6"), "RequireDualStack"),
    ("clusterIP: None, selector: null, ipFamilies: [IPv6]", ("IPv6", "IPv4"), "RequireDualStack"),
    ("clusterIP: None, selector: null, ipFamilyPolicy: SingleStack", ("IPv4",), "SingleStack"),
]


@pytest.mark.parametrize(("fragment", "families", "policy"), FAMILIES)
async def test_ip_families_follow_the_policy(
    cluster: ControlPlane, fragment: str, families: tuple[str, ...], policy: str
) -> None:
    service = await create(cluster, f"spec: {{{fragment}}}")
    assert (service.spec.ip_families, service.spec.ip_family_policy) == (families, policy)
    assert len(service.spec.cluster_ips) == 1


REFUSED: list[tuple[str, str]] = [
    (
        "ipFamilyPolicy: RequireDualStack",
        'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for '
        "dual-stack services",
    ),
    (
        "ipFamilies: [IPv6]",
        'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ),
    (
        "clusterIP: 'fd00::1'",
        'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
    ),
    (
        "ipFamilyPolicy: SingleStack, ipFamilies: [IPv4, IPv6]",
        "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or "
        "'PreferDualStack' when multiple IP families are specified",
    ),
    (
        "clusterIPs: [10.96.0.9]",
        'spec.clusterIPs: Invalid value: ["10.96.0.9"]: must be empty when `clusterIP` is not specified',
    ),
]


@pytest.mark.parametrize(("fragment", "why"), REFUSED)
async def test_ip_families_without_a_range_are_refused(
    cluster: ControlPlane, fragment: str, why: str
) -> None:
    assert await refusal(cluster, f"spec: {{{fragment}}}") == f'Service "web" is invalid: {why}'


async def test_a_writer_who_knows_only_the_older_field_may_not_change_the_address(
    cluster: ControlPlane,
) -> None:
    await create(cluster, "spec: {clusterIP: 10.96.0.77}")
    with pytest.raises(ApiError) as caught:
        await cluster.client.patch(Service, "web", {"spec": {"clusterIP": "10.96.0.78"}}, "default")
    assert str(caught.value).endswith('clusterIPs[0]: Invalid value: ["10.96.0.78"]: may not change once set')


async def test_a_name_may_begin_with_a_digit(cluster: ControlPlane) -> None:
    assert (await create(cluster, "metadata: {name: 1-web}")).metadata.name == "1-web"


async def test_applying_the_same_manifest_again_keeps_what_was_allocated(cluster: ControlPlane) -> None:
    first = await create(cluster, "spec: {type: NodePort}")
    again = await cluster.client.update(obj(Service, "spec: {type: NodePort}", PLAIN))
    assert again.spec == first.spec


async def test_a_changed_type_drops_what_belonged_to_the_old_one(cluster: ControlPlane) -> None:
    first = await create(cluster, "spec: {type: NodePort}")
    later = await cluster.client.patch(Service, "web", {"spec": {"type": "ClusterIP"}}, "default")
    assert later.spec.ports[0].node_port == 0
    assert later.spec.external_traffic_policy == ""
    assert later.spec.cluster_ip == first.spec.cluster_ip


async def patched(cluster: ControlPlane, **spec: Any) -> Service:
    return await cluster.client.patch(Service, "web", {"spec": spec}, "default")


async def test_a_port_for_health_checks_goes_with_the_reason_for_it(cluster: ControlPlane) -> None:
    balancer = "type: LoadBalancer, externalTrafficPolicy: Local, loadBalancerClass: example.com/a"
    first = await create(cluster, f"spec: {{{balancer}}}")
    assert first.spec.health_check_node_port
    loose = await patched(cluster, externalTrafficPolicy="Cluster")
    assert loose.spec.health_check_node_port == 0
    again = await patched(cluster, externalTrafficPolicy="Local")
    assert again.spec.health_check_node_port
    plain = (await patched(cluster, type="ClusterIP")).spec
    assert (plain.health_check_node_port, plain.external_traffic_policy) == (0, "")
    assert (plain.allocate_load_balancer_node_ports, plain.load_balancer_class) == (None, None)


async def test_addresses_from_outside_go_with_their_policy(cluster: ControlPlane) -> None:
    first = await create(cluster, "spec: {externalIPs: [192.0.2.1]}")
    assert first.spec.external_traffic_policy == "Cluster"
    assert (await patched(cluster, externalIPs=None)).spec.external_traffic_policy == ""


async def test_a_service_that_becomes_a_name_has_no_address_left(cluster: ControlPlane) -> None:
    await create(cluster, "spec: {type: NodePort}")
    spec = (await patched(cluster, type="ExternalName", externalName="example.com")).spec
    assert (spec.cluster_ip, spec.cluster_ips, spec.ip_families, spec.ip_family_policy) == (
        "",
        (),
        (),
        None,
    )
    assert spec.ports[0].node_port == 0
    again = (await patched(cluster, type="ClusterIP", externalName=None)).spec
    assert (again.ip_families, again.ip_family_policy) == (("IPv4",), "SingleStack")
    assert again.cluster_ips == (again.cluster_ip,)


async def test_a_port_is_known_by_its_name(cluster: ControlPlane) -> None:
    text = "spec: {{type: NodePort, ports: [{{name: http, port: {0}}}, {{name: admin, port: {1}}}]}}"
    first = await create(cluster, text.format(80, 81))
    swapped = await cluster.client.update(obj(Service, text.format(81, 80), PLAIN))
    assert [port.node_port for port in swapped.spec.ports] == [port.node_port for port in first.spec.ports]


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


class DetachedStore(MemoryStore):
    """Writes take their time and are stored even if their writer is cancelled, as on a disk."""

    async def put(self, key: str, encode: Encode, *, expect: int, memo: Any = None) -> Entry:
        async def written() -> Entry:
            await clock.sleep(0.01)
            return await super(DetachedStore, self).put(key, encode, expect=expect, memo=memo)

        return await asyncio.shield(asyncio.ensure_future(written()))


async def test_cancelled_write_keeps_its_address_until_it_is_stored() -> None:
    store = DetachedStore()
    api = ApiServer(store, plugins_without_controllers())
    await api.start()
    client = api.client()
    try:
        wanted = "metadata: {{name: {}}}\nspec: {{clusterIP: 10.96.0.77}}"
        first = asyncio.ensure_future(client.create(obj(Service, wanted.format("one"), PLAIN)))
        await clock.sleep(0.001)
        first.cancel()
        for seconds in (0.0, 0.1):
            await clock.sleep(seconds)
            with pytest.raises(ApiError, match="provided IP is already allocated"):
                await client.create(obj(Service, wanted.format("two"), PLAIN))
        await client.delete(Service, "one", "default")
        await clock.sleep(60)
        assert (await client.create(obj(Service, wanted.format("two"), PLAIN))).metadata.uid
    finally:
        await api.stop()
        await store.close()

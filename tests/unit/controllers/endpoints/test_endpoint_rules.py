"""Endpoints of pods: addresses, ports, conditions and hints."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    Container,
    ContainerPort,
    Node,
    Pod,
    PodIP,
    Service,
    ServicePort,
)
from podling.api.discovery_v1 import Endpoint
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.endpoints import endpoint_rules as rules
from podling.sim.loop import EPOCH
from tests.unit.controllers.endpoints.services import NODES, running_pod, service


def only_endpoint(of: Service, held: Pod) -> Endpoint:
    (endpoints,) = rules.desired(of, [held], NODES, "IPv4").values()
    (endpoint,) = endpoints.values()
    return endpoint


def test_endpoint_names_its_address_node_zone_and_pod() -> None:
    endpoint = only_endpoint(service(), running_pod("p"))
    assert endpoint.addresses == ("10.0.0.1",)
    assert (endpoint.node_name, endpoint.zone, endpoint.hostname) == ("n1", "a", None)
    assert endpoint.target_ref is not None
    assert (endpoint.target_ref.kind, endpoint.target_ref.name) == ("Pod", "p")


@pytest.mark.parametrize(
    ("ready", "deleting", "published", "conditions"),
    [
        (True, False, False, (True, True, False)),
        (False, False, False, (False, False, False)),
        (True, True, False, (False, True, True)),
        (False, False, True, (True, False, False)),
    ],
)
def test_conditions_of_an_endpoint(
    ready: bool, deleting: bool, published: bool, conditions: tuple[bool, bool, bool]
) -> None:
    held = running_pod("p", ready=ready)
    if deleting:
        held = structs.replace(held, metadata=structs.replace(held.metadata, deletion_timestamp=EPOCH))
    found = only_endpoint(service(publish_not_ready_addresses=published), held).conditions
    assert (found.ready, found.serving, found.terminating) == conditions


def test_a_host_name_counts_in_the_services_subdomain_only() -> None:
    assert only_endpoint(service(), running_pod("p", hostname="db-0", subdomain="web")).hostname == "db-0"
    assert only_endpoint(service(), running_pod("p", hostname="db-0", subdomain="other")).hostname is None


@pytest.mark.parametrize(("policy", "numbers"), [("", []), ("Always", [8080])])
def test_named_ports_of_init_containers_are_left_out(policy: str, numbers: list[int]) -> None:
    """Those of sidecars count."""
    held = running_pod("p", ready=True)
    setup = Container(
        name="setup",
        image="x",
        restart_policy=policy,
        ports=(ContainerPort(name="admin", container_port=8080, protocol="TCP"),),
    )
    subject = structs.replace(held, spec=structs.replace(held.spec, init_containers=(setup,)))
    wanted = service(ServicePort(name="a", port=80, target_port="admin", protocol="TCP"))
    assert [port.port for port in rules.ports_of(wanted, subject)] == numbers


def test_named_ports_are_found_in_the_pod() -> None:
    port = ServicePort(name="web", port=80, target_port="http", protocol="TCP")
    one = Container(name="a", ports=(ContainerPort(name="http", container_port=8080, protocol="TCP"),))
    other = Container(name="a", ports=(ContainerPort(name="http", container_port=9090, protocol="TCP"),))
    pods = [
        running_pod("p1", containers=(one,)),
        running_pod("p2", "10.0.0.2", containers=(other,)),
        running_pod("p3", "10.0.0.3"),
    ]
    found = {
        tuple(each.port for each in ports): [key[0][0] for key in endpoints]
        for ports, endpoints in rules.desired(service(port), pods, NODES, "IPv4").items()
    }
    assert found == {(8080,): ["10.0.0.1"], (9090,): ["10.0.0.2"], (): ["10.0.0.3"]}


FAMILIES: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"ip_families": ("IPv4",)}, ("IPv4",)),
    ({"ip_families": ("IPv6",)}, ("IPv6",)),
    ({"ip_families": ("IPv6", "IPv4")}, ("IPv6", "IPv4")),
    ({"cluster_ip": "10.96.0.7"}, ("IPv4",)),
    ({"cluster_ip": "fd00::7"}, ("IPv6",)),
    ({"cluster_ip": "None"}, ("IPv4", "IPv6")),
]


@pytest.mark.parametrize(("spec", "wanted"), FAMILIES)
def test_families_follow_from_the_address_of_an_older_service(
    spec: dict[str, Any], wanted: tuple[str, ...]
) -> None:
    assert rules.address_types(service(**spec)) == wanted


PODS = [
    (("10.0.0.1",), ("IPv4", "IPv6"), {"IPv4": [("10.0.0.1",)], "IPv6": []}),
    (("fd00::1", "10.0.0.1"), ("IPv4",), {"IPv4": [("10.0.0.1",)]}),
    (("10.0.0.1",), ("IPv6",), {"IPv6": []}),
    (("10.0.0.1", "fd00::1"), ("IPv6", "IPv4"), {"IPv4": [("10.0.0.1",)], "IPv6": [("fd00::1",)]}),
]


@pytest.mark.parametrize(("ips", "families", "wanted"), PODS)
def test_pod_serves_in_the_families_that_it_has(
    ips: tuple[str, ...], families: tuple[str, ...], wanted: dict[str, list[tuple[str, ...]]]
) -> None:
    held = running_pod("p")
    status = structs.replace(held.status, pod_ip=ips[0], pod_ips=tuple(PodIP(ip=ip) for ip in ips))
    subject = structs.replace(held, status=status)
    found = {type_: addresses(service(ip_families=families), subject, type_) for type_ in families}
    assert found == wanted


def addresses(of: Service, held: Pod, type_: str) -> list[tuple[str, ...]]:
    return [key[0] for each in rules.desired(of, [held], NODES, type_).values() for key in each]


@pytest.mark.parametrize(("published", "number"), [(False, 0), (True, 1)])
@pytest.mark.parametrize("node", ["n2", ""])
def test_pod_of_unknown_node_is_left_out_unless_not_ready_addresses_are_published(
    published: bool, number: int, node: str
) -> None:
    held = running_pod("p")
    held = structs.replace(held, spec=structs.replace(held.spec, node_name=node))
    of = service(publish_not_ready_addresses=published)
    (endpoints,) = rules.desired(of, [held], NODES, "IPv4").values()
    assert len(endpoints) == number
    assert len(rules.without_node(of, [held], NODES)) == 1 - number


@pytest.mark.parametrize(
    ("cluster_ip", "is_headless"), [("None", True), ("", True), ("10.0.0.1", False), ("fd00::1", False)]
)
def test_slices_of_headless_services_have_a_label(cluster_ip: str, is_headless: bool) -> None:
    labels = rules.labels_of(service(cluster_ip=cluster_ip))
    assert (labels.get("service.kubernetes.io/headless") == "") is is_headless


def test_zone_label_without_text_is_no_zone() -> None:
    nodes = {"n1": Node(metadata=ObjectMeta(name="n1", labels={rules.ZONE: ""}))}
    ((endpoint,),) = (
        each.values() for each in rules.desired(service(), [running_pod("p")], nodes, "IPv4").values()
    )
    assert endpoint.zone is None


@pytest.mark.parametrize("ready", [(True, True), (True, False), (False, False)])
def test_pods_with_the_same_address_have_an_endpoint_each(ready: tuple[bool, bool]) -> None:
    pods = [running_pod(f"p{index}", ready=each) for index, each in enumerate(ready)]
    (endpoints,) = rules.desired(service(), pods, NODES, "IPv4").values()
    assert [each.conditions.ready for each in endpoints.values()] == [*ready]
    assert {each.addresses for each in endpoints.values()} == {("10.0.0.1",)}


def test_endpoints_have_a_port_of_each_protocol_of_the_service() -> None:
    protocols = ("TCP", "UDP", "SCTP")
    ports = [ServicePort(name=each.lower(), port=80, target_port=80, protocol=each) for each in protocols]
    (found,) = rules.desired(service(*ports), [running_pod("p")], NODES, "IPv4")
    assert [(each.name, each.port, each.protocol) for each in found] == [
        (each.lower(), 80, each) for each in protocols
    ]


SERVED = {"selector": {"app": "web"}}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (SERVED, True),
        ({"selector": {}}, False),
        ({**SERVED, "type": "ExternalName", "external_name": "example.com"}, False),
        ({"selector": {}, "type": "ExternalName", "external_name": "example.com"}, False),
        ({**SERVED, "type": "ExternalName", "external_name": "example.com", "cluster_ip": "None"}, False),
    ],
)
def test_services_whose_slices_the_controller_keeps(spec: dict[str, Any], wanted: bool) -> None:
    """Cases of TestSyncServiceNoSelector and TestSyncServiceExternalName."""
    assert rules.has_endpoints(service(**spec)) is wanted


V4, V6, OTHER_V6 = PodIP(ip="10.0.0.1"), PodIP(ip="fd00::1"), PodIP(ip="fd00::2")

# Test_podChanged in endpoint/controller_utils_test.go: fields before and after a change
POD_CHANGES: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({}, {}, False),
    ({}, {"node_name": "n2"}, False),
    ({}, {"resource_version": "2"}, False),
    ({}, {"labels": {"app": "other"}}, False),
    ({}, {"labels": {}}, False),
    ({"pod_ip": "", "pod_ips": ()}, {"pod_ip": "10.0.0.1", "pod_ips": (V4,)}, True),
    ({}, {"pod_ip": "10.0.0.2", "pod_ips": (PodIP(ip="10.0.0.2"),)}, True),
    ({"pod_ip": "", "pod_ips": ()}, {"pod_ip": "fd00::1", "pod_ips": (V6,)}, True),
    ({"pod_ip": "fd00::1", "pod_ips": (V6,)}, {"pod_ip": "fd00::2", "pod_ips": (OTHER_V6,)}, True),
    ({}, {"pod_ips": (V4, V6)}, True),
    ({"pod_ips": (V4, V6)}, {"pod_ips": (V4, OTHER_V6)}, True),
    ({"pod_ips": (V4, V6)}, {}, True),
    ({}, {"conditions": ()}, True),
    ({}, {"phase": "Failed"}, True),
    ({}, {"deletion_timestamp": EPOCH}, True),
]


def with_fields(held: Pod, fields: dict[str, Any]) -> Pod:
    parts = (held.metadata, held.spec, held.status)
    changed = (
        structs.replace(part, **{name: new for name, new in fields.items() if hasattr(part, name)})
        for part in parts
    )
    return structs.replace(held, **dict(zip(("metadata", "spec", "status"), changed, strict=True)))


@pytest.mark.parametrize(("old", "new", "wanted"), POD_CHANGES)
def test_changes_of_a_pod_that_its_endpoint_depends_on(
    old: dict[str, Any], new: dict[str, Any], wanted: bool
) -> None:
    before, after = (rules.relevant(with_fields(running_pod("p"), fields)) for fields in (old, new))
    assert (before != after) is wanted


# TestDetermineNeededServiceUpdates: the services that select a pod before and after a change of its labels,
# those that this concerns, and those that it concerns if the pod's endpoint changes, too
CHANGES_OF_LABELS = [
    ("abc", "abc", "", "abc"),
    ("abc", "def", "abcdef", "abcdef"),
    ("abc", "", "abc", "abc"),
    ("", "abc", "abc", "abc"),
    ("abc", "bcd", "ad", "abcd"),
    ("", "", "", ""),
]


@pytest.mark.parametrize(("before", "after", "by_labels", "by_both"), CHANGES_OF_LABELS)
def test_services_that_a_change_of_a_pod_concerns(
    before: str, after: str, by_labels: str, by_both: str
) -> None:
    services = {letter: service(selector={letter: "x"}) for letter in "abcdef"}
    old, new = (
        with_fields(running_pod("p"), {"labels": dict.fromkeys(each, "x")}) for each in (before, after)
    )
    for changed, wanted in ((False, by_labels), (True, by_both)):
        found = [name for name, of in services.items() if rules.is_concerned(of, old, new, changed=changed)]
        assert "".join(found) == wanted

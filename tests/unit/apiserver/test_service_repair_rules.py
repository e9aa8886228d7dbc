"""IPAddresses of Services: what is made, replaced, deleted and reported, as ``repairip_test.go`` lists it."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from podling.api.core_v1 import Service, ServicePort, ServiceSpec
from podling.api.meta_v1 import ObjectMeta
from podling.api.networking_v1 import IPAddress, IPAddressSpec, ParentReference
from podling.apiserver.service_repair_rules import AddressPlan, address_of, plan_address, port_notices

ADDRESS = "10.96.0.7"


def service(name: str, address: str = ADDRESS, minute: int = 0, **spec: object) -> Service:
    created = datetime(2026, 1, 1, 0, minute, tzinfo=UTC)
    return Service(
        metadata=ObjectMeta(name=name, namespace="default", creation_timestamp=created),
        spec=ServiceSpec(cluster_ip=address, cluster_ips=(address,), **spec),  # type: ignore[arg-type]
    )


ONE, TWO = service("one"), service("two", minute=1)
OF_ONE = address_of(ADDRESS, ONE)


def plan(owners: list[Service], found: IPAddress | None, **options: bool) -> AddressPlan:
    return plan_address(ADDRESS, owners, found, **{"in_range": True, **options})


def texts(found: AddressPlan) -> list[tuple[str, str, str]]:
    return [(each.regarding.metadata.name or "", each.reason, each.message) for each in found.notices]


def test_address_of_a_service_is_made_with_labels_and_parent() -> None:
    assert plan([ONE], None) == AddressPlan(create=OF_ONE)
    assert OF_ONE.metadata.labels == {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    assert OF_ONE.spec.parent_ref == ParentReference(resource="services", namespace="default", name="one")
    assert address_of("fd00::7", ONE).metadata.labels["ipaddress.kubernetes.io/ip-family"] == "IPv6"


def test_nothing_is_done_twice() -> None:
    assert plan([ONE], OF_ONE) == AddressPlan()
    assert plan([], None) == AddressPlan()


def test_address_that_was_deleted_is_restored_with_an_event() -> None:
    found = plan([ONE], None, deleted=True)
    assert found.create == OF_ONE
    message = "Cluster IP [IPv4]: 10.96.0.7 is not allocated; repairing"
    assert texts(found) == [("one", "ClusterIPNotAllocated", message)]


def test_address_without_its_service_is_deleted() -> None:
    assert plan([], OF_ONE) == AddressPlan(delete=OF_ONE)


def test_address_of_another_manager_stays() -> None:
    foreign = replace(OF_ONE, metadata=ObjectMeta(name=ADDRESS))
    assert plan([], foreign) == AddressPlan()


def test_address_of_ours_that_names_something_else_is_deleted() -> None:
    parent = ParentReference(group="gateway.networking.k8s.io", resource="gateways", name="a", namespace="b")
    changed = replace(OF_ONE, spec=IPAddressSpec(parent_ref=parent))
    found = plan([], changed)
    assert found.delete is changed
    assert texts(found) == [
        (
            ADDRESS,
            "IPAddressNotAllocated",
            "IPAddress 10.96.0.7 appears to have been modified, not referencing a Service "
            "&{gateway.networking.k8s.io gateways b a}: cleaning up",
        )
    ]
    held = plan([ONE], changed)
    assert (held.delete, held.create) == (changed, OF_ONE)
    message = "the ClusterIP [IPv4]: 10.96.0.7 for Service default/one has a wrong reference; repairing"
    assert texts(held) == [("one", "ClusterIPNotAllocated", message)]


def test_address_of_a_former_service_gets_the_new_parent() -> None:
    found = plan([TWO], OF_ONE)
    assert (found.delete, found.create, found.notices) == (OF_ONE, address_of(ADDRESS, TWO), ())


def test_address_without_our_labels_is_made_anew() -> None:
    bare = replace(OF_ONE, metadata=ObjectMeta(name=ADDRESS))
    assert (plan([ONE], bare).delete, plan([ONE], bare).create) == (bare, OF_ONE)


def test_address_of_two_services_stays_with_the_one_it_names() -> None:
    message = "Cluster IP [IPv4]:10.96.0.7 was assigned to multiple services; please recreate service"
    for owners in ([ONE, TWO], [TWO, ONE]):
        assert texts(plan(owners, OF_ONE)) == [("two", "ClusterIPAlreadyAllocated", message)]
        assert texts(plan(owners, address_of(ADDRESS, TWO))) == [
            ("one", "ClusterIPAlreadyAllocated", message)
        ]
        assert plan(owners, None).create == OF_ONE, "the older Service keeps it"


def test_address_outside_of_every_range_is_reported_only() -> None:
    found = plan([ONE], None, in_range=False)
    message = (
        "Cluster IP [IPv4]: 10.96.0.7 is not within any configured Service CIDR; please recreate service"
    )
    assert texts(found) == [("one", "ClusterIPOutOfRange", message)]
    assert (found.create, found.delete) == (None, None)


def test_node_ports_outside_of_the_range_or_given_twice_are_reported() -> None:
    first = service(
        "one", ports=(ServicePort(port=80, node_port=30000), ServicePort(port=81, node_port=30000))
    )
    second = service("two", health_check_node_port=30000, ports=(ServicePort(port=80, node_port=40000),))
    assert [(each.regarding.metadata.name, each.reason, each.message) for each in port_notices(
        [first, second], range(30000, 32768)
    )] == [
        ("two", "PortAlreadyAllocated",
         "Port 30000 was assigned to multiple services; please recreate service"),
        ("two", "PortOutOfRange",
         "Port 40000 is not within the port range 30000-32767; please recreate service"),
    ]  # fmt: skip

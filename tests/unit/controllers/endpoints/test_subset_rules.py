"""Subsets of Endpoints. Cases of upstream's ``endpoints_controller_test.go`` and ``RepackSubsets``."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    Container,
    ContainerPort,
    EndpointAddress,
    EndpointSubset,
    Pod,
    PodIP,
    Service,
    ServicePort,
)
from podling.controllers.endpoints.subset_rules import ADDRESSES_MAX, subsets_of, truncated
from podling.sim.loop import EPOCH
from tests.unit.controllers.endpoints.services import running_pod, service

Shown = list[tuple[list[tuple[str, int]], list[str], list[str]]]


def shown(of: Service, pods: list[Pod]) -> Shown:
    """Return ports, ready and not ready addresses of each subset."""
    return [
        (
            [(port.name, port.port) for port in each.ports],
            [address.ip for address in each.addresses],
            [address.ip for address in each.not_ready_addresses],
        )
        for each in subsets_of(of, pods)
    ]


def named(number: int) -> Container:
    return Container(name="a", ports=(ContainerPort(name="http", container_port=number, protocol="TCP"),))


HTTP = ServicePort(name="http", port=80, target_port="http", protocol="TCP")
METRICS = ServicePort(name="metrics", port=90, target_port=90, protocol="TCP")


def test_ports_with_the_same_addresses_are_together() -> None:
    pods = [
        running_pod("a", "10.0.0.1", containers=(named(8080),)),
        running_pod("b", "10.0.0.2", containers=(named(8080),), ready=False),
    ]
    found = shown(service(HTTP, METRICS), pods)
    assert found == [([("http", 8080), ("metrics", 90)], ["10.0.0.1"], ["10.0.0.2"])]


def test_named_port_with_several_numbers_has_a_subset_for_each() -> None:
    pods = [
        running_pod("a", "10.0.0.1", containers=(named(8080),)),
        running_pod("b", "10.0.0.2", containers=(named(9090),)),
        running_pod("c", "10.0.0.3"),
    ]
    assert shown(service(HTTP, METRICS), pods) == [
        ([("http", 8080)], ["10.0.0.1"], []),
        ([("http", 9090)], ["10.0.0.2"], []),
        ([("metrics", 90)], ["10.0.0.1", "10.0.0.2", "10.0.0.3"], []),
    ]


def test_addresses_are_in_order() -> None:
    pods = [running_pod(name, ip) for name, ip in (("b", "10.0.0.2"), ("a", "10.0.0.1"))]
    assert shown(service(), pods) == [([("", 8080)], ["10.0.0.1", "10.0.0.2"], [])]


@pytest.mark.parametrize(("cluster_ip", "wanted"), [("None", [([], ["10.0.0.1"], [])]), ("10.96.0.1", [])])
def test_only_headless_services_need_no_ports(cluster_ip: str, wanted: Shown) -> None:
    of = service(cluster_ip=cluster_ip)
    without_ports = structs.replace(of, spec=structs.replace(of.spec, ports=()))
    assert shown(without_ports, [running_pod("a")]) == wanted


@pytest.mark.parametrize(
    ("published", "ready", "deleting", "wanted"),
    [
        (False, True, False, [([("", 8080)], ["10.0.0.1"], [])]),
        (False, False, False, [([("", 8080)], [], ["10.0.0.1"])]),
        (False, True, True, []),
        (True, False, False, [([("", 8080)], ["10.0.0.1"], [])]),
        (True, False, True, [([("", 8080)], ["10.0.0.1"], [])]),
    ],
)
def test_readiness_and_deletion_decide_where_an_address_is(
    published: bool, ready: bool, deleting: bool, wanted: Shown
) -> None:
    pod = running_pod("a", ready=ready)
    if deleting:
        pod = structs.replace(pod, metadata=structs.replace(pod.metadata, deletion_timestamp=EPOCH))
    assert shown(service(publish_not_ready_addresses=published), [pod]) == wanted


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("deleting", [False, True])
@pytest.mark.parametrize("ready", [False, True])
@pytest.mark.parametrize("phase", ["Pending", "Running", "Unknown", "Succeeded", "Failed"])
def test_phase_counts_only_for_pods_that_have_ended(
    phase: str, ready: bool, deleting: bool, published: bool
) -> None:
    """Cases of ``TestSyncServiceAddresses``."""
    pod = running_pod("a", ready=ready)
    metadata = structs.replace(pod.metadata, deletion_timestamp=EPOCH if deleting else None)
    pod = structs.replace(pod, metadata=metadata, status=structs.replace(pod.status, phase=phase))
    found = shown(service(publish_not_ready_addresses=published), [pod])
    if phase in ("Succeeded", "Failed") or (deleting and not published):
        assert found == []
    else:
        is_ready = ready or published
        assert found == [([("", 8080)], ["10.0.0.1"] * is_ready, ["10.0.0.1"] * (not is_ready))]


@pytest.mark.parametrize(
    ("ips", "spec", "wanted"),
    [
        (("10.0.0.1", "fd00::1"), {"ip_families": ("IPv4",)}, "10.0.0.1"),
        (("10.0.0.1", "fd00::1"), {"ip_families": ("IPv6",)}, "fd00::1"),
        (("10.0.0.1", "fd00::1"), {"ip_families": ("IPv6", "IPv4")}, "fd00::1"),
        (("10.0.0.1", "fd00::1"), {"cluster_ip": "10.96.0.1"}, "10.0.0.1"),
        (("10.0.0.1", "fd00::1"), {"cluster_ip": "fd10::1"}, "fd00::1"),
        (("fd00::1", "10.0.0.1"), {"cluster_ip": "None"}, "fd00::1"),
        (("10.0.0.1", "fd00::1"), {"cluster_ip": "None"}, "10.0.0.1"),
        (("10.0.0.1",), {"ip_families": ("IPv6",)}, None),
        (("10.0.0.1",), {"cluster_ip": "10.96.0.1"}, "10.0.0.1"),
        (("fd00::1", "10.0.0.1"), {"cluster_ip": "10.96.0.1"}, "10.0.0.1"),
        (("10.0.0.1",), {"cluster_ip": "None"}, "10.0.0.1"),
        (("fd00::1",), {"cluster_ip": "None"}, "fd00::1"),
        (("10.0.0.1", "fd00::1"), {"cluster_ip": "None", "ip_families": ("IPv4",)}, "10.0.0.1"),
        (("10.0.0.1", "fd00::1"), {"cluster_ip": "None", "ip_families": ("IPv6",)}, "fd00::1"),
        (("10.0.0.1",), {"cluster_ip": "fd10::1"}, None),
    ],
)
def test_address_is_of_the_services_first_family(
    ips: tuple[str, ...], spec: dict[str, object], wanted: str | None
) -> None:
    pod = running_pod("a")
    status = structs.replace(pod.status, pod_ip=ips[0], pod_ips=tuple(PodIP(ip=ip) for ip in ips))
    found = shown(service(**spec), [structs.replace(pod, status=status)])
    assert [ready for _, ready, _ in found] == ([] if wanted is None else [[wanted]])


@pytest.mark.parametrize(("subdomain", "wanted"), [("web", "db-0"), ("other", ""), ("", "")])
def test_host_name_counts_in_the_services_subdomain_only(subdomain: str, wanted: str) -> None:
    (found,) = subsets_of(service(), [running_pod("a", hostname="db-0", subdomain=subdomain)])
    assert found.addresses[0].hostname == wanted


def crowd(ready: int, waiting: int) -> EndpointSubset:
    def addresses(count: int, network: int) -> tuple[EndpointAddress, ...]:
        return tuple(EndpointAddress(ip=f"10.{network}.{n // 250}.{n % 250}") for n in range(count))

    return EndpointSubset(addresses=addresses(ready, 0), not_ready_addresses=addresses(waiting, 1))


@pytest.mark.parametrize(
    ("subsets", "wanted"),
    [
        ([(500, 500)], None),
        ([(900, 900)], [(900, 100)]),
        ([(1000, 1)], [(1000, 0)]),
        ([(1500, 20)], [(1000, 0)]),
        ([(500, 500), (500, 500)], [(500, 0), (500, 0)]),
        ([(600, 50), (600, 50)], [(500, 0), (500, 0)]),
        ([(400, 400), (400, 200)], [(400, 134), (400, 66)]),
        ([(2, 0), (1200, 0), (2, 0)], [(2, 0), (997, 0), (1, 0)]),
        ([(1500, 0), (0, 10)], [(1000, 0), (0, 0)]),
        ([], None),
        ([(50, 50), (100, 100), (100, 100), (100, 100), (100, 100)], None),
        ([(100, 100)] * 5, None),
        (
            [(90, 101), (110, 200), (50, 200), (10, 201), (20, 298)],
            [(90, 73), (110, 144), (50, 144), (10, 145), (20, 214)],
        ),
        (
            [(205, 100), (400, 200), (402, 200), (400, 200), (693, 300)],
            [(98, 0), (191, 0), (192, 0), (191, 0), (328, 0)],
        ),
    ],
)
def test_thousand_addresses_are_kept_in_proportion(
    subsets: list[tuple[int, int]], wanted: list[tuple[int, int]] | None
) -> None:
    found = truncated([crowd(*each) for each in subsets])
    sizes = (
        None if found is None else [(len(each.addresses), len(each.not_ready_addresses)) for each in found]
    )
    assert sizes == wanted
    assert ADDRESSES_MAX == 1000

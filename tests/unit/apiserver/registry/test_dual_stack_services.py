"""Families and addresses of Services in clusters with one and with two families.

The cases follow the tables of ``pkg/registry/core/service/storage/storage_test.go``: what a creation gets or
why it is refused, and which updates gain, keep or release an address.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from podling.api.core_v1 import Service
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.server import ApiServer
from podling.machinery.errors import ApiError
from podling.machinery.network_ranges import network_ranges
from podling.testing import ControlPlane, memory_cluster
from tests.support.manifests import obj

RANGES = {"4": "10.96.0.0/16", "6": "fd00:96::/112", "46": "10.96.0.0/16,fd00:96::/112",
          "64": "fd00:96::/112,10.96.0.0/16"}  # fmt: skip
PLAIN: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}


@pytest.fixture
async def plane(request: pytest.FixtureRequest) -> AsyncIterator[ControlPlane]:
    """A cluster with the families that the parameter names, IPv4 and IPv6 unless it does."""
    families = getattr(request, "param", "46")
    async with memory_cluster(ranges=network_ranges(services=RANGES[families])) as cluster:
        yield cluster


def service(fragment: str = "", name: str = "web") -> Service:
    found: Service = obj(Service, fragment, {**PLAIN, "metadata": {"name": name, "namespace": "default"}})
    return found


def families(made: Service) -> str:
    """Return the families of a Service, ``46`` for IPv4 before IPv6; its addresses must be of them."""
    found = "".join(family[-1] for family in made.spec.ip_families)
    addresses = [ip_address(each) for each in made.spec.cluster_ips if each != "None"]
    if addresses:
        assert "".join(str(each.version) for each in addresses) == found
        assert made.spec.cluster_ip == made.spec.cluster_ips[0]
        ranges = [ip_network(each) for each in RANGES["46"].split(",")]
        assert all(any(each in network for network in ranges) for each in addresses)
    else:
        assert made.spec.cluster_ips == ("None",)
    return found


CREATED: list[tuple[str, str, str, str]] = [
    ("4", "", "4", "SingleStack"),
    ("6", "", "6", "SingleStack"),
    ("46", "", "4", "SingleStack"),
    ("64", "", "6", "SingleStack"),
    ("46", "ipFamilies: [IPv6]", "6", "SingleStack"),
    ("64", "ipFamilies: [IPv4]", "4", "SingleStack"),
    ("46", "clusterIP: 'fd00:96::77'", "6", "SingleStack"),
    ("46", "clusterIP: 10.96.0.77, ipFamilies: [IPv4]", "4", "SingleStack"),
    ("4", "ipFamilyPolicy: PreferDualStack", "4", "PreferDualStack"),
    ("6", "ipFamilyPolicy: PreferDualStack", "6", "PreferDualStack"),
    ("46", "ipFamilyPolicy: PreferDualStack", "46", "PreferDualStack"),
    ("64", "ipFamilyPolicy: PreferDualStack", "64", "PreferDualStack"),
    ("46", "ipFamilyPolicy: RequireDualStack", "46", "RequireDualStack"),
    ("64", "ipFamilyPolicy: RequireDualStack", "64", "RequireDualStack"),
    ("46", "ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv6]", "64", "PreferDualStack"),
    ("46", "ipFamilyPolicy: RequireDualStack, ipFamilies: [IPv6, IPv4]", "64", "RequireDualStack"),
    ("46", "ipFamilyPolicy: PreferDualStack, clusterIP: 'fd00:96::77'", "64", "PreferDualStack"),
    ("46", "ipFamilyPolicy: RequireDualStack, clusterIP: 'fd00:96::7', clusterIPs: ['fd00:96::7', 10.96.0.7]",
     "64", "RequireDualStack"),
    ("46", "clusterIP: None", "4", "SingleStack"),
    ("64", "clusterIP: None", "6", "SingleStack"),
    ("46", "clusterIP: None, ipFamilyPolicy: PreferDualStack", "46", "PreferDualStack"),
    ("46", "clusterIP: None, ipFamilies: [IPv6], ipFamilyPolicy: RequireDualStack", "64", "RequireDualStack"),
    ("46", "clusterIP: None, selector: null", "46", "RequireDualStack"),
    ("6", "clusterIP: None, selector: null", "64", "RequireDualStack"),
    ("4", "clusterIP: None, selector: null, ipFamilies: [IPv6]", "64", "RequireDualStack"),
    ("4", "clusterIP: None, selector: null, ipFamilies: [IPv6], ipFamilyPolicy: SingleStack", "6",
     "SingleStack"),
    ("46", "type: NodePort, ipFamilyPolicy: PreferDualStack", "46", "PreferDualStack"),
    ("64", "type: LoadBalancer, ipFamilyPolicy: RequireDualStack", "64", "RequireDualStack"),
]  # fmt: skip


@pytest.mark.parametrize(("plane", "fragment", "wanted", "policy"), CREATED, indirect=["plane"])
async def test_creation_gets_families_and_addresses(
    plane: ControlPlane, fragment: str, wanted: str, policy: str
) -> None:
    made = await plane.client.create(service(f"spec: {{{fragment}}}"))
    assert (families(made), made.spec.ip_family_policy) == (wanted, policy)


REFUSED: list[tuple[str, str, str]] = [
    ("4", "ipFamilyPolicy: RequireDualStack",
     'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack '
     "services"),
    ("6", "ipFamilies: [IPv4]", 'spec.ipFamilies[0]: Invalid value: "IPv4": not configured on this cluster'),
    ("4", "ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv4, IPv6]",
     'spec.ipFamilies[1]: Invalid value: "IPv6": not configured on this cluster'),
    ("6", "clusterIP: 10.96.0.7",
     'spec.clusterIPs[0]: Invalid value: ["10.96.0.7"]: IPv4 is not configured on this cluster'),
    ("46", "ipFamilies: [IPv4, IPv6]",
     "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' "
     "when multiple IP families are specified"),
    ("46", "clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7, 'fd00:96::7']",
     "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' "
     "when multiple cluster IPs are specified"),
    ("46", "ipFamilyPolicy: PreferDualStack, clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7, 10.96.0.8]",
     'spec.clusterIPs: Invalid value: ["10.96.0.7","10.96.0.8"]: may specify no more than one IP for each IP '
     "family"),
    ("46", "ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv6], clusterIP: 10.96.0.7",
     'spec.clusterIPs[0]: Invalid value: "10.96.0.7": expected an IPv6 value as indicated by '
     "`ipFamilies[0]`"),
    ("46", "clusterIP: 'fd00:97::7'",
     'spec.clusterIPs: Invalid value: ["fd00:97::7"]: failed to allocate IP fd00:97::7: the provided network '
     "does not match the current range"),
    ("46", "ipFamilies: [IPv4, IPv4]", 'spec.ipFamilies[1]: Duplicate value: "IPv4"'),
    ("46", "ipFamilies: [IPv5]", 'spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", '
     '"IPv6"'),
]  # fmt: skip


@pytest.mark.parametrize(("plane", "fragment", "why"), REFUSED, indirect=["plane"])
async def test_creation_is_refused(plane: ControlPlane, fragment: str, why: str) -> None:
    with pytest.raises(ApiError) as caught:
        await plane.client.create(service(f"spec: {{{fragment}}}"))
    assert caught.value.code == 422
    assert why in str(caught.value)


async def test_second_address_is_checked_like_the_first(plane: ControlPlane) -> None:
    both = "ipFamilyPolicy: RequireDualStack, clusterIP: {0}, clusterIPs: [{0}, 'fd00:96::7']"
    await plane.client.create(service(f"spec: {{{both.format('10.96.0.7')}}}"))
    with pytest.raises(ApiError) as caught:
        await plane.client.create(service(f"spec: {{{both.format('10.96.0.8')}}}", "two"))
    assert str(caught.value) == (
        'Service "two" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.8","fd00:96::7"]: failed to '
        "allocate IP fd00:96::7: provided IP is already allocated"
    )
    third = await plane.client.create(service("spec: {clusterIP: 10.96.0.8}", "three"))
    assert third.spec.cluster_ip == "10.96.0.8", "the refused request has kept nothing"


async def patched(plane: ControlPlane, **spec: Any) -> Service:
    return await plane.client.patch(Service, "web", {"spec": spec}, "default")


UPGRADES: list[tuple[dict[str, Any], str]] = [
    ({"ipFamilyPolicy": "PreferDualStack"}, "46"),
    ({"ipFamilyPolicy": "RequireDualStack"}, "46"),
    ({"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv4", "IPv6"]}, "46"),
    ({"ipFamilyPolicy": "SingleStack"}, "4"),
    ({"selector": {"app": "other"}}, "4"),
]


@pytest.mark.parametrize(("spec", "wanted"), UPGRADES)
async def test_upgrade_keeps_the_first_address(
    plane: ControlPlane, spec: dict[str, Any], wanted: str
) -> None:
    first = await plane.client.create(service())
    later = await patched(plane, **spec)
    assert families(later) == wanted
    assert later.spec.cluster_ip == first.spec.cluster_ip


async def test_upgrade_may_name_the_second_address(plane: ControlPlane) -> None:
    first = await plane.client.create(service())
    addresses = [first.spec.cluster_ip, "fd00:96::77"]
    later = await patched(plane, ipFamilyPolicy="RequireDualStack", clusterIPs=addresses)
    assert list(later.spec.cluster_ips) == addresses


async def test_downgrade_releases_the_second_address(plane: ControlPlane) -> None:
    both = "ipFamilyPolicy: RequireDualStack, clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7, 'fd00:96::7']"
    await plane.client.create(service(f"spec: {{{both}}}"))
    for spec in ({"clusterIPs": ["10.96.0.7"]}, {"ipFamilies": ["IPv4"]}):
        with pytest.raises(ApiError, match="must be 'SingleStack' to release the secondary"):
            await patched(plane, **spec)
    later = await patched(plane, ipFamilyPolicy="SingleStack")
    assert (families(later), later.spec.cluster_ips) == ("4", ("10.96.0.7",))
    other = await plane.client.create(service("spec: {clusterIP: 'fd00:96::7'}", "other"))
    assert other.spec.cluster_ip == "fd00:96::7"


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"ipFamilies": ["IPv6"]}, 'spec.clusterIPs[0]: Invalid value: "10.96.0.7": expected an IPv6 value'),
    ({"ipFamilies": ["IPv6", "IPv4"], "ipFamilyPolicy": "RequireDualStack"}, "expected an IPv6 value"),
    ({"clusterIPs": ["fd00:96::8"], "clusterIP": "fd00:96::8"}, "expected an IPv4 value as indicated by"),
    ({"clusterIP": "10.96.0.8"}, "may not change once set"),
]


@pytest.mark.parametrize(("spec", "why"), CHANGES)
async def test_first_family_never_changes(plane: ControlPlane, spec: dict[str, Any], why: str) -> None:
    await plane.client.create(service("spec: {clusterIP: 10.96.0.7}"))
    with pytest.raises(ApiError) as caught:
        await patched(plane, **spec)
    assert caught.value.code == 422
    assert why in str(caught.value)


async def test_external_name_gives_its_addresses_back_and_gets_new_ones(plane: ControlPlane) -> None:
    both = "ipFamilyPolicy: RequireDualStack, clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7, 'fd00:96::7']"
    await plane.client.create(service(f"spec: {{{both}}}"))
    name = await patched(plane, type="ExternalName", externalName="example.com")
    assert (name.spec.cluster_ips, name.spec.ip_families, name.spec.ip_family_policy) == ((), (), None)
    await plane.client.create(service("spec: {clusterIP: 10.96.0.7}", "other"))
    again = await patched(plane, type="ClusterIP", externalName=None, ipFamilyPolicy="PreferDualStack")
    assert families(again) == "46"
    assert "10.96.0.7" not in again.spec.cluster_ips


async def test_preference_is_settled_at_creation_and_again_by_a_change_of_type() -> None:
    """A cluster that gains a family upgrades no Service by itself."""
    async with memory_cluster(ranges=network_ranges(services=RANGES["4"])) as before:
        await before.client.create(service("spec: {ipFamilyPolicy: PreferDualStack}"))
        ranges = network_ranges(services=RANGES["46"])
        later = ApiServer(before.store, plugins_without_controllers(ranges), ranges=ranges)
        await later.start()
        plane = ControlPlane(later, before.store)
        assert families(await patched(plane, selector={"app": "other"})) == "4"
        assert families(await patched(plane, type="NodePort")) == "46"
        await later.stop()


async def test_headless_service_may_change_its_families(plane: ControlPlane) -> None:
    await plane.client.create(service("spec: {clusterIP: None}"))
    later = await patched(plane, ipFamilyPolicy="RequireDualStack", ipFamilies=["IPv6", "IPv4"])
    assert families(later) == "64"

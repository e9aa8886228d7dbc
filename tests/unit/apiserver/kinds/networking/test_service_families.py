"""Tests of the choice of Services' IP families."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ServiceSpec
from podling.apiserver.kinds.networking.service_families import with_families
from tests.support.causes import Cause, causes, invalid

BOTH = ("IPv4", "IPv6")
POLICY = "spec.ipFamilyPolicy"
V4, V6 = "10.96.0.7", "2001:db8::1"


def spec(policy: str | None = None, *families: str, **more: object) -> ServiceSpec:
    return ServiceSpec(ip_family_policy=policy, ip_families=families, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "configured", "policy", "families"),
    [
        (spec(), ("IPv4",), "SingleStack", ("IPv4",)),
        (spec(), ("IPv6", "IPv4"), "SingleStack", ("IPv6",)),
        (spec("PreferDualStack"), ("IPv4",), "PreferDualStack", ("IPv4",)),
        (spec("PreferDualStack"), BOTH, "PreferDualStack", BOTH),
        (spec("RequireDualStack", "IPv6"), BOTH, "RequireDualStack", ("IPv6", "IPv4")),
        (spec(cluster_ip=V6, cluster_ips=(V6,)), BOTH, "SingleStack", ("IPv6",)),
        (spec(cluster_ip="None", cluster_ips=("None",)), ("IPv4",), "RequireDualStack", BOTH),
        (
            spec(cluster_ip="None", cluster_ips=("None",), selector={"a": "b"}),
            ("IPv4",),
            "SingleStack",
            ("IPv4",),
        ),
        (spec(type="ExternalName"), BOTH, None, ()),
    ],
)
def test_new_service_gets_families(
    given: ServiceSpec, configured: tuple[str, ...], policy: str | None, families: tuple[str, ...]
) -> None:
    found, errors = with_families(given, None, configured)
    assert (found.ip_family_policy, found.ip_families, errors) == (policy, families, [])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (spec(None, "IPv6"), [invalid("spec.ipFamilies[0]", '"IPv6"', "not configured on this cluster")]),
        (
            spec("RequireDualStack"),
            [invalid(POLICY, '"RequireDualStack"', "this cluster is not configured for dual-stack services")],
        ),
        (
            spec(cluster_ip=V6, cluster_ips=(V6,)),
            [invalid("spec.clusterIPs[0]", f'["{V6}"]', "IPv6 is not configured on this cluster")],
        ),
        (
            spec("SingleStack", "IPv4", "IPv6"),
            [
                invalid(
                    POLICY,
                    '"SingleStack"',
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
                )
            ],
        ),
    ],
)
def test_families_beyond_the_cluster_are_refused(given: ServiceSpec, expected: list[Cause]) -> None:
    assert causes(with_families(given, None, ("IPv4",))[1]) == expected


def test_single_stack_releases_the_second_address() -> None:
    old = spec("RequireDualStack", *BOTH, cluster_ip=V4, cluster_ips=(V4, V6))
    new = spec("SingleStack", *BOTH, cluster_ip=V4, cluster_ips=(V4, V6))
    found, errors = with_families(new, old, BOTH)
    assert (found.cluster_ips, found.ip_families, errors) == ((V4,), ("IPv4",), [])


def test_second_address_is_not_released_under_dual_stack() -> None:
    old = spec("RequireDualStack", *BOTH, cluster_ip=V4, cluster_ips=(V4, V6))
    new = spec("RequireDualStack", *BOTH, cluster_ip=V4, cluster_ips=(V4,))
    assert causes(with_families(new, old, BOTH)[1]) == [
        invalid(POLICY, '"RequireDualStack"', "must be 'SingleStack' to release the secondary cluster IP")
    ]

"""Tests of the validation of Services' addresses and families."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Service
from tests.support.causes import Cause, Row, duplicate, forbidden, invalid, unsupported
from tests.support.manifests import change_causes, created, creation_causes, obj

NO_ADDRESS = "clusterIP: null"
NAMES = f"type: ExternalName, externalName: example.com, {NO_ADDRESS}"
IPS, FAMILIES = "spec.clusterIPs", "spec.ipFamilies"
IP_TEXT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
CREATED: list[Row] = [
    (
        f"{NAMES}, clusterIPs: [10.96.0.7], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack",
        [
            forbidden(IPS, "may not be set for ExternalName services"),
            forbidden(FAMILIES, "may not be set for ExternalName services"),
            forbidden("spec.ipFamilyPolicy", "may not be set for ExternalName services"),
        ],
    ),
    (
        "ipFamilies: [IPv5, IPv4, IPv4]",
        [unsupported(f"{FAMILIES}[0]", "IPv5", "IPv4", "IPv6"), duplicate(f"{FAMILIES}[2]", '"IPv4"')],
    ),
    (
        "ipFamilies: [IPv6]",
        [invalid(f"{IPS}[0]", '"10.96.0.7"', "expected an IPv6 value as indicated by `ipFamilies[0]`")],
    ),
    (
        "ipFamilyPolicy: Both",
        [unsupported("spec.ipFamilyPolicy", "Both", "PreferDualStack", "RequireDualStack", "SingleStack")],
    ),
    (
        "clusterIPs: [10.96.0.8]",
        [invalid(IPS, '["10.96.0.8"]', "first value must match `clusterIP`")],
    ),
    (
        "clusterIPs: [10.96.0.7, None, '2001:db8::1']",
        [
            invalid(f"{IPS}[1]", '"None"', IP_TEXT),
            invalid(IPS, '["10.96.0.7","None","2001:db8::1"]', "may only hold up to 2 values"),
        ],
    ),
    (
        "clusterIPs: [10.96.0.7, 10.96.0.8]",
        [invalid(IPS, '["10.96.0.7","10.96.0.8"]', "may specify no more than one IP for each IP family")],
    ),
    (
        "clusterIP: None, clusterIPs: [None, 10.96.0.8]",
        [invalid(IPS, '["None","10.96.0.8"]', "'None' must be the first and only value")],
    ),
]
BASE: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"ports": [{"port": 80}], "clusterIP": "10.96.0.7"},
}


@pytest.mark.parametrize(("text", "expected"), CREATED)
def test_invalid_service_addresses_are_refused_with_causes(text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(Service, f"spec: {{{text}}}", BASE))) == expected


ONCE = "may not change once set"
RELEASE = "must be set to 'SingleStack' when releasing the secondary {}"
CHANGED: list[tuple[str, str, list[Cause]]] = [
    ("", "clusterIP: 10.96.0.8", [invalid(f"{IPS}[0]", '["10.96.0.8"]', ONCE)]),
    ("", NAMES, []),
    (
        "ipFamilies: [IPv4]",
        "ipFamilies: [IPv6], clusterIP: '2001:db8::1'",
        [
            invalid(f"{IPS}[0]", '["2001:db8::1"]', ONCE),
            invalid(f"{FAMILIES}[0]", '["IPv6"]', ONCE),
        ],
    ),
    (
        "clusterIP: None, ipFamilies: [IPv4]",
        "clusterIP: None, ipFamilies: [IPv6]",
        [],
    ),
    (
        "clusterIPs: [10.96.0.7, '2001:db8::1'], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: RequireDualStack",
        "clusterIPs: [10.96.0.7], ipFamilies: [IPv4], ipFamilyPolicy: RequireDualStack",
        [
            invalid("spec.ipFamilyPolicy", '"RequireDualStack"', RELEASE.format("clusterIP")),
            invalid("spec.ipFamilyPolicy", '"RequireDualStack"', RELEASE.format("ipFamily")),
        ],
    ),
    (
        "clusterIPs: [10.96.0.7, '2001:db8::1'], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: RequireDualStack",
        "clusterIPs: [10.96.0.7, '2001:db8::1'], ipFamilies: [IPv6], ipFamilyPolicy: SingleStack",
        [
            invalid(f"{FAMILIES}[0]", '["10.96.0.7","2001:db8::1"]', ONCE),
            invalid(f"{IPS}[0]", '"10.96.0.7"', "expected an IPv6 value as indicated by `ipFamilies[0]`"),
        ],
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), CHANGED)
def test_change_of_service_addresses_is_validated(before: str, after: str, expected: list[Cause]) -> None:
    old = created(obj(Service, f"spec: {{{before}}}", BASE))
    assert change_causes(obj(Service, f"spec: {{{after}}}", BASE), old) == expected

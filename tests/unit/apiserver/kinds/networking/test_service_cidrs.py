"""Tests of the rules of ServiceCIDRs."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.networking_v1 import ServiceCIDR
from tests.support.causes import Cause, KindRow, invalid, required
from tests.support.manifests import change_causes, created, creation_causes, obj

VALID: dict[type[Any], dict[str, Any]] = {
    ServiceCIDR: {"metadata": {"name": "x"}, "spec": {"cidrs": ["10.0.0.0/16"]}},
}


@pytest.mark.parametrize(("kind", "plain"), VALID.items())
def test_valid_service_cidr_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


MUST_BE_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
INVALID: list[KindRow] = [
    (ServiceCIDR, "spec: {cidrs: []}", [required("spec.cidrs", "at least one CIDR required")]),
    (
        ServiceCIDR,
        "spec: {cidrs: [10.0.0.0/16, 10.1.0.0/16]}",
        [
            invalid(
                "spec.cidrs",
                '{"cidrs":["10.0.0.0/16","10.1.0.0/16"]}',
                "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
            )
        ],
    ),
    (ServiceCIDR, "spec: {cidrs: [everywhere]}", [invalid("spec.cidrs[0]", '"everywhere"', MUST_BE_CIDR)]),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_service_cidr_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            ServiceCIDR,
            "spec: {cidrs: [10.1.0.0/16]}",
            [invalid("spec.cidrs[0]", '"10.1.0.0/16"', "field is immutable")],
        ),
        (ServiceCIDR, "spec: {cidrs: [10.0.0.0/16, '2001:db8::/64']}", []),
        (ServiceCIDR, "spec: {cidrs: []}", [invalid("spec.cidrs", "[]", "field is immutable")]),
    ],
)
def test_change_of_service_cidr_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected

"""Tests of the rules of IPAddresses."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.networking_v1 import IPAddress
from tests.support.causes import Cause, KindRow, invalid, required
from tests.support.manifests import change_causes, created, creation_causes, obj, rules

VALID: dict[type[Any], dict[str, Any]] = {
    IPAddress: {
        "metadata": {"name": "10.0.0.1"},
        "spec": {"parentRef": {"resource": "services", "name": "web", "namespace": "default"}},
    },
}


@pytest.mark.parametrize(("kind", "plain"), VALID.items())
def test_valid_ip_address_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


INVALID: list[KindRow] = [
    (IPAddress, "spec: {parentRef: null}", [required("spec.parentRef")]),
    (
        IPAddress,
        "spec: {parentRef: {name: '', namespace: a/b}}",
        [
            required("spec.parentRef.name"),
            invalid("spec.parentRef.namespace", '"a/b"', "may not contain '/'"),
        ],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_ip_address_is_refused_with_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            IPAddress,
            "spec: {parentRef: {name: other}}",
            [
                invalid(
                    "spec.parentRef",
                    '{"name":"other","namespace":"default","resource":"services"}',
                    "field is immutable",
                )
            ],
        ),
    ],
)
def test_change_of_ip_address_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


def test_name_of_ip_address_is_the_address() -> None:
    assert rules(IPAddress).name_errors("10.0.0.1") == []
    assert rules(IPAddress).name_errors("web") != []

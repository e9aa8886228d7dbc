"""Tests of the rules of APIServices."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apiregistration_v1 import APIService
from tests.support.causes import Cause, KindRow, invalid, required, unsupported
from tests.support.manifests import change_causes, created, creation_causes, obj

VALID: dict[type[Any], dict[str, Any]] = {
    APIService: {
        "metadata": {"name": "v1.example.com"},
        "spec": {
            "group": "example.com",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 15,
            "service": {"name": "s", "namespace": "n"},
        },
    },
}


@pytest.mark.parametrize(("kind", "plain"), VALID.items())
def test_valid_api_service_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


INVALID: list[KindRow] = [
    (
        APIService,
        "metadata: {name: v2.example.com}",
        [
            invalid(
                "metadata.name",
                '"v2.example.com"',
                'must be `spec.version+"."+spec.group`: "v1.example.com"',
            )
        ],
    ),
    (
        APIService,
        "{metadata: {name: v2.}, spec: {group: '', version: v2}}",
        [required("spec.group", "only v1 may have an empty group and it better be legacy kube")],
    ),
    (
        APIService,
        "spec: {groupPriorityMinimum: 0, versionPriority: 1001}",
        [
            invalid("spec.groupPriorityMinimum", "0", "must be positive and less than 20000"),
            invalid("spec.versionPriority", "1001", "must be positive and less than 1000"),
        ],
    ),
    (
        APIService,
        "spec: {service: {name: '', namespace: '', port: 0}}",
        [
            required("spec.service.namespace"),
            required("spec.service.name"),
            invalid("spec.service.port", "0", "port is not valid: must be between 1 and 65535, inclusive"),
        ],
    ),
    (
        APIService,
        "spec: {insecureSkipTLSVerify: true, caBundle: AAAA}",
        [invalid("spec.insecureSkipTLSVerify", "true", "may not be true if caBundle is present")],
    ),
    (
        APIService,
        "spec: {service: null, insecureSkipTLSVerify: true, caBundle: AAA=}",
        [
            invalid("spec.caBundle", '"2 bytes"', "local APIServices may not have a caBundle"),
            invalid(
                "spec.insecureSkipTLSVerify", "true", "local APIServices may not have insecureSkipTLSVerify"
            ),
        ],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_api_service_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


def test_conditions_of_api_service_are_validated() -> None:
    old = created(obj(APIService, "", VALID[APIService]))
    new = obj(APIService, "status: {conditions: [{type: Available, status: Maybe}]}", VALID[APIService])
    assert change_causes(new, old, "status") == [
        unsupported("status.conditions[0].status", "Maybe", "True", "False", "Unknown")
    ]

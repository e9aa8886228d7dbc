"""Tests of the rules of ResourceClaims, their templates and DeviceClasses."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from msgspec import structs

from podling.api.resource_v1 import DeviceClass, ResourceClaim, ResourceClaimTemplate
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import (
    Cause,
    KindRow,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

METADATA: dict[str, Any] = {"name": "x", "namespace": "default"}
SPEC: dict[str, Any] = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]}}
VALID: dict[type[Any], dict[str, Any]] = {
    ResourceClaim: {"metadata": METADATA, "spec": SPEC},
    ResourceClaimTemplate: {"metadata": METADATA, "spec": {"spec": SPEC}},
    DeviceClass: {"metadata": {"name": "x"}, "spec": {}},
}


@pytest.mark.parametrize(
    ("kind", "text", "subresource", "expected"),
    [
        (
            ResourceClaim,
            "spec: {devices: {requests: []}}",
            "",
            [invalid("spec", '{"devices":{"requests":null}}', "field is immutable")],
        ),
        (
            ResourceClaim,
            "status: {reservedFor: [{resource: pods, name: p, uid: ''}]}",
            "status",
            [
                required("status.reservedFor[0].uid"),
                forbidden("status.reservedFor", "may not be specified when `allocated` is not set"),
            ],
        ),
    ],
)
def test_change_of_device_claim_is_validated(
    kind: type[Any], text: str, subresource: str, expected: list[Cause]
) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old, subresource) == expected


ONE_FORM = "exactly one of `exactly` or `firstAvailable` is required"
INVALID: list[KindRow] = [
    (ResourceClaim, "", []),
    (
        ResourceClaimTemplate,
        "spec: {metadata: {name: x}, spec: {devices: {requests: [{name: one}]}}}",
        [
            forbidden("spec.metadata.name", "cannot be set"),
            required("spec.spec.devices.requests[0]", ONE_FORM),
        ],
    ),
    (DeviceClass, "spec: {selectors: [{cel: {expression: device.driver == 'a'}}]}", []),
    (
        DeviceClass,
        "spec: {extendedResourceName: cpu}",
        [invalid("spec.extendedResourceName", '"cpu"', "must be a valid extended resource name")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_device_claim_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


def allocated_claim(text: str) -> dict[str, Any]:
    """Return a claim with one allocated device and this device status."""
    result = {"request": "one", "driver": "gpu.example.com", "pool": "p", "device": "a"}
    status = {"allocation": {"devices": {"results": [result]}}}
    return {**VALID[ResourceClaim], "status": {**status, "devices": yaml.safe_load(text)}}


DEVICE = "driver: gpu.example.com, pool: p, device: a"
S0 = "status.devices[0]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"[{{{DEVICE}, networkData: {{ips: [10.9.8.7/24, '2001:db8::1/64']}}, data: {{a: 1}}}}]", []),
        (
            "[{driver: gpu.example.com, pool: p, device: b}]",
            [invalid(S0, "gpu.example.com/p/b", "must be an allocated device in the claim")],
        ),
        (
            f"[{{{DEVICE}}}, {{{DEVICE}}}]",
            [duplicate("status.devices[1]", "gpu.example.com/p/a")],
        ),
        (
            f"[{{{DEVICE}, data: [1], conditions: [{{type: Ready, status: Maybe, reason: A, "
            "lastTransitionTime: '2026-01-01T00:00:00Z'}]}]",
            [
                unsupported(f"{S0}.conditions[0].status", "Maybe", "False", "True", "Unknown"),
                invalid(f"{S0}.data", '"<value omitted>"', "must be a valid JSON object"),
            ],
        ),
        (
            f"[{{{DEVICE}, networkData: {{interfaceName: {'e' * 257}, hardwareAddress: {'f' * 129}, "
            "ips: [10.9.8.7, '2001:DB8::1/64', 10.0.0.1/8, 10.0.0.1/8]}}]",
            [
                too_long(f"{S0}.networkData.interfaceName", 256),
                too_long(f"{S0}.networkData.hardwareAddress", 128),
                invalid(
                    f"{S0}.networkData.ips[0]",
                    '"10.9.8.7"',
                    "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)",
                ),
                invalid(
                    f"{S0}.networkData.ips[1]",
                    '"2001:DB8::1/64"',
                    'must be in canonical form ("2001:db8::1/64")',
                ),
                duplicate(f"{S0}.networkData.ips[3]", '"10.0.0.1/8"'),
            ],
        ),
    ],
)
def test_device_status_of_claim_is_validated(text: str, expected: list[Cause]) -> None:
    old = obj(ResourceClaim, "", allocated_claim("[]"))
    assert change_causes(obj(ResourceClaim, "", allocated_claim(text)), old, "status") == expected


def test_device_status_is_removed_with_allocation() -> None:
    old = obj(ResourceClaim, "", allocated_claim(f"[{{{DEVICE}}}]"))
    new = structs.replace(old, status=structs.replace(old.status, allocation=None))
    own, context = rules(ResourceClaim), Context(NOW, subresource="status")
    assert own.prepare_update(new, old, context).status.devices == ()
    assert own.prepare_update(old, old, context).status.devices == old.status.devices

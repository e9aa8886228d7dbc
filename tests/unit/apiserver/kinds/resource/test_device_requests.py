"""Tests of the validation of device requests, selectors, constraints and configuration."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.resource_v1 import ResourceClaim
from tests.support.causes import (
    LABEL_TEXT,
    SUBDOMAIN_TEXT,
    Cause,
    KindRow,
    duplicate,
    invalid,
    required,
    unsupported,
)
from tests.support.manifests import created, creation_causes, obj


def with_request(text: str) -> str:
    return f"spec: {{devices: {{requests: [{{{text}}}]}}}}"


def with_exact_request(text: str) -> str:
    return with_request(f"name: one, exactly: {{deviceClassName: gpu, {text}}}")


def with_constraint(text: str) -> str:
    return f"spec: {{devices: {{constraints: [{{{text}}}]}}}}"


R0, C0, D0 = "spec.devices.requests[0]", "spec.devices.constraints[0]", "spec.devices[0]"
ONE_FORM = "exactly one of `exactly` or `firstAvailable` is required"
NO_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
ONE_ATTRIBUTE = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
)
INVALID: list[KindRow] = [
    (
        ResourceClaim,
        with_request("name: A"),
        [invalid(f"{R0}.name", '"A"', LABEL_TEXT), required(R0, ONE_FORM)],
    ),
    (
        ResourceClaim,
        with_request(
            "name: a, exactly: {deviceClassName: g}, firstAvailable: [{name: b, deviceClassName: g}]"
        ),
        [invalid(R0, "null", f"{ONE_FORM}, but multiple fields are set")],
    ),
    (
        ResourceClaim,
        "spec: {devices: {requests: [{name: a, exactly: {deviceClassName: ''}}, "
        "{name: a, exactly: {deviceClassName: G}}]}}",
        [
            required(f"{R0}.exactly.deviceClassName"),
            invalid("spec.devices.requests[1].exactly.deviceClassName", '"G"', SUBDOMAIN_TEXT),
            duplicate("spec.devices.requests[1]", '"a"'),
        ],
    ),
    (
        ResourceClaim,
        with_exact_request("allocationMode: All, count: 2"),
        [invalid(f"{R0}.exactly.count", "2", "must not be specified when allocationMode is 'All'")],
    ),
    (
        ResourceClaim,
        with_exact_request("count: -1"),
        [invalid(f"{R0}.exactly.count", "-1", "must be greater than zero")],
    ),
    (
        ResourceClaim,
        with_exact_request("allocationMode: Some"),
        [unsupported(f"{R0}.exactly.allocationMode", "Some", "All", "ExactCount")],
    ),
    (ResourceClaim, with_exact_request("selectors: [{}]"), [required(f"{R0}.exactly.selectors[0].cel")]),
    (
        ResourceClaim,
        with_exact_request("tolerations: [{operator: Exists, value: a}, {operator: Is, effect: Never}]"),
        [
            invalid(f"{R0}.exactly.tolerations[0].value", '"a"', "must be empty for operator `Exists`"),
            unsupported(f"{R0}.exactly.tolerations[1].operator", "Is", "Equal", "Exists"),
            unsupported(f"{R0}.exactly.tolerations[1].effect", "Never", "NoExecute", "NoSchedule", "None"),
        ],
    ),
    (
        ResourceClaim,
        with_constraint("requests: [one, two, a/b/c]"),
        [
            invalid(f"{C0}.requests[1]", '"two"', NO_REQUEST),
            invalid(f"{C0}.requests[2]", '"a/b/c"', NO_REQUEST),
            required(C0, ONE_ATTRIBUTE),
        ],
    ),
    (
        ResourceClaim,
        with_constraint("matchAttribute: model"),
        [
            invalid(
                f"{C0}.matchAttribute",
                '"model"',
                "a fully qualified name must be a domain and a name separated by a slash",
            )
        ],
    ),
    (
        ResourceClaim,
        "spec: {devices: {config: [{}, {opaque: {driver: d, parameters: 1}}]}}",
        [
            required("spec.devices.config[0].opaque"),
            invalid(
                "spec.devices.config[1].opaque.parameters",
                '"<value omitted>"',
                "must be a valid JSON object",
            ),
        ],
    ),
]
METADATA: dict[str, Any] = {"name": "x", "namespace": "default"}
SPEC: dict[str, Any] = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]}}
VALID: dict[type[Any], dict[str, Any]] = {
    ResourceClaim: {"metadata": METADATA, "spec": SPEC},
}


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_device_request_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


def test_request_defaults_to_one_device() -> None:
    (request,) = created(obj(ResourceClaim, "", VALID[ResourceClaim])).spec.devices.requests
    assert (request.exactly.allocation_mode, request.exactly.count) == ("ExactCount", 1)

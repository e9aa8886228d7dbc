"""Tests of the rules of ResourceSlices."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.resource_v1 import ResourceSlice
from tests.support.causes import SUBDOMAIN_TEXT, Cause, KindRow, duplicate, invalid, required, too_many
from tests.support.manifests import change_causes, created, creation_causes, obj

VALID: dict[type[Any], dict[str, Any]] = {
    ResourceSlice: {
        "metadata": {"name": "x"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "n1",
            "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "a"}],
        },
    },
}


@pytest.mark.parametrize(
    ("kind", "text", "subresource", "expected"),
    [
        (
            ResourceSlice,
            "spec: {driver: other.example.com}",
            "",
            [invalid("spec.driver", '"other.example.com"', "field is immutable")],
        ),
    ],
)
def test_change_of_resource_slice_is_validated(
    kind: type[Any], text: str, subresource: str, expected: list[Cause]
) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old, subresource) == expected


def with_device(text: str) -> str:
    return f"spec: {{devices: [{{name: a, {text}}}]}}"


ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')"
)
R0, C0, D0 = "spec.devices.requests[0]", "spec.devices.constraints[0]", "spec.devices[0]"
INVALID: list[KindRow] = [
    (ResourceSlice, "", []),
    (
        ResourceSlice,
        "spec: {nodeName: null, allNodes: false, pool: {name: a//b, resourceSliceCount: 0}}",
        [
            invalid("spec.pool.name", '""', SUBDOMAIN_TEXT),
            invalid("spec.pool.resourceSliceCount", "0", "must be greater than zero"),
            invalid("spec.allNodes", "false", "must be either unset or set to true"),
            required("spec", ONE_PLACE),
        ],
    ),
    (
        ResourceSlice,
        "spec: {allNodes: true}",
        [invalid("spec", '"{`nodeName`, `allNodes`}"', f"{ONE_PLACE}, but multiple fields are set")],
    ),
    (
        ResourceSlice,
        with_device("attributes: {model: {string: a, int: 1}, a-b: {version: one}}"),
        [
            invalid(
                f"{D0}.attributes[model]", '{"int":1,"string":"a"}', "exactly one value must be specified"
            ),
            invalid(f"{D0}.attributes[a-b]", '"a-b"', IDENTIFIER),
            invalid(
                f"{D0}.attributes[a-b].version",
                '"one"',
                "must be a string compatible with semver.org spec 2.0.0",
            ),
        ],
    ),
    (
        ResourceSlice,
        with_device("taints: [{key: a}], allNodes: true"),
        [
            required(f"{D0}.taints[0].effect"),
            invalid(
                D0,
                "null",
                "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is "
                "set to true in the ResourceSlice spec",
            ),
        ],
    ),
    (
        ResourceSlice,
        with_device("consumesCounters: [{counterSet: a}]"),
        [required(f"{D0}.consumesCounters[0].counters")],
    ),
    (
        ResourceSlice,
        with_device("bindingConditions: [a, a]"),
        [
            duplicate(f"{D0}.bindingConditions[1]", '"a"'),
            invalid(
                f"{D0}.bindingFailureConditions",
                "[]",
                "bindingFailureConditions are required to use bindingConditions",
            ),
        ],
    ),
    (
        ResourceSlice,
        f"spec: {{devices: [{', '.join(f'{{name: d{number}}}' for number in range(129))}]}}",
        [too_many("spec.devices", 129, 128)],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_resource_slice_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected

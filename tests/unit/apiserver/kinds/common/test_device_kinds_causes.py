"""What is wrong with claims on devices, their classes, and the slices that offer devices."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from msgspec import structs

from podling.api.resource_v1 import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import (
    LABEL_TEXT,
    SUBDOMAIN_TEXT,
    Cause,
    KindRow,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    too_many,
    unsupported,
)
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

SPEC: dict[str, Any] = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]}}
META: dict[str, Any] = {"name": "x", "namespace": "default"}
VALID: dict[type[Any], dict[str, Any]] = {
    ResourceClaim: {"metadata": META, "spec": SPEC},
    ResourceClaimTemplate: {"metadata": META, "spec": {"spec": SPEC}},
    DeviceClass: {"metadata": {"name": "x"}, "spec": {}},
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
R0, C0, D0 = "spec.devices.requests[0]", "spec.devices.constraints[0]", "spec.devices[0]"
ONE_FORM = "exactly one of `exactly` or `firstAvailable` is required"
ONE_ATTRIBUTE = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
)
NO_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')"
)


def wanted(text: str) -> str:
    return f"spec: {{devices: {{requests: [{{{text}}}]}}}}"


def exactly(text: str) -> str:
    return wanted(f"name: one, exactly: {{deviceClassName: gpu, {text}}}")


def constrained(text: str) -> str:
    return f"spec: {{devices: {{constraints: [{{{text}}}]}}}}"


def offered(text: str) -> str:
    return f"spec: {{devices: [{{name: a, {text}}}]}}"


ROWS: list[KindRow] = [
    (ResourceClaim, "", []),
    (
        ResourceClaim,
        wanted("name: A"),
        [invalid(f"{R0}.name", '"A"', LABEL_TEXT), required(R0, ONE_FORM)],
    ),
    (
        ResourceClaim,
        wanted("name: a, exactly: {deviceClassName: g}, firstAvailable: [{name: b, deviceClassName: g}]"),
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
        exactly("allocationMode: All, count: 2"),
        [invalid(f"{R0}.exactly.count", "2", "must not be specified when allocationMode is 'All'")],
    ),
    (
        ResourceClaim,
        exactly("count: -1"),
        [invalid(f"{R0}.exactly.count", "-1", "must be greater than zero")],
    ),
    (
        ResourceClaim,
        exactly("allocationMode: Some"),
        [unsupported(f"{R0}.exactly.allocationMode", "Some", "All", "ExactCount")],
    ),
    (ResourceClaim, exactly("selectors: [{}]"), [required(f"{R0}.exactly.selectors[0].cel")]),
    (
        ResourceClaim,
        exactly("tolerations: [{operator: Exists, value: a}, {operator: Is, effect: Never}]"),
        [
            invalid(f"{R0}.exactly.tolerations[0].value", '"a"', "must be empty for operator `Exists`"),
            unsupported(f"{R0}.exactly.tolerations[1].operator", "Is", "Equal", "Exists"),
            unsupported(f"{R0}.exactly.tolerations[1].effect", "Never", "NoExecute", "NoSchedule", "None"),
        ],
    ),
    (
        ResourceClaim,
        constrained("requests: [one, two, a/b/c]"),
        [
            invalid(f"{C0}.requests[1]", '"two"', NO_REQUEST),
            invalid(f"{C0}.requests[2]", '"a/b/c"', NO_REQUEST),
            required(C0, ONE_ATTRIBUTE),
        ],
    ),
    (
        ResourceClaim,
        constrained("matchAttribute: model"),
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
        offered("attributes: {model: {string: a, int: 1}, a-b: {version: one}}"),
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
        offered("taints: [{key: a}], allNodes: true"),
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
        offered("consumesCounters: [{counterSet: a}]"),
        [required(f"{D0}.consumesCounters[0].counters")],
    ),
    (
        ResourceSlice,
        offered("bindingConditions: [a, a]"),
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


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


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
            ResourceSlice,
            "spec: {driver: other.example.com}",
            "",
            [invalid("spec.driver", '"other.example.com"', "field is immutable")],
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
def test_changes(kind: type[Any], text: str, subresource: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old, subresource) == expected


def allocated(text: str) -> dict[str, Any]:
    """A claim with one device, of which its driver says this."""
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
def test_what_drivers_say_of_devices(text: str, expected: list[Cause]) -> None:
    old = obj(ResourceClaim, "", allocated("[]"))
    assert change_causes(obj(ResourceClaim, "", allocated(text)), old, "status") == expected


def test_what_is_said_of_a_device_goes_with_it() -> None:
    old = obj(ResourceClaim, "", allocated(f"[{{{DEVICE}}}]"))
    new = structs.replace(old, status=structs.replace(old.status, allocation=None))
    own, context = rules(ResourceClaim), Context(NOW, subresource="status")
    assert own.prepare_update(new, old, context).status.devices == ()
    assert own.prepare_update(old, old, context).status.devices == old.status.devices


def test_one_device_is_wanted_by_default() -> None:
    (request,) = created(obj(ResourceClaim, "", VALID[ResourceClaim])).spec.devices.requests
    assert (request.exactly.allocation_mode, request.exactly.count) == ("ExactCount", 1)

"""Protobuf bodies say the same as JSON: whatever is encoded comes back as the JSON it stands for."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.apiserver.protobuf import MAGIC, _tables, read_protobuf
from podling.machinery.codec import convert
from podling.machinery.errors import ApiError

META = "k8s.io.apimachinery.pkg.apis.meta.v1."
CORE = "k8s.io.api.core.v1."


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def block(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def scalar(number: int, kind: str, value: Any) -> bytes:
    match kind:
        case "string":
            return block(number, value.encode())
        case "bytes":
            return block(number, base64.b64decode(value))
        case "double":
            return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3) + varint(int(value))


def special(kind: str, value: Any) -> bytes | None:
    """The messages that JSON writes as something else."""
    match kind.rpartition(".")[2]:
        case "Quantity":
            return block(1, value.encode())
        case "IntOrString":
            if isinstance(value, int):
                return varint(1 << 3) + varint(0) + varint(2 << 3) + varint(value)
            return varint(1 << 3) + varint(1) + block(3, value.encode())
        case "Time":
            return varint(1 << 3) + varint(value)
    return None


def message(kind: str, plain: dict[str, Any]) -> bytes:
    """``plain`` in wire form, by the same table that reading uses."""
    out = b""
    for number, (name, field, how) in _tables()[kind].items():
        if how == "inline":
            out += block(number, message(field, plain))
        elif name in plain:
            value = plain[name]
            entries = field.endswith("Entry") and isinstance(value, dict)
            values = (
                [{"key": key, "value": each} for key, each in value.items()]
                if entries
                else value
                if how == "repeated"
                else [value]
            )
            for each in values:
                out += part(number, field, each)
    return out


def part(number: int, kind: str, value: Any) -> bytes:
    if kind in ("string", "bytes", "int", "bool", "double"):
        return scalar(number, kind, value)
    data = special(kind, value)
    return block(number, message(kind, value) if data is None else data)


def enveloped(version: str, kind: str, data: bytes) -> bytes:
    return MAGIC + block(1, block(1, version.encode()) + block(2, kind.encode())) + block(2, data)


POD = {
    "metadata": {"name": "web", "labels": {"app": "web", "empty": ""}, "annotations": {"a": "b"}},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "nginx",
                "command": ["sleep", "1"],
                "ports": [{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}],
                "env": [{"name": "K", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}}}],
                "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
                "readinessProbe": {"tcpSocket": {"port": 80}},
                "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
                "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}],
            }
        ],
        "volumes": [
            {"name": "v", "emptyDir": {"medium": "Memory"}},
            {"name": "s", "secret": {"secretName": "s", "items": [{"key": "a", "path": "b", "mode": 256}]}},
        ],
        "ephemeralContainers": [{"name": "debug", "image": "i", "targetContainerName": "c"}],
        "terminationGracePeriodSeconds": -1,
        "hostNetwork": True,
        "nodeSelector": {"disk": "ssd"},
    },
}


def test_a_pod() -> None:
    body = read_protobuf(enveloped("v1", "Pod", message(f"{CORE}Pod", POD)))
    assert body.duplicates == ()
    expected, _ = convert({"apiVersion": "v1", "kind": "Pod", **POD}, Pod, "Strict")
    assert convert(body, Pod, "Strict")[0] == expected


def test_a_secret_and_a_time() -> None:
    secret = {"data": {"k": base64.b64encode(b"\x00\xff").decode()}, "type": "Opaque"}
    metadata = {"name": "s", "creationTimestamp": 1767225600}
    body = read_protobuf(
        enveloped("v1", "Secret", message(f"{CORE}Secret", {**secret, "metadata": metadata}))
    )
    assert body.value["data"] == secret["data"]
    assert body.value["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"


def test_options_of_any_group() -> None:
    data = message(f"{META}DeleteOptions", {"gracePeriodSeconds": 0, "propagationPolicy": "Orphan"})
    for version in ("v1", "apps/v1", "policy/v1"):
        body = read_protobuf(enveloped(version, "DeleteOptions", data))
        assert body.value["gracePeriodSeconds"] == 0
        assert body.value["propagationPolicy"] == "Orphan"


def test_a_field_of_a_newer_client_is_reported() -> None:
    spec = message(f"{CORE}PodSpec", {"hostNetwork": True}) + scalar(999, "string", "x")
    body = read_protobuf(enveloped("v1", "Pod", block(2, spec)))
    assert body.duplicates == ('unknown field "spec.<protobuf field 999>"',)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        MAGIC + b"\xff",
        MAGIC + block(1, b"\x0a\xff"),
        enveloped("v1", "Nothing", b""),
        enveloped("nowhere/v1", "Pod", b""),
        enveloped("v1", "Pod", b"\x0a\x05abc"),
        enveloped("v1", "Pod", block(1, block(1, b"\xff\xfe"))),
        enveloped("v1", "Pod", varint(1 << 3) + varint(7)),
    ],
)
def test_anything_else_is_a_bad_request(data: bytes) -> None:
    with pytest.raises(ApiError) as error:
        read_protobuf(data)
    assert error.value.code == 400


def test_a_zero_says_something_only_behind_a_pointer() -> None:
    spec = {"replicas": 0, "minReadySeconds": 0, "paused": False, "revisionHistoryLimit": 0}
    data = message(
        "k8s.io.api.apps.v1.Deployment", {"metadata": {"name": "d", "generateName": ""}, "spec": spec}
    )
    body = read_protobuf(enveloped("apps/v1", "Deployment", data))
    assert body.value["spec"] == {"replicas": 0, "revisionHistoryLimit": 0}
    assert body.value["metadata"] == {"name": "d"}

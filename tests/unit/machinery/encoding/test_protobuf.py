"""Protobuf bodies: an encoded object is read as the same object in JSON."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import Pod
from podling.machinery.encoding.codec import convert
from podling.machinery.encoding.mismatch import Mismatch
from podling.machinery.encoding.protobuf import MAGIC, _tables, read_protobuf
from podling.machinery.encoding.shapes import fields_of
from podling.machinery.errors import ApiError
from podling.machinery.scheme import RESOURCES

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
    """Return the messages that JSON writes as something else."""
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


def test_pod_is_read_like_json() -> None:
    body = read_protobuf(enveloped("v1", "Pod", message(f"{CORE}Pod", POD)))
    assert body.duplicates == ()
    expected, _ = convert({"apiVersion": "v1", "kind": "Pod", **POD}, Pod, "Strict")
    assert convert(body, Pod, "Strict")[0] == expected


def test_bytes_and_times_are_read() -> None:
    secret = {"data": {"k": base64.b64encode(b"\x00\xff").decode()}, "type": "Opaque"}
    metadata = {"name": "s", "creationTimestamp": 1767225600}
    body = read_protobuf(
        enveloped("v1", "Secret", message(f"{CORE}Secret", {**secret, "metadata": metadata}))
    )
    assert body.value["data"] == secret["data"]
    assert body.value["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"


def test_options_are_read_in_any_group() -> None:
    data = message(f"{META}DeleteOptions", {"gracePeriodSeconds": 0, "propagationPolicy": "Orphan"})
    for version in ("v1", "apps/v1", "policy/v1"):
        body = read_protobuf(enveloped(version, "DeleteOptions", data))
        assert body.value["gracePeriodSeconds"] == 0
        assert body.value["propagationPolicy"] == "Orphan"


def test_unknown_fields_are_skipped_without_warning() -> None:
    metadata = message(f"{META}ObjectMeta", {"name": "web"}) + scalar(15, "string", "the old clusterName")
    spec = message(f"{CORE}PodSpec", {"hostNetwork": True}) + scalar(999, "string", "x")
    body = read_protobuf(enveloped("v1", "Pod", block(1, metadata) + block(2, spec)))
    assert body.value["metadata"] == {"name": "web"}
    pod, warnings = convert(body, Pod, "Strict")
    assert pod.spec.host_network is True
    assert warnings == []


def test_pod_status_of_current_clients_is_read() -> None:
    status = {"observedGeneration": 3, "conditions": [{"type": "Ready", "observedGeneration": 2}]}
    body = read_protobuf(enveloped("v1", "Pod", message(f"{CORE}Pod", {"status": status})))
    assert body.value["status"] == status


def micro_time(seconds: int, nanoseconds: int = 0) -> Any:
    time = varint(1 << 3) + varint(seconds) + varint(2 << 3) + varint(nanoseconds)
    lease = block(2, block(3, time))
    body = read_protobuf(enveloped("coordination.k8s.io/v1", "Lease", lease))
    convert(body, Lease, "Strict")
    return body.value["spec"]["acquireTime"]


@pytest.mark.parametrize(
    ("seconds", "nanoseconds", "text"),
    [
        (1767225600, 1_234_567, "2026-01-01T00:00:00.001234Z"),
        (-62135596799, 0, "0001-01-01T00:00:01.000000Z"),
        (-62135596800, 1000, "0001-01-01T00:00:00.000001Z"),
        (-62135596800, 0, None),
        (-31000000000, 0, "0987-08-25T16:53:20.000000Z"),
        (253402300799, 999_999_999, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_times_of_every_year_are_read(seconds: int, nanoseconds: int, text: str | None) -> None:
    assert micro_time(seconds, nanoseconds) == text


def test_definitions_are_read() -> None:
    package = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1."
    props = f"{package}JSONSchemaProps"
    inner = message(props, {"type": "integer", "minimum": 0.5})
    either = {"1": block(1, inner), "2": block(2, inner) + block(2, b""), "3": scalar(1, "bool", True)}
    number = {name: number for number, (name, _, _) in _tables()[props].items()}
    schema = (
        block(number["items"], either["2"])
        + block(number["not"], block(number["items"], either["1"]))
        + block(number["additionalProperties"], either["3"])
        + block(number["default"], block(1, b'{"a":[null]}'))
        + block(number["properties"], block(1, b"p") + block(2, inner))
    )
    version = block(1, b"v1") + block(4, block(1, schema))
    data = enveloped("apiextensions.k8s.io/v1", "CustomResourceDefinition", block(2, block(7, version)))
    (read,) = read_protobuf(data).value["spec"]["versions"]
    plain = {"type": "integer", "minimum": 0.5}
    assert read["schema"]["openAPIV3Schema"] == {
        "items": [plain, {}],
        "not": {"items": plain},
        "additionalProperties": True,
        "default": {"a": [None]},
        "properties": {"p": plain},
    }


def test_evictions_of_older_clients_are_read() -> None:
    data = message("k8s.io.api.policy.v1beta1.Eviction", {"metadata": {"name": "web"}})
    assert read_protobuf(enveloped("policy/v1beta1", "Eviction", data)).value["metadata"] == {"name": "web"}


def test_booleans_and_names_behind_pointers_keep_their_zeros() -> None:
    """Go's types decide: Endpoint conditions and port names of EndpointSlices are pointers."""
    endpoint = {"addresses": ["10.0.0.1"], "conditions": {"ready": False, "serving": False}}
    plain = {"endpoints": [endpoint], "ports": [{"name": "", "port": 80}]}
    data = message("k8s.io.api.discovery.v1.EndpointSlice", plain)
    body = read_protobuf(enveloped("discovery.k8s.io/v1", "EndpointSlice", data))
    assert body.value["endpoints"] == [endpoint]
    assert body.value["ports"] == [{"name": "", "port": 80}]


def fields_in_table(name: str) -> set[str]:
    """Return the JSON names that a message has, those of inline messages among them."""
    found: set[str] = set()
    for json_name, kind, how in _tables()[name].values():
        found |= fields_in_table(kind) if how == "inline" else {json_name}
    return found


def structs() -> Iterator[tuple[str, type[Any]]]:
    """Yield every message of the tables that is one of our types."""
    for name in _tables():
        package, _, short = name.rpartition(".")
        module = "meta_v1" if package == META[:-1] else "_".join(package.split(".")[-2:])
        if find_spec(f"podling.api.{module}") is not None:
            type_ = getattr(import_module(f"podling.api.{module}"), short, None)
            if type_ is not None:
                yield name, type_


def test_every_field_of_every_type_has_a_number() -> None:
    named = dict(structs())
    assert len(named) > 500
    for name, type_ in named.items():
        own = fields_of(type_).keys()
        assert own - fields_in_table(name) in (set(), {"apiVersion", "kind"}), name
        assert fields_in_table(name) <= own, name


def test_every_served_type_has_a_message() -> None:
    known = {type_ for _, type_ in structs()}
    for resource in RESOURCES:
        if resource.storage is None:
            assert resource.type in known, resource.kind


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
        enveloped("v1", "Pod", varint(7) + b"x"),
        enveloped("v1", "Pod", varint(1 << 3 | 1) + b"short"),
        enveloped("v1", "Pod", block(1, block(8, varint(1 << 3) + varint(1 << 60)))),
        enveloped("v1", "Pod", block(1, block(17, block(7, block(1, b"no JSON"))))),
        enveloped("v1", "Pod", block(1, block(17, block(7, block(1, b"[" * 20_000))))),
        enveloped("autoscaling/v1", "Scale", block(2, block(1, b"x"))),
    ],
)
def test_malformed_body_is_a_bad_request(data: bytes) -> None:
    with pytest.raises(ApiError) as error:
        read_protobuf(data)
    assert error.value.code == 400


def damaged(data: bytes, seed: int) -> bytes:
    """``data`` with up to four places changed, removed, doubled or cut off; the same for each seed."""
    numbers = iter(hashlib.shake_256(seed.to_bytes(4, "big")).digest(64))

    def place() -> int:
        return (next(numbers) << 8 | next(numbers)) % max(1, len(data))

    for _ in range(1 + next(numbers) % 4):
        at, kind = place(), next(numbers) % 6
        match kind:
            case 0:
                data = data[:at] + bytes((next(numbers),)) + data[at + 1 :]
            case 1:
                data = data[:at] + data[at + 1 + next(numbers) % 8 :]
            case 2:
                data = data[: at + 8] + data[at:]
            case 3:
                data = data[:at] + b"\xff" * (next(numbers) % 12) + data[at:]
            case 4:
                data = data[:at] + varint(place() << (next(numbers) % 48)) + data[at:]
            case 5:
                data = data[:at] if seed % 3 else data[at:]
    return data


def test_damaged_bodies_are_read_or_refused() -> None:
    """No damage leads to another error than one that names the body."""
    whole, codes = enveloped("v1", "Pod", message(f"{CORE}Pod", POD)), Counter[int]()
    for seed in range(4000):
        try:
            body = read_protobuf(MAGIC + damaged(whole[len(MAGIC) :], seed))
            convert(body, Pod, "Strict")
            codes[0] += 1
        except ApiError as error:
            codes[error.code] += 1
        except Mismatch:
            codes[422] += 1
    assert set(codes) <= {0, 400, 422}, codes
    assert min(codes[0], codes[400]) > 20, "neither all is read nor all is refused"


def test_zero_is_kept_only_for_pointers() -> None:
    spec = {"replicas": 0, "minReadySeconds": 0, "paused": False, "revisionHistoryLimit": 0}
    data = message(
        "k8s.io.api.apps.v1.Deployment", {"metadata": {"name": "d", "generateName": ""}, "spec": spec}
    )
    body = read_protobuf(enveloped("apps/v1", "Deployment", data))
    assert body.value["spec"] == {"replicas": 0, "revisionHistoryLimit": 0}
    assert body.value["metadata"] == {"name": "d"}

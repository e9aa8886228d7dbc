"""The bodies of the abuser's requests, made once before the load begins."""

from __future__ import annotations

import json
from typing import Any

KEYS = 20_000
VARIANTS = 3
"""Different contents, so that each request changes the object."""
POSTED_BYTES = 900_000
LISTED_BYTES = 4_000


def keys_of(variant: int, count: int = KEYS) -> dict[str, str]:
    return {f"k{number:05}": f"v{variant}" for number in range(count)}


def config_map(name: str, data: dict[str, str], **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data}


def encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def applied(variant: int) -> bytes:
    """Return a configuration without a name, which suits every object."""
    return encoded({"apiVersion": "v1", "kind": "ConfigMap", "data": keys_of(variant)})


def merged(variant: int) -> bytes:
    return encoded({"data": keys_of(variant)})


def replaced(variant: int) -> bytes:
    """Return a JSON patch with one operation of many keys."""
    return encoded([{"op": "add", "path": "/data", "value": keys_of(variant)}])


def operations(variant: int) -> bytes:
    """Return a JSON patch with as many operations as Kubernetes allows."""
    return encoded([
        {"op": "add", "path": f"/data/k{number:05}", "value": f"v{variant}"} for number in range(10_000)
    ])  # fmt: skip


def large(name: str) -> bytes:
    """Return a ConfigMap of about 900 kB in 20,000 keys."""
    size = POSTED_BYTES // KEYS - len('"k00000":"",')
    return encoded(config_map(name, {f"k{number:05}": "x" * size for number in range(KEYS)}))


def listed(number: int) -> bytes:
    """Return a ConfigMap of about 4 kB in ten keys."""
    size = LISTED_BYTES // 10 - 10
    data = {f"key{each}": "x" * size for each in range(10)}
    return encoded(config_map(f"l{number:05}", data, labels={"group": f"g{number % 10}", "kind": "listed"}))


def event(name: str, namespace: str) -> bytes:
    involved = {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "namespace": namespace}
    return encoded({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": involved,
        "reason": "Abused", "message": "An event of a client that writes many of them. " * 10,
        "type": "Normal", "source": {"component": "abuser"},
    })  # fmt: skip


def endless_pod(name: str, command: list[str]) -> bytes:
    container = {"name": "app", "image": "podling.local/host", "command": command}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    return encoded({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def cut_json() -> bytes:
    """Return a large ConfigMap whose last brace is missing."""
    return large("garbage")[:-1]


def anchored_yaml() -> bytes:
    """Return YAML of 400 references to an anchor over 50,000 scalars, whose last line is an error."""
    references = "\n".join(f"b{number}: [*long, *long]" for number in range(400))
    values = ",".join(["x"] * 50_000)
    return f"apiVersion: v1\nkind: ConfigMap\na: &long [{values}]\n{references}\nend: [\n".encode()


def unknown_fields() -> bytes:
    """Return a ConfigMap with 20,000 fields that no ConfigMap has."""
    return encoded(config_map("garbage", {}) | {f"unknown{number}": number for number in range(KEYS)})


def invalid_keys() -> bytes:
    """Return a ConfigMap all of whose 20,000 keys are refused by validation."""
    return encoded(config_map("garbage", {f"no key {number}!": "x" * 20 for number in range(KEYS)}))


def invalid_pod() -> bytes:
    """Return a Pod with 5,000 environment variables, of which the last one is refused."""
    names = [{"name": f"V{number}", "value": "x" * 40} for number in range(5_000)]
    container = {"name": "app", "image": "image", "env": [*names, {"name": "=", "value": ""}]}
    spec = {"containers": [container]}
    return encoded({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "garbage"}, "spec": spec})


def mistyped_apply() -> bytes:
    """Return a configuration to apply whose last value has the wrong type."""
    return encoded(config_map("one", {**keys_of(0), "z": 1}))  # type: ignore[dict-item]

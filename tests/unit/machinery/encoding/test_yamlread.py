"""Bodies of requests as YAML: conversion to plain data; malformed or hostile bodies are refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from podling import clock
from podling.machinery.encoding.bodies import read_body
from podling.machinery.errors import ApiError
from tests.support.held_loop import CountedCalls

YAML = "application/yaml"


def refused(data: bytes, media_type: str = "application/json", kind: str = "") -> str:
    with pytest.raises(ApiError) as caught:
        read_body(data, media_type, kind)
    assert caught.value.code == 400
    assert caught.value.reason == "BadRequest"
    return str(caught.value)


SCALARS: dict[str, Any] = {
    "text": "text", "'1'": "1", '"yes"': "yes", "yes": True, "No": False, "on": True, "y": True, "null": None,
    "~": None, "": None, "12": 12, "-3": -3, "+3": 3, "1_000": 1000, "0x1F": 31, "0b11": 3, "0o17": 15,
    "017": 15, "089": 89, "1.5": 1.5, "1.0": 1, "1e3": 1000, ".5": 0.5, "1.25-alpine": "1.25-alpine",
    "2020-01-01": "2020-01-01", "2020-01-01T00:00:00Z": "2020-01-01T00:00:00Z", "10:30": "10:30",
    "10.0.0.1": "10.0.0.1", "-": None, "!!str 5": "5", "!!int '5'": 5, "500m": "500m", "1Gi": "1Gi",
    "-x": "-x", "-.": "-.", "0x": "0x",
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), [item for item in SCALARS.items() if item[0] != "-"])
def test_yaml_scalars_become_json_values(text: str, value: Any) -> None:
    read = read_body(f"a: {text}".encode(), YAML).value["a"]
    assert (read, type(read)) == (value, type(value))


def test_yaml_structures_become_json_values() -> None:
    manifest = b"""
metadata: {name: web, labels: {tier: "1"}}
spec:
  containers:
  - &first
    name: a
    args: [x, 2]
    env: []
  - <<: *first
    name: b
text: |
  two
  lines
---
ignored: true
"""
    assert read_body(manifest, YAML).value == {
        "metadata": {"name": "web", "labels": {"tier": "1"}},
        "spec": {
            "containers": [
                {"name": "a", "args": ["x", 2], "env": []},
                {"name": "b", "args": ["x", 2], "env": []},
            ]
        },
        "text": "two\nlines\n",
    }


def test_an_alias_is_a_copy() -> None:
    value = read_body(b"a: &x {list: [1]}\nb: *x", YAML).value
    value["a"]["list"].append(2)
    assert value["b"] == {"list": [1]}


def test_repeated_yaml_keys_are_reported_with_lines() -> None:
    body = read_body(b"a: 1\nb:\n  c: 1\n  c: 2\na: 3\n", YAML)
    assert body.value == {"a": 3, "b": {"c": 2}}
    assert body.duplicates == (
        'yaml: unmarshal errors:\n  line 4: key "c" already set in map\n  line 5: key "a" already set in map',
    )


def test_yaml_keys_become_strings() -> None:
    assert read_body(b"1: a\ntrue: b\n~: c", YAML).value == {"1": "a", "true": "b", "null": "c"}


def test_an_alias_bomb_is_refused() -> None:
    layers = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    layers += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert refused("\n".join(layers).encode(), YAML).endswith("document contains excessive aliasing")


def test_anchors_cost_no_more_than_what_they_name() -> None:
    depth, leaves = 400, 5_000
    text = b"a: " + b"".join(b"&a%d [" % level for level in range(depth)) + b"1," * leaves + b"]" * depth
    with CountedCalls() as calls:
        asyncio.run(_read(text))
    assert calls.most < 40 * (depth + leaves)


async def _read(text: bytes) -> None:
    asyncio.get_running_loop().call_soon(read_body, text, "application/yaml")
    await clock.sleep(0)


def test_merged_mappings_count_as_aliases() -> None:
    keys = b",".join(b"k%d: 1" % number for number in range(1000))
    nested = b"a: " + b"{<<: " * 200 + b"{" + keys + b"}" + b"}" * 200
    with pytest.raises(ApiError, match="excessive aliasing"):
        read_body(nested, "application/yaml")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (b"a: [1", "yaml: line 1: did not find expected ',' or ']'"),
        (b"a: 1\n b: 2\n", "yaml: line 2: mapping values are not allowed in this context"),
        (b"a: 1\nb:\n- c\nd\n", "yaml: line 4: could not find expected ':'"),
        (b"a: *nothing", "yaml: unknown anchor 'nothing' referenced"),
        (b"a: .inf", "json: unsupported value: inf"),
        (b"? [1]\n: 2", "yaml: line 1: mapping keys must be scalars"),
        (b"<<: 1", "map merge requires map or sequence of maps as the value"),
    ],
)
def test_unacceptable_yaml_is_refused(text: bytes, part: str) -> None:
    assert part in refused(text, YAML)


def test_yaml_that_is_no_object_is_refused_where_an_object_is_wanted() -> None:
    assert "json: cannot unmarshal string into Go value" in refused(b"just text", YAML, "Pod")

"""YAML responses: chunks are equal to the whole document."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml

from podling.apiserver.http.yaml_replies import AT_ONCE, VALUE_BYTES, yaml_of, yaml_parts

MANY = {f"k{number}": "v" for number in range(AT_ONCE + 5)}
TEXTS = [
    "",
    "a\nb\n",
    "\n\n  x\n",
    "a: b",
    "# no",
    "x" * 500 + " y" * 200,
    "é\u2028",
    "- a",
    "'",
    '"',
    "null",
]


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1},
        {"data": MANY, "kind": "ConfigMap", "metadata": {"name": "x"}},
        {"a": [MANY, {"b": MANY}, [1, [MANY]], 3, []], "b": {}},
        {"data": {f"{number}{text}": text for number in range(200) for text in TEXTS}},
        {"items": [{"text": text, "list": TEXTS * 20, "more": MANY} for text in TEXTS]},
        {"x" * 200: MANY, "a b: c": MANY, "": MANY, "1": MANY, "a\nb": MANY},
        list(range(3 * AT_ONCE)),
        [[[MANY]], MANY],
    ],
    ids=range(8),
)
async def test_parts_make_the_whole(value: Any) -> None:
    assert yaml.safe_load(await yaml_of(msgspec.json.encode(value))) == value


async def test_plain_values_look_as_if_written_at_once() -> None:
    value = {"data": MANY, "items": [{"name": "a", "more": {"deep": [MANY, 1]}}], "kind": "x"}
    assert await yaml_of(msgspec.json.encode(value)) == msgspec.yaml.encode(value, order="sorted")


@pytest.mark.parametrize(
    ("value", "most"),
    [
        ({f"k{number}": "v" for number in range(20 * AT_ONCE)}, 21),
        ({f"k{number}": "v" * 10 * VALUE_BYTES for number in range(2 * AT_ONCE)}, 24),
        ([{"name": f"n{number}", "list": [1] * 8} for number in range(AT_ONCE)], 12),
        ({"a\nb": {"c": MANY}}, 5),
    ],
    ids=range(4),
)
def test_parts_have_bounded_numbers_of_values(value: Any, most: int) -> None:
    parts = list(yaml_parts(msgspec.json.encode(value)))
    assert most / 2 < len(parts) <= most
    longest = max(parts, key=len)
    assert longest.count(b"\n") <= AT_ONCE + 1

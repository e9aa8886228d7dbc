"""Tests of the rules of ConfigMaps."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from tests.support.causes import Cause, KindRow, forbidden, invalid
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

NAMED = "metadata: {name: x, namespace: default}"
NEW_OBJECTS: list[KindRow] = [
    (ConfigMap, f"{NAMED}\ndata: {{a.txt: x, B_-.: y}}", []),
    (
        ConfigMap,
        f"{NAMED}\ndata: {{'a b': x}}",
        [
            invalid(
                "data[a b]",
                '"a b"',
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
                "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                "'[-._a-zA-Z0-9]+')",
            )
        ],
    ),
    (
        ConfigMap,
        f"{NAMED}\ndata: {{a: x}}\nbinaryData: {{a: eA==}}",
        [invalid("data[a]", '"a"', "duplicate of key present in binaryData")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_config_map_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text))) == expected


@pytest.mark.parametrize(
    ("kind", "before", "after", "expected"),
    [
        (
            ConfigMap,
            "immutable: true\ndata: {a: x}",
            "immutable: false\ndata: {a: y}",
            [
                forbidden("immutable", "field is immutable when `immutable` is set"),
                forbidden("data", "field is immutable when `immutable` is set"),
            ],
        ),
    ],
)
def test_change_of_config_map_is_validated(
    kind: type[Any], before: str, after: str, expected: list[Cause]
) -> None:
    old = created(obj(kind, f"{NAMED}\n{before}"))
    assert change_causes(obj(kind, f"{NAMED}\n{after}"), old) == expected


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (ConfigMap, "data: {a: x}\nbinaryData: {b: eA==}", ["x", 2, "5m"]),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_config_map_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW))[: len(expected)] == expected


def test_config_map_has_at_most_one_mebibyte() -> None:
    full = ConfigMap(metadata=ObjectMeta(name="x", namespace="default"), data={"a": "x" * 2**20})
    assert creation_causes(created(full)) == []
    over = created(structs.replace(full, data={**full.data, "b": "y"}))
    assert creation_causes(over) == [
        ("[]", "FieldValueTooLong", "Too long: may not be more than 1048576 bytes")
    ]

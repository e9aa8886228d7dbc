"""Tests of the rules of Secrets."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Secret
from podling.machinery.encoding import codec
from tests.support.causes import Cause, KindRow, invalid, required
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

NAMED = "metadata: {name: x, namespace: default}"
NEW_OBJECTS: list[KindRow] = [
    (
        Secret,
        f"{NAMED}\ntype: kubernetes.io/tls\ndata: {{tls.crt: eA==}}",
        [required("data[tls.key]")],
    ),
    (
        Secret,
        f"{NAMED}\ntype: kubernetes.io/dockerconfigjson\ndata: {{.dockerconfigjson: eA==}}",
        [
            invalid(
                "data[.dockerconfigjson]",
                '"<secret contents redacted>"',
                "invalid character 'x' looking for beginning of value",
            )
        ],
    ),
    (
        Secret,
        f"{NAMED}\ntype: kubernetes.io/dockercfg\nstringData: {{.dockercfg: '[]'}}",
        [
            invalid(
                "data[.dockercfg]",
                '"<secret contents redacted>"',
                "json: cannot unmarshal array into Go value of type map[string]interface {}",
            )
        ],
    ),
    (
        Secret,
        f"{NAMED}\ntype: kubernetes.io/basic-auth",
        [required("data[username]"), required("data[password]")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_secret_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text))) == expected


@pytest.mark.parametrize(
    ("kind", "before", "after", "expected"),
    [
        (
            Secret,
            "type: Opaque",
            "type: other",
            [invalid("type", '"other"', "field is immutable")],
        ),
    ],
)
def test_change_of_secret_is_validated(
    kind: type[Any], before: str, after: str, expected: list[Cause]
) -> None:
    old = created(obj(kind, f"{NAMED}\n{before}"))
    assert change_causes(obj(kind, f"{NAMED}\n{after}"), old) == expected


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (Secret, "type: Opaque\ndata: {a: eA==}", ["x", "Opaque", 1, "5m"]),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_secret_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW))[: len(expected)] == expected


def test_string_data_is_merged_into_data() -> None:
    secret = created(obj(Secret, f"{NAMED}\ndata: {{a: b2xk}}\nstringData: {{a: new, b: more}}"))
    assert codec.to_plain(secret)["data"] == {"a": "bmV3", "b": "bW9yZQ=="}
    assert (secret.string_data, secret.type) == ({}, "Opaque")

"""The annotation of client-side apply, under server-side apply."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podling.api.core_v1 import ConfigMap
from podling.machinery.encoding.shapes import shape_of
from podling.machinery.patches.last_applied import ANNOTATION, MAX_ANNOTATIONS_BYTES, applied_before, kept_up

SHAPE = shape_of(ConfigMap)


def live(annotation: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"annotations": {ANNOTATION: annotation}},
        "data": data,
    }


def annotation(**data: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": data})


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (annotation(a="1"), {("f:data", "f:a")}),
        (annotation(a="1", b="2"), {("f:data", "f:a"), ("f:data", "f:b")}),
        (annotation(a="changed", b="2"), {("f:data", "f:b")}),
        (annotation(b="2", gone="3"), {("f:data", "f:b")}),
    ],
)
def test_shared_fields_belong_to_the_client_side_applier(text: str, fields: set[tuple[str, ...]]) -> None:
    found = applied_before(live(text, a="1", b="2"), SHAPE, "v1")
    assert found is not None
    assert {path for path in found if path[0] == "f:data" and len(path) == 2} == fields


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"apiVersion": "v2", "kind": "ConfigMap"}',
        '{"kind": "ConfigMap"}',
        annotation(a=5),
        '{"apiVersion": "v1", "unknown": 1}',
    ],
)
def test_unreadable_annotation_gives_no_fields(text: str) -> None:
    assert applied_before(live(text, a="1"), SHAPE, "v1") is None


def test_object_without_annotation_has_no_earlier_fields_and_stays() -> None:
    plain = {"apiVersion": "v1", "metadata": {"name": "a"}}
    assert applied_before(plain, SHAPE, "v1") is None
    assert kept_up(plain, {"data": {"a": "1"}}) is plain


def test_annotation_follows_the_new_configuration_without_itself() -> None:
    intent = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "a", "annotations": {ANNOTATION: "old", "other": "x"}},
        "data": {"text": "<&>é\u2028"},
    }
    changed = kept_up(live("old"), intent)["metadata"]["annotations"][ANNOTATION]
    assert changed == (
        '{"apiVersion":"v1","data":{"text":"\\u003c\\u0026\\u003eé\\u2028"},"kind":"ConfigMap",'
        '"metadata":{"annotations":{"other":"x"},"name":"a"}}\n'
    )
    assert intent["metadata"]["annotations"][ANNOTATION] == "old"  # type: ignore[index]


def test_annotation_too_large_is_dropped() -> None:
    plain = live("old")
    kept = kept_up(plain, {"data": {"a": "x" * (MAX_ANNOTATIONS_BYTES - 200)}})
    assert ANNOTATION in kept["metadata"]["annotations"]
    dropped = kept_up(plain, {"data": {"a": "x" * MAX_ANNOTATIONS_BYTES}})
    assert dropped["metadata"]["annotations"] == {}

"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.machinery.errors import ApiError
from podling.machinery.patch import json_patch, merge_patch
from podling.machinery.plain import copied, equal


def op(name: str, path: str, **rest: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **rest}


JSON_PATCHES: list[tuple[Any, list[dict[str, Any]], Any]] = [
    ({"a": 1}, [op("add", "/b", value=2)], {"a": 1, "b": 2}),
    ({"a": 1}, [op("add", "/a", value=[])], {"a": []}),
    ({"a": [1, 2]}, [op("add", "/a/1", value=9)], {"a": [1, 9, 2]}),
    ({"a": [1]}, [op("add", "/a/-", value=2)], {"a": [1, 2]}),
    ({"a": [1]}, [op("add", "/a/1", value=2)], {"a": [1, 2]}),
    ({"a": 1, "b": 2}, [op("remove", "/a")], {"b": 2}),
    ({"a": [1, 2, 3]}, [op("remove", "/a/1")], {"a": [1, 3]}),
    ({"a": 1}, [op("replace", "/a", value=None)], {"a": None}),
    ({"a": {"b": 1}}, [op("move", "/c", **{"from": "/a/b"})], {"a": {}, "c": 1}),
    ({"a": [1]}, [op("copy", "/b", **{"from": "/a"}), op("add", "/b/-", value=2)], {"a": [1], "b": [1, 2]}),
    ({"a": 1}, [op("test", "/a", value=1), op("remove", "/a")], {}),
    ({}, [op("test", "/a", value=None)], {}),
    ({"x/y": {"~": 1}}, [op("remove", "/x~1y/~0")], {"x/y": {}}),
    ({"": 1}, [op("replace", "/", value=2)], {"": 2}),
    ({"a": 1}, [op("replace", "", value={"b": 2})], {"b": 2}),
]


@pytest.mark.parametrize(("document", "operations", "result"), JSON_PATCHES)
def test_json_patch(document: Any, operations: list[dict[str, Any]], result: Any) -> None:
    before = copied(document)
    assert json_patch(document, operations) == result
    assert document == before


INAPPLICABLE = [
    op("remove", "/b"),
    op("replace", "/b", value=1),
    op("test", "/a", value=[2]),
    op("test", "/a", value=None),
    op("add", "/b/c", value=1),
    op("add", "/a/5", value=1),
    op("add", "/a/01", value=1),
    op("add", "/n/x", value=1),
    op("add", "a", value=1),
    {"op": "add"},
    op("remove", "/a/-"),
    op("remove", "/a/" + "9" * 5000),
    op("remove", ""),
    op("move", "/a/0", **{"from": "/a"}),
    op("move", "/x", **{"from": "/y"}),
    op("copy", "/x"),
    op("nop", "/a"),
]


@pytest.mark.parametrize("operation", INAPPLICABLE, ids=str)
def test_what_cannot_be_done_is_refused_as_a_whole(operation: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as caught:
        json_patch({"a": [1], "n": 5}, [op("add", "/first", value=1), operation])
    assert caught.value.code == 422
    assert str(caught.value) == "the server rejected our request due to an error in our request"


def test_nothing_moves_into_itself_even_where_another_takes_its_place() -> None:
    with pytest.raises(ApiError):
        json_patch([{"a": 1}, {"b": 2}], [op("move", "/0/c", **{"from": "/0"})])


def test_true_is_not_one() -> None:
    assert not equal({"a": [True]}, {"a": [1]})
    with pytest.raises(ApiError):
        json_patch({"a": 1}, [op("test", "/a", value=True)])


def test_a_json_patch_is_a_list_of_bounded_length() -> None:
    with pytest.raises(ApiError) as caught:
        json_patch({}, {"a": 1})
    assert caught.value.code == 400
    with pytest.raises(ApiError) as caught:
        json_patch({}, [op("test", "/a")] * 10_001)
    assert caught.value.code == 413
    limit = "The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert str(caught.value) == f"Request entity too large: {limit}"


MERGE_PATCHES: list[tuple[Any, Any, Any]] = [
    ({"a": 1}, {"a": 2}, {"a": 2}),
    ({"a": 1}, {"a": None, "b": None}, {}),
    ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": {"e": None}}}, {"a": {"c": 2, "d": {}}}),
    ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ({"a": {"b": 1}}, {"a": 1}, {"a": 1}),
    ({"a": 1}, {"b": [None, {"c": None}]}, {"a": 1, "b": [None, {"c": None}]}),
    ({}, {}, {}),
]


@pytest.mark.parametrize(("document", "patch", "result"), MERGE_PATCHES)
def test_merge_patch(document: Any, patch: Any, result: Any) -> None:
    before = copied([document, patch])
    assert merge_patch(document, patch) == result
    assert [document, patch] == before


def test_a_merge_patch_is_an_object() -> None:
    with pytest.raises(ApiError, match="Invalid JSON Patch") as caught:
        merge_patch({}, [1])
    assert caught.value.code == 400


keys = st.sampled_from("abc")
plain = st.recursive(
    st.none() | st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(keys, plain, max_size=3)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


@given(objects, objects)
def test_merging_twice_is_merging_once(document: Any, patch: Any) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


@given(objects)
def test_merging_into_nothing_drops_nulls(patch: Any) -> None:
    assert merge_patch({}, patch) == without_nulls(patch)


@given(objects, objects)
def test_the_result_shares_nothing_with_what_it_was_made_from(document: Any, patch: Any) -> None:
    before = copied([document, patch])
    result = merge_patch(document, patch)

    def spoil(value: Any) -> None:
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            spoil(item)
        if isinstance(value, dict | list):
            value.clear()

    spoil(result)
    assert [document, patch] == before


@given(objects, keys, plain)
def test_add_then_remove_is_nothing(document: Any, key: str, value: Any) -> None:
    document.pop(key, None)
    path = f"/{key}"
    assert json_patch(document, [op("add", path, value=value), op("test", path, value=value)])[key] == value
    assert json_patch(document, [op("add", path, value=value), op("remove", path)]) == document

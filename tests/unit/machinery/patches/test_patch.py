"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.machinery.encoding.plain import copied, equal
from podling.machinery.errors import ApiError
from podling.machinery.patches.patch import MAX_COPIED_BYTES, check_decodes, json_patch, merge_patch


def op(name: str, path: str, **rest: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **rest}


JSON_PATCHES: list[tuple[Any, list[dict[str, Any]] | None, Any]] = [
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
    ({"a": 1}, [op("test", "", value={"a": 1})], {"a": 1}),
    ({"a": 1}, [op("replace", "/b", value=2)], {"a": 1, "b": 2}),  # where nothing is, too
    ({"a": 1}, [op("copy", "/c", **{"from": "/b"})], {"a": 1, "c": None}),
    ({"a": 1}, [op("add", "what is before the slash/b", value=2)], {"a": 1, "b": 2}),
    ({"a": [1, 2, 3]}, [op("remove", "/a/-1")], {"a": [1, 2]}),
    ({"a": [1, 2]}, [op("add", "/a/-1", value=3)], {"a": [1, 2, 3]}),
    ({"a": [1, 2]}, [op("replace", "/a/+01", value=3)], {"a": [1, 3]}),
    ([{"a": 1}, {"b": 2}], [op("move", "/0/c", **{"from": "/0"})], [{"b": 2, "c": {"a": 1}}]),
    ({"a": 1}, None, {"a": 1}),
]


@pytest.mark.parametrize(("document", "operations", "result"), JSON_PATCHES)
def test_json_patch_operations_yield_result(
    document: Any, operations: list[dict[str, Any]] | None, result: Any
) -> None:
    before = copied(document)
    assert json_patch(document, operations) == result
    assert document == before


MISSING, INDEX = "missing value", "invalid index referenced"
INAPPLICABLE = [
    (op("remove", "/b"), f"error in remove for path: '/b': Unable to remove nonexistent key: b: {MISSING}"),
    (
        op("replace", "/b/c", value=1),
        f"replace operation does not apply: doc is missing path: /b/c: {MISSING}",
    ),
    (
        op("replace", "/a/1", value=1),
        f"replace operation does not apply: doc is missing key: /a/1: {MISSING}",
    ),
    (op("replace", "", value="x"), "replace operation value must be object or array: %!w(<nil>)"),
    (op("test", "/a", value=[2]), "testing value /a failed: test failed"),
    (op("test", "/a", value=None), "testing value /a failed: test failed"),
    (op("test", "/b/c", value=None), f"test operation does not apply: is missing path: /b/c: {MISSING}"),
    (op("test", "", value={}), "testing value  failed: test failed"),
    (op("add", "/b/c", value=1), f'add operation does not apply: doc is missing path: "/b/c": {MISSING}'),
    (
        op("add", "/a/5", value=1),
        f"error in add for path: '/a/5': Unable to access invalid index: 5: {INDEX}",
    ),
    (
        op("add", "/a/x", value=1),
        "error in add for path: '/a/x': value was not a proper array index: 'x': "
        'strconv.Atoi: parsing "x": invalid syntax',
    ),
    (op("add", "/n/x", value=1), f'add operation does not apply: doc is missing path: "/n/x": {MISSING}'),
    (op("add", "a", value=1), f'add operation does not apply: doc is missing path: "a": {MISSING}'),
    (op("add", "", value={}), f'add operation does not apply: doc is missing path: "": {MISSING}'),
    ({"op": "add"}, f"add operation failed to decode path: {MISSING}"),
    ({"op": "test"}, f"test operation failed to decode path: operation missing path field: {MISSING}"),
    (
        {"op": "replace", "path": 1},
        "replace operation failed to decode path: json: cannot unmarshal number into Go value of type string",
    ),
    (
        op("remove", "/a/-"),
        "error in remove for path: '/a/-': strconv.Atoi: parsing \"-\": invalid syntax",
    ),
    (op("remove", ""), f'remove operation does not apply: doc is missing path: "": {MISSING}'),
    (
        op("move", "/a/0", **{"from": "/a"}),
        f"move operation does not apply: doc is missing destination path: /a/0: {MISSING}",
    ),
    (
        op("move", "/x", **{"from": "/y"}),
        f"error in move for path: 'y': Unable to remove nonexistent key: y: {MISSING}",
    ),
    (op("copy", "/x"), f"copy operation failed to decode from: operation, missing from field: {MISSING}"),
    (
        op("copy", "/a/7", **{"from": "/n"}),
        f"error while adding value during copy: Unable to access invalid index: 7: {INDEX}",
    ),
    (op("nop", "/a"), "Unexpected kind: nop"),
    ({}, "Unexpected kind: unknown"),
    (None, "Unexpected kind: unknown"),
]


@pytest.mark.parametrize(("operation", "why"), INAPPLICABLE, ids=str)
def test_impossible_operation_refuses_whole_patch(operation: dict[str, Any], why: str) -> None:
    with pytest.raises(ApiError) as caught:
        json_patch({"a": [1], "n": 5}, [op("add", "/first", value=1), operation])
    assert caught.value.code == 422
    assert str(caught.value) == "the server rejected our request due to an error in our request"
    assert caught.value.__notes__ == [why], "who asked a webhook for the patch is told"


def test_indices_of_any_length_are_refused() -> None:
    with pytest.raises(ApiError):
        json_patch({"a": [1]}, [op("remove", "/a/" + "9" * 5000)])


DECODED = "error decoding patch: json: cannot unmarshal"


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ({}, f"{DECODED} object into Go value of type []handlers.jsonPatchOp"),
        ("x", f"{DECODED} string into Go value of type []handlers.jsonPatchOp"),
        ([1], f"{DECODED} number into Go value of type handlers.jsonPatchOp"),
        (
            [op("add", "/a"), {"op": 1}],
            f"{DECODED} number into Go struct field jsonPatchOp.op of type string",
        ),
        ([{"path": []}], f"{DECODED} array into Go struct field jsonPatchOp.path of type string"),
        ([None, {"op": None}], ""),
        (None, ""),
    ],
)
def test_patches_that_are_looked_at_are_decoded_first(operations: Any, message: str) -> None:
    if not message:
        check_decodes(operations, "array")
        return
    with pytest.raises(ApiError) as caught:
        check_decodes(operations, "array")
    assert (caught.value.code, str(caught.value)) == (400, message)


def test_true_is_not_one() -> None:
    assert not equal({"a": [True]}, {"a": [1]})
    with pytest.raises(ApiError):
        json_patch({"a": 1}, [op("test", "/a", value=True)])


def test_a_json_patch_is_a_list_of_bounded_length() -> None:
    for patch, type_ in (({"a": 1}, "object into Go value of type jsonpatch.Patch"), (["a"], "string")):
        with pytest.raises(ApiError, match=f"^json: cannot unmarshal {type_}") as caught:
            json_patch({}, patch)
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
def test_merge_patch_yields_result(document: Any, patch: Any, result: Any) -> None:
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


def test_copies_are_limited_in_all() -> None:
    text = "x" * 1000
    doubling = [op("add", "/z", value={})]
    doubling += [op("copy", f"/z/k{number}", **{"from": "/z"}) for number in range(40)]
    with pytest.raises(ApiError) as caught:
        json_patch({"data": text}, doubling)
    assert caught.value.code == 422
    size, limit = re.findall("[0-9]+", caught.value.__notes__[0])
    assert int(limit) == MAX_COPIED_BYTES < int(size) < 2 * MAX_COPIED_BYTES
    said = "Unable to complete the copy, the accumulated size increase of copy is"
    assert caught.value.__notes__[0] == f"{said} {size}, exceeding the limit {limit}"
    few = [op("copy", f"/c{number}", **{"from": "/data"}) for number in range(MAX_COPIED_BYTES // 1002)]
    assert len(json_patch({"data": text}, few)) == 1 + len(few)
    with pytest.raises(ApiError):
        json_patch({"data": text}, [*few, op("copy", "/d", **{"from": "/data"})])

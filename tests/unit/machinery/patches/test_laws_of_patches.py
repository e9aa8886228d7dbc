"""Laws that every kind of patch obeys, against plain models and a library that does the same job.

The law behind all of them: a patch made from the difference between any two documents
turns the first into the second.
"""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer
from hypothesis import given
from hypothesis import strategies as st

from podling.api import core_v1
from podling.machinery.encoding.plain import copied
from podling.machinery.errors import ApiError
from podling.machinery.patches.patch import json_patch, merge_patch, strategic_merge_patch

Plain = dict[str, Any]

keys = st.sampled_from(("a", "b", "~", "/"))
values = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(("x", "")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(keys, values, max_size=3)

steps = st.sampled_from(("a", "b", "~0", "~1", "0", "1", "2", "-", "01", "c"))
paths = st.lists(steps, min_size=1, max_size=3).map(lambda path: "/" + "/".join(path))
operations = st.one_of(
    st.fixed_dictionaries({"op": st.sampled_from(("add", "replace")), "path": paths, "value": values}),
    st.fixed_dictionaries({"op": st.just("remove"), "path": paths}),
    st.fixed_dictionaries({"op": st.sampled_from(("move", "copy")), "path": paths, "from": paths}),
    st.fixed_dictionaries({"op": st.just("test"), "path": paths, "value": st.integers(0, 3)}),
)


class TestJsonPatches:
    @given(objects, objects)
    def test_the_difference_leads_from_one_to_the_other(self, old: Plain, new: Plain) -> None:
        assert json_patch(old, jsonpatch.make_patch(old, new).patch) == new

    @given(objects, st.lists(operations, max_size=4))
    def test_another_implementation_agrees(self, document: Plain, patch: list[Plain]) -> None:
        try:
            expected = jsonpatch.apply_patch(copied(document), patch)
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException):
            expected = None
        try:
            found = json_patch(document, patch)
        except ApiError as error:
            found = None if error.code == 422 else error
        if expected is not None or all(map(exact, patch)):
            assert found == expected


def exact(operation: Plain) -> bool:
    """Return whether an operation is one that Kubernetes' library refuses, too."""
    return operation["op"] in ("add", "remove", "test") and "01" not in operation["path"]


def merge_difference(old: Any, new: Any) -> Any:
    """Return the merge patch that turns ``old`` into ``new``, which holds no nulls."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    changed = {key: merge_difference(old.get(key), new[key]) for key in new if old.get(key) != new[key]}
    return {**changed, **{key: None for key in old if key not in new}}


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return value


class TestMergePatches:
    @given(objects, objects.map(without_nulls))
    def test_the_difference_leads_from_one_to_the_other(self, old: Plain, new: Plain) -> None:
        assert merge_patch(old, merge_difference(old, new)) == new

    @given(objects, objects, objects)
    def test_two_patches_are_one(self, document: Plain, first: Plain, second: Plain) -> None:
        """Of what the second says: it has the last word, and leaves the rest to the first."""
        both = merge_patch(merge_patch(document, first), second)
        for key in {*document, *first} - set(second):
            assert both.get(key) == merge_patch(document, first).get(key)
        for key, value in second.items():
            if not isinstance(value, dict):
                assert both.get(key) == value


names = st.sampled_from("xyz")
nothing: Plain = {}


def named(item: Plain) -> str:
    return str(item["name"])


env: st.SearchStrategy[Plain] = st.fixed_dictionaries(
    {"name": names}, optional={"value": st.sampled_from("12")}
)
containers: st.SearchStrategy[Plain] = st.fixed_dictionaries(
    {"name": names},
    optional={
        "image": st.sampled_from(("i", "j")),
        "command": st.lists(st.sampled_from("cd"), min_size=1, max_size=2),
        "env": st.lists(env, unique_by=named, min_size=1, max_size=3),
    },
)
pods = st.fixed_dictionaries(
    nothing,
    optional={
        "metadata": st.fixed_dictionaries(
            nothing,
            optional={
                "labels": st.dictionaries(names, st.sampled_from("12"), min_size=1, max_size=3),
                "finalizers": st.lists(st.sampled_from("fgh"), unique=True, min_size=1, max_size=3),
            },
        ),
        "spec": st.fixed_dictionaries(
            {"containers": st.lists(containers, unique_by=named, min_size=1, max_size=3)},
            optional={"nodeName": st.sampled_from(("m", "n"))},
        ),
    },
)
KEYED = ("containers", "env")
"""Lists whose items are known by their names; ``finalizers`` is a set, ``command`` is one value."""


def difference(old: Plain, new: Plain) -> Plain:
    """Return a strategic merge patch from ``old`` to ``new``, as ``kubectl apply`` makes it."""
    patch: Plain = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if value == before:
            continue
        if key == "finalizers":
            patch[f"$setElementOrder/{key}"] = value
            patch[key] = [each for each in value if each not in (before or ())]
            patch[f"$deleteFromPrimitiveList/{key}"] = [each for each in before or () if each not in value]
        elif key in KEYED:
            patch[f"$setElementOrder/{key}"] = [{"name": each["name"]} for each in value]
            patch[key] = item_differences({each["name"]: each for each in before or ()}, value)
        else:
            both = isinstance(value, dict) and isinstance(before, dict)
            patch[key] = difference(before, value) if both else value  # type: ignore[arg-type]
    return patch


def item_differences(before: dict[str, Plain], after: list[Plain]) -> list[Plain]:
    kept = {each["name"] for each in after}
    said = [
        {**difference(before[each["name"]], each), "name": each["name"]} if each["name"] in before else each
        for each in after
        if before.get(each["name"]) != each
    ]
    return said + [{"name": name, "$patch": "delete"} for name in before if name not in kept]


def by_key(value: Any, field: str = "") -> Any:
    """Return a document with its keyed lists as maps and its sets as sets: the plain model."""
    if isinstance(value, dict):
        return {key: by_key(each, key) for key, each in value.items()}
    if field in KEYED:
        return {each["name"]: by_key(each) for each in value}
    return frozenset(value) if field == "finalizers" else value


def model_merge(old: Any, patch: Any) -> Any:
    """Return a strategic merge in the model: maps merge, sets unite, the rest is replaced."""
    if isinstance(patch, dict):
        base = old if isinstance(old, dict) else {}
        return {**base, **{key: model_merge(base.get(key), value) for key, value in patch.items()}}
    return patch | (old or frozenset()) if isinstance(patch, frozenset) else patch


def containers_in(value: Any) -> set[int]:
    """Return the identities of all maps and lists."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return set() if inner is None else {id(value)}.union(*map(containers_in, inner))


class TestStrategicMergePatches:
    @given(pods, pods)
    def test_the_difference_leads_from_one_to_the_other(self, old: Plain, new: Plain) -> None:
        assert strategic_merge_patch(old, difference(old, new), core_v1.Pod) == new

    @given(pods, pods)
    def test_merging_is_merging_maps(self, document: Plain, patch: Plain) -> None:
        found = strategic_merge_patch(document, patch, core_v1.Pod)
        assert by_key(found) == model_merge(by_key(document), by_key(patch))

    @given(pods, pods)
    def test_twice_is_once(self, document: Plain, patch: Plain) -> None:
        once = strategic_merge_patch(document, patch, core_v1.Pod)
        assert strategic_merge_patch(once, patch, core_v1.Pod) == once

    @given(pods, pods)
    def test_nothing_is_changed_in_place_or_shared(self, document: Plain, patch: Plain) -> None:
        before = copied([document, patch])
        found = strategic_merge_patch(document, patch, core_v1.Pod)
        assert [document, patch] == before
        assert not containers_in(found) & containers_in([document, patch])

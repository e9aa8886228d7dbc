"""Strategic merge patch: how lists merge by the types, and what directives do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api import apps_v1, core_v1
from podling.machinery.encoding.plain import copied
from podling.machinery.errors import ApiError
from podling.machinery.patches.patch import merge_patch, patched_object, strategic_merge_patch


def containers(*names: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"name": name, **fields} for name in names]


def spec(original: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of a pod after a patch of its spec; what goes in must not change."""
    before = copied([original, patch])
    result = strategic_merge_patch({"spec": original}, {"spec": patch}, core_v1.Pod)
    assert [original, patch] == before
    merged: dict[str, Any] = result["spec"]
    return merged


def names(items: list[dict[str, Any]]) -> list[str]:
    return [item["name"] for item in items]


POD: dict[str, list[dict[str, Any]]] = {
    "containers": [
        {"name": "a", "image": "1", "env": [{"name": "E", "value": "1"}]},
        {"name": "b", "image": "2"},
    ],
    "volumes": [{"name": "v", "emptyDir": {}}],
    "tolerations": [{"key": "x"}],
}


def test_items_merge_by_their_key() -> None:
    patch = {"containers": [{"name": "a", "env": [{"name": "F", "value": "2"}]}]}
    (a, b) = spec(POD, patch)["containers"]
    assert a == {"name": "a", "image": "1", "env": [{"name": "F", "value": "2"}, {"name": "E", "value": "1"}]}
    assert b == {"name": "b", "image": "2"}


def test_a_new_item_comes_first_unless_an_order_is_given() -> None:
    assert names(spec(POD, {"containers": containers("n")})["containers"]) == ["n", "a", "b"]
    ordered = {"containers": containers("n"), "$setElementOrder/containers": containers("a", "b", "n")}
    assert names(spec(POD, ordered)["containers"]) == ["a", "b", "n"]


def test_an_order_alone_only_orders() -> None:
    patch = {"$setElementOrder/containers": containers("b", "a")}
    assert spec(POD, patch)["containers"] == list(reversed(POD["containers"]))


def test_items_that_the_order_does_not_name_stay_near_their_neighbours() -> None:
    original = {"containers": containers("x", "a", "y", "b")}
    patch = {"$setElementOrder/containers": containers("a", "b")}
    assert names(spec(original, patch)["containers"]) == ["x", "a", "y", "b"]


def test_an_atomic_list_is_replaced() -> None:
    assert spec(POD, {"tolerations": [{"key": "y"}]})["tolerations"] == [{"key": "y"}]


def test_delete_takes_an_item_out() -> None:
    patch = {"containers": [{"$patch": "delete", "name": "a"}]}
    assert names(spec(POD, patch)["containers"]) == ["b"]


def test_kubectl_apply_patch_removes_list_item() -> None:
    patch = {
        "$setElementOrder/containers": containers("b"),
        "containers": [{"$patch": "delete", "name": "a"}],
    }
    assert names(spec(POD, patch)["containers"]) == ["b"]


def test_replace_takes_the_other_items_instead() -> None:
    patch = {"containers": [{"name": "z"}, {"$patch": "replace"}]}
    assert spec(POD, patch)["containers"] == [{"name": "z"}]


def test_an_object_may_be_replaced_or_emptied() -> None:
    original = {"nodeSelector": {"a": "1"}, "securityContext": {"runAsUser": 1}}
    patch = {"nodeSelector": {"$patch": "replace", "b": "2"}, "securityContext": {"$patch": "delete"}}
    assert spec(original, patch) == {"nodeSelector": {"b": "2"}, "securityContext": {}}


def test_null_deletes_field() -> None:
    assert "volumes" not in spec(POD, {"volumes": None})
    (a, _) = spec(POD, {"containers": [{"name": "a", "image": None}]})["containers"]
    assert "image" not in a


def metadata(original: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = strategic_merge_patch({"metadata": original}, {"metadata": patch}, core_v1.Pod)
    found: dict[str, Any] = merged["metadata"]
    return found


def test_scalars_merge_as_a_set() -> None:
    assert metadata({"finalizers": ["a", "b"]}, {"finalizers": ["b", "c"]})["finalizers"] == ["a", "b", "c"]


def test_scalars_are_taken_out_by_value() -> None:
    patch = {
        "$deleteFromPrimitiveList/finalizers": ["a"],
        "$setElementOrder/finalizers": ["c", "b"],
        "finalizers": ["c"],
    }
    assert metadata({"finalizers": ["a", "b"]}, patch)["finalizers"] == ["c", "b"]


def test_retain_keys_lets_one_member_of_a_union_win() -> None:
    patch = {"volumes": [{"$retainKeys": ["name", "hostPath"], "name": "v", "hostPath": {"path": "/x"}}]}
    assert spec(POD, patch)["volumes"] == [{"name": "v", "hostPath": {"path": "/x"}}]
    deployment = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    strategy = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert strategic_merge_patch(deployment, strategy, apps_v1.Deployment) == {
        "spec": {"strategy": {"type": "Recreate"}}
    }


def test_directives_never_reach_the_object() -> None:
    patch = {
        "volumes": [{"$retainKeys": ["name"], "name": "v"}, {"$patch": "delete", "name": "w"}],
        "securityContext": {"$retainKeys": [], "sysctls": [{"name": "x", "value": None}]},
    }
    assert spec({}, patch) == {"volumes": [{"name": "v"}], "securityContext": {"sysctls": [{"name": "x"}]}}


def test_unknown_fields_merge_like_plain_json() -> None:
    assert spec({"new": {"a": [1]}}, {"new": {"a": [2], "b": 1}})["new"] == {"a": [2], "b": 1}


BAD: list[tuple[dict[str, Any], int, str]] = [
    ({"containers": [{"image": "3"}]}, 500, "map: map[image:3] does not contain declared merge key: name"),
    (
        {"containers": [{"$patch": "merge", "name": "a"}]},
        500,
        "merging lists cannot yet be specified in the patch",
    ),
    (
        {"containers": [{"$patch": "x", "name": "a"}]},
        500,
        "unknown patch type: x in map: map[$patch:x name:a]",
    ),
    ({"$retainKeys": ["a"], "b": 1}, 422, "the server rejected our request due to an error in our request"),
    ({"$retainKeys": "a"}, 400, "invalid patch format of retainKeys"),
    ({"$setElementOrder/containers": "a"}, 400, "invalid patch format of setElementOrder list"),
    ({"$deleteFromPrimitiveList/x": 1}, 400, "invalid patch format of primitive list"),
]


@pytest.mark.parametrize(("patch", "code", "text"), BAD)
def test_bad_patch_is_refused(patch: dict[str, Any], code: int, text: str) -> None:
    with pytest.raises(ApiError) as caught:
        spec(POD, patch)
    assert (caught.value.code, str(caught.value)) == (code, text)


def test_patch_list_must_follow_set_element_order() -> None:
    with pytest.raises(ApiError, match="The order in patch list"):
        spec(POD, {"containers": containers("b", "a"), "$setElementOrder/containers": containers("a", "b")})


def test_a_strategic_patch_is_an_object() -> None:
    with pytest.raises(ApiError, match="cannot unmarshal array into Go value of type map"):
        strategic_merge_patch({}, [], core_v1.Pod)


NO_POD = [
    ({"spec": {"containers": "x"}}, "map[spec:map[containers:x]]", "cannot restore slice from string"),
    ({"spec": "x"}, "map[spec:x]", "cannot restore struct from: string"),
    ({"spec": {"priority": "x"}}, "map[spec:map[priority:x]]", "unrecognized type: int32"),
    ({"metadata": {"labels": [1]}}, "map[metadata:map[labels:[1]]]", "cannot restore map from slice"),
]


@pytest.mark.parametrize(("patch", "shown", "why"), NO_POD)
def test_a_patch_that_leads_to_no_object_is_shown_as_go_prints_it(patch: Any, shown: str, why: str) -> None:
    result = strategic_merge_patch({}, patch, core_v1.Pod)
    with pytest.raises(ApiError) as caught:
        patched_object(result, core_v1.Pod, strategic=patch)
    assert caught.value.code == 422
    assert str(caught.value) == f' "" is invalid: patch: Invalid value: "{shown}": {why}'


def test_strict_validation_looks_at_the_result_of_a_patch() -> None:
    patch = {"spec": {"foo": 1}}
    assert patched_object(patch, core_v1.Pod, "Warn", patch)[1] == ['unknown field "spec.foo"']
    with pytest.raises(ApiError, match=r'strict decoding error: unknown field "spec.foo"'):
        patched_object(patch, core_v1.Pod, "Strict", patch)
    with pytest.raises(ApiError) as caught:
        patched_object({"spec": {"priority": "x"}}, core_v1.Pod)
    assert str(caught.value) == (
        r' "" is invalid: patch: Invalid value: "{\"spec\":{\"priority\":\"x\"}}": json: cannot unmarshal '
        "string into Go struct field PodSpec.spec.priority of type int32"
    )


item_names = st.sampled_from("abcde")
lists = st.lists(item_names, unique=True, max_size=5)
images = st.sampled_from(["1", "2"])


def listed(some: list[str], image: str) -> dict[str, Any]:
    return {"containers": containers(*some, image=image)}


@given(lists, lists, images, images)
def test_merging_lists_is_merging_maps_by_key(
    old: list[str], new: list[str], before: str, after: str
) -> None:
    merged = spec(listed(old, before), listed(new, after))["containers"]
    model = dict.fromkeys(old, before) | dict.fromkeys(new, after)
    assert {item["name"]: item["image"] for item in merged} == model
    assert len(merged) == len(model)


@given(lists, lists)
def test_patching_twice_is_patching_once(old: list[str], new: list[str]) -> None:
    patch = listed(new, "2")
    once = spec(listed(old, "1"), patch)
    assert spec(once, patch) == once


@given(lists, lists)
def test_set_element_order_keeps_order_of_other_items(old: list[str], order: list[str]) -> None:
    merged = names(spec(listed(old, "1"), {"$setElementOrder/containers": containers(*order)})["containers"])
    assert sorted(merged) == sorted(old)
    assert [name for name in merged if name in order] == [name for name in order if name in old]
    assert [name for name in merged if name not in order] == [name for name in old if name not in order]


maps = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "2"]) | st.none(), max_size=3)


@given(st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "2"]), max_size=3), maps)
def test_without_lists_it_is_a_merge_patch(labels: dict[str, str], patch: dict[str, str | None]) -> None:
    old, new = {"metadata": {"labels": labels}}, {"metadata": {"labels": patch}}
    assert strategic_merge_patch(old, new, core_v1.Pod) == merge_patch(old, new)


class Key(str):
    """The value of a merge key; counts how often such values are compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Key.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


@pytest.mark.parametrize("more", [{}, {"$patch": "delete"}])
def test_merging_lists_takes_time_in_proportion_to_their_length(more: dict[str, Any]) -> None:
    def items() -> list[dict[str, Any]]:
        return [{"name": Key(f"n{number}"), "value": "x"} for number in range(2000)]

    Key.compared = 0
    patch = [{**item, **more} for item in items()]
    spec({"containers": [{"name": "a", "env": items()}]}, {"containers": [{"name": "a", "env": patch}]})
    assert Key.compared < 40 * 2000

"""Changes between revisions. Cases: ``TestCalculateInPlaceUpdateSpec`` and the tests of resizing upstream."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.machinery.encoding.plain import equal
from podling_kruise.common_types import MetadataPart, Resources
from podling_kruise.inplace.revision_diff import Operation, operations, update_spec
from podling_kruise.inplace.update_state import UpdateSpec
from podling_kruise.names import ENV_FROM_METADATA, FEATURE_GATES, IN_PLACE_VERTICAL_SCALING

GATES = {**FEATURE_GATES, ENV_FROM_METADATA: True, IN_PLACE_VERTICAL_SCALING: True}
REFERENCE = {"name": "TEST_ENV", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['k']"}}}
SPEC = {"containers": [{"name": "c1", "image": "foo1"}]}


def data(metadata: dict[str, Any] | None = None, **container: Any) -> dict[str, Any]:
    """Return the data of a revision with one container."""
    template: dict[str, Any] = {"spec": {"containers": [{"name": "c1", "image": "foo1", **container}]}}
    if metadata is not None:
        template["metadata"] = metadata
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def resources(cpu: str = "1", memory: str = "1Gi", **more: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory}
    return {"requests": amounts, "limits": {**amounts, **more}}


def spec(**fields: Any) -> UpdateSpec:
    return UpdateSpec(revision="new", **fields)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (data(), data(image="foo2"), spec(container_images={"c1": "foo2"})),
        (
            data({"labels": {"k": "v"}}),
            data({"labels": {"k": "v", "k1": "v1"}}, image="foo2"),
            spec(container_images={"c1": "foo2"}, meta_data_patch={"metadata": {"labels": {"k1": "v1"}}}),
        ),
        (
            data({"labels": {"k": "v"}}, env=[REFERENCE]),
            data({"labels": {"k": "v2", "k1": "v1"}}, env=[REFERENCE], image="foo2"),
            spec(
                container_images={"c1": "foo2"},
                container_ref_metadata={"c1": MetadataPart(labels={"k": "v2"})},
                meta_data_patch={"metadata": {"labels": {"k1": "v1"}}},
                update_env_from_metadata=True,
            ),
        ),
        (
            data({"labels": {"k": "v", "k2": "v2"}, "finalizers": ["fz1", "fz2"]}),
            data({"labels": {"k": "v", "k1": "v1"}, "finalizers": ["fz2"]}, image="foo2"),
            spec(
                container_images={"c1": "foo2"},
                meta_data_patch={
                    "metadata": {
                        "labels": {"k1": "v1", "k2": None},
                        "$deleteFromPrimitiveList/finalizers": ["fz1"],
                        "$setElementOrder/finalizers": ["fz2"],
                    }
                },
            ),
        ),
        (
            data(),
            data({"annotations": {"a": "b"}}),
            spec(meta_data_patch={"metadata": {"annotations": {"a": "b"}}}),
        ),
        (data(), data(image="foo2", env=[{"name": "k", "value": "v"}]), None),
        (data(), data(command=["sleep"]), None),
        (data(env=[]), data(env=[{"name": "k"}]), None),
        (data(), {"spec": {"template": {"spec": {**SPEC, "hostNetwork": True}}}}, None),
        (
            data(),
            {"spec": {"template": {"spec": {"containers": [*SPEC["containers"], {"name": "c2"}]}}}},
            None,
        ),
    ],
)
def test_changes_that_can_be_made_in_place(old: Any, new: Any, expected: UpdateSpec | None) -> None:
    assert update_spec(old, new, "new", GATES) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"limits": {"cpu": "2"}}, {"limits": {"cpu": "200m"}}, Resources(limits={"cpu": "200m"})),
        (
            {"requests": {"memory": "1Mi"}},
            {"requests": {"memory": "1Gi"}},
            Resources(requests={"memory": "1Gi"}),
        ),
        ({"limits": {"gpu": "2"}}, {"limits": {"gpu": "1"}}, None),
        ({"limits": {"cpu": "2"}}, {"limits": {"cpu": "not-a-quantity"}}, None),
        ({"limits": {"memory": "1Mi"}}, {"limits": {"memory": "1Mi", "cpu": "10m"}}, None),
        ({"limits": {"memory": "1Mi", "cpu": "10m"}}, {"limits": {"memory": "1Mi"}}, None),
        (resources(), {**resources(), "requests": {"cpu": "2", "memory": "1Gi"}}, None),  # another QoS class
    ],
)
def test_resources_that_can_be_changed_in_place(before: Any, after: Any, expected: Resources | None) -> None:
    found = update_spec(data(resources=before), data(resources=after), "new", GATES)
    assert found == (spec(container_resources={"c1": expected}) if expected is not None else None)


def test_resources_are_not_resized_without_the_feature_gate() -> None:
    assert (
        update_spec(data(resources=resources("1")), data(resources=resources("2")), "new", FEATURE_GATES)
        is None
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 2}, [Operation("replace", "/a", 2)]),
        ({"a": 1}, {"b/c~": 1}, [Operation("remove", "/a"), Operation("add", "/b~1c~0", 1)]),
        ([1, 2], [1, 3], [Operation("replace", "/1", 3)]),
        ([1, 2], [2], [Operation("remove", "/0")]),
        ([1], [1, 1], [Operation("add", "/1", 1)]),
        ({"a": {"b": 1}}, {"a": [1]}, [Operation("replace", "/a", [1])]),
        ({"a": True}, {"a": 1}, [Operation("replace", "/a", 1)]),
    ],
)
def test_operations_of_a_patch(old: Any, new: Any, expected: list[Operation]) -> None:
    assert list(operations(old, new)) == expected


PLAIN = st.recursive(
    st.integers(0, 3) | st.text("ab/~", max_size=2),
    lambda inner: (
        st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3) | st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)


@given(PLAIN, PLAIN)
def test_equal_data_has_no_operations_and_other_data_has_some(old: Any, new: Any) -> None:
    assert not list(operations(old, copy.deepcopy(old)))
    ordered_differently = isinstance(old, list) and isinstance(new, list) and len(old) != len(new)
    if not ordered_differently:
        assert bool(list(operations(old, new))) is not equal(old, new)

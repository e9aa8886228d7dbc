"""Patches of some fields of an object: the other fields stay as they are, and need not be read again."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import ConfigMap, Container, Pod, PodSpec, PodStatus
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.registry.patching import apply_patch
from podling.client.base import PatchType
from podling.client.requests import Patch, WriteOptions
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.machinery.patches.patch import merge_patch, patched_object, strategic_merge_patch

OLD = Pod(
    metadata=ObjectMeta(name="a", namespace="default", labels={"app": "web", "tier": "front"}),
    spec=PodSpec(containers=(Container(name="c", image="image:1"), Container(name="d", image="image:2"))),
    status=PodStatus(phase="Pending", pod_ip="10.0.0.1"),
)
BODIES: tuple[dict[str, Any], ...] = (
    {},
    {"status": {"phase": "Running", "podIP": None}},
    {"status": None},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"app": None, "new": "1"}}},
    {"spec": {"containers": [{"name": "d", "image": "image:3", "resources": {"limits": {"cpu": "1000m"}}}]}},
    {"metadata": {"annotations": {"a": "b"}}, "spec": {"activeDeadlineSeconds": 5}},
    {"kind": None},
    {"status": {"unknown": 1}},
)


def patched(old: Any, body: Any, type_: PatchType = PatchType.MERGE) -> Any:
    return apply_patch(old, Patch(type_, body), type(old), WriteOptions(warnings=[]))


@pytest.mark.parametrize("body", BODIES)
def test_merge_patch_gives_what_reading_the_whole_object_gives(body: dict[str, Any]) -> None:
    assert patched(OLD, body) == patched_object(merge_patch(codec.to_plain(OLD), body), Pod)[0]


@pytest.mark.parametrize("body", BODIES)
def test_strategic_merge_patch_gives_what_reading_the_whole_object_gives(body: dict[str, Any]) -> None:
    whole = strategic_merge_patch(codec.to_plain(OLD), body, Pod)
    assert patched(OLD, body, PatchType.STRATEGIC) == patched_object(whole, Pod)[0]


@pytest.mark.parametrize("type_", [PatchType.MERGE, PatchType.STRATEGIC])
def test_patch_of_one_field_keeps_the_others(type_: PatchType) -> None:
    found = patched(OLD, {"status": {"phase": "Running"}}, type_)
    assert found.status == PodStatus(phase="Running", pod_ip="10.0.0.1")
    assert found.spec is OLD.spec
    assert found.metadata is OLD.metadata


def test_patch_of_fields_that_are_no_structs_is_applied() -> None:
    old = ConfigMap(metadata=ObjectMeta(name="a"), data={"a": "1", "b": "2"})
    assert patched(old, {"data": {"a": None, "c": "3"}}).data == {"b": "2", "c": "3"}


def test_unknown_field_in_a_patch_is_warned_of() -> None:
    options = WriteOptions(warnings=[])
    apply_patch(OLD, Patch(PatchType.MERGE, {"status": {"phrase": "Running"}}), Pod, options)
    assert options.warnings == ['unknown field "status.phrase"']


def test_error_shows_the_whole_object() -> None:
    with pytest.raises(ApiError) as caught:
        patched(OLD, {"status": {"phase": 1}})
    assert '\\"name\\":\\"a\\"' in str(caught.value)

"""Annotations that SidecarSets give to pods. Cases: ``TestPatchPodMetadata``."""

from __future__ import annotations

import pytest

from podling_kruise.sidecarset.metadata_patches import NotJson, patched_annotations
from podling_kruise.sidecarset.types import PatchPodMetadata

KEEP_AND_OVERWRITE = [("Retain", {"key1": "value1"}), ("Overwrite", {"key2": "value2"})]
ONE, TWO, THREE = '{"log-agent":1}', '{"envoy":2}', '{"probe":5}'


@pytest.mark.parametrize(
    ("before", "patches", "after"),
    [
        ({}, KEEP_AND_OVERWRITE, {"key1": "value1", "key2": "value2"}),
        ({"key1": "old", "key2": "old"}, KEEP_AND_OVERWRITE, {"key1": "old", "key2": "value2"}),
        (
            {"key1": ONE, "key2": ONE},
            [("MergePatchJson", {"key1": ONE, "key2": TWO, "key3": THREE})],
            {"key1": ONE, "key2": '{"envoy":2,"log-agent":1}', "key3": THREE},
        ),
        ({"key1": ONE}, [("MergePatchJson", {"key1": ONE})], {"key1": ONE}),
    ],
)
def test_annotations_after_patches(
    before: dict[str, str], patches: list[tuple[str, dict[str, str]]], after: dict[str, str]
) -> None:
    made = [PatchPodMetadata(annotations=values, patch_policy=policy) for policy, values in patches]
    assert patched_annotations(before, made) == after


def test_text_that_is_no_json_cannot_be_merged() -> None:
    patch = PatchPodMetadata(annotations={"key1": ONE}, patch_policy="MergePatchJson")
    with pytest.raises(NotJson, match="annotation key1 cannot be merged"):
        patched_annotations({"key1": "{"}, [patch])

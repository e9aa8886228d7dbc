"""Records of updates in the annotations of pods."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Pod
from podling.api.meta_v1 import ObjectMeta
from podling_kruise.inplace.update_state import (
    UnreadableRecord,
    UpdateSpec,
    UpdateState,
    annotated,
    pending_spec,
    spec_text,
    state_text,
    update_state,
)
from podling_kruise.names import UPDATE_GRACE, UPDATE_STATE

POD = Pod(metadata=ObjectMeta(name="web"))


def test_record_has_the_fields_that_go_always_writes() -> None:
    state = UpdateState(revision="new", update_timestamp="2026-01-01T00:00:00Z")
    text = state_text(state)
    assert text == (
        '{"revision":"new","updateTimestamp":"2026-01-01T00:00:00Z","lastContainerStatuses":null}'
    )
    assert update_state(annotated(POD, {UPDATE_STATE: text})) == state


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"revision": 1}', "null"])
def test_record_that_others_have_damaged_is_reported(text: str) -> None:
    with pytest.raises(UnreadableRecord, match="pod web: "):
        update_state(annotated(POD, {UPDATE_STATE: text}))


def test_pending_update_survives_its_annotation() -> None:
    spec = UpdateSpec(
        revision="new",
        container_images={"c1": "x"},
        meta_data_patch={"metadata": {"labels": {"a": None}}},
        grace_seconds=5,
    )
    assert pending_spec(annotated(POD, {UPDATE_GRACE: spec_text(spec)})) == spec

"""Lifecycle states, hooks and the gate.

Cases: ``TestUpdate`` of ``cloneset_update_test.go``, and those of ``pkg/util/lifecycle``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod, PodCondition, PodStatus
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.conditions import find
from podling_kruise.common_types import Lifecycle, LifecycleHook
from podling_kruise.lifecycle import (
    PREPARING_DELETE,
    PREPARING_UPDATE,
    UPDATED,
    has_whole_hook,
    is_hooked,
    is_of_revision,
    marks_not_ready,
    refreshed_state,
    state_of,
    state_patch,
    with_readiness_of,
    with_revision,
    with_state,
)
from podling_kruise.names import (
    FEATURE_GATES,
    KRUISE_POD_READY,
    LIFECYCLE_STATE,
    LIFECYCLE_TIMESTAMP,
    REVISION_HASH,
    SHORT_HASH,
    TEMPLATE_HASH,
)
from podling_kruise.pod_readiness import entries_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOOK = LifecycleHook(labels_handler={"a": "1"}, finalizers_handler=("f",))


def pod(gated: bool = True, **metadata: Any) -> Pod:
    gates = [{"conditionType": KRUISE_POD_READY}] if gated else []
    return msgspec.convert({"metadata": metadata, "spec": {"containers": [], "readinessGates": gates}}, Pod)


@pytest.mark.parametrize(
    ("metadata", "hooked", "whole"),
    [
        ({}, False, False),
        ({"labels": {"a": "1"}}, True, False),
        ({"labels": {"a": "2"}, "finalizers": ["f"]}, True, False),
        ({"labels": {"a": "1"}, "finalizers": ["f", "g"]}, True, True),
    ],
)
def test_one_part_of_a_hook_holds_a_pod(metadata: dict[str, Any], hooked: bool, whole: bool) -> None:
    found = pod(**metadata)
    assert (is_hooked(HOOK, found), has_whole_hook(HOOK, found)) == (hooked, whole)
    assert not is_hooked(None, found)
    assert not has_whole_hook(None, found)


@pytest.mark.parametrize("metadata", [{}, {"labels": {"a": "1"}, "finalizers": ["f"]}])
def test_empty_hook_holds_no_pod_and_every_pod_has_it_whole(metadata: dict[str, Any]) -> None:
    found = pod(**metadata)
    assert (is_hooked(LifecycleHook(), found), has_whole_hook(LifecycleHook(), found)) == (False, True)


@pytest.mark.parametrize(
    ("before_end", "in_place", "marks"),
    [
        (None, None, False),
        (True, None, True),
        (None, True, True),
        (False, False, False),
        (True, True, True),
        (False, True, True),
    ],
)
def test_lifecycle_marks_pods_with_either_hook(
    before_end: bool | None, in_place: bool | None, marks: bool
) -> None:
    hooks = [
        None if each is None else LifecycleHook(mark_pod_not_ready=each) for each in (before_end, in_place)
    ]
    assert marks_not_ready(Lifecycle(pre_delete=hooks[0], in_place_update=hooks[1])) is marks
    assert not marks_not_ready(None)


@pytest.mark.parametrize(
    ("state", "entries"),
    [
        ("PreparingDelete", [("Lifecycle", "preDeleteHook"), ("Lifecycle", "preUpdateHook")]),
        ("PreparingUpdate", [("Lifecycle", "preUpdateHook")]),
        ("Updated", []),
        ("Updating", [("Lifecycle", "preUpdateHook")]),
        ("Normal", [("Lifecycle", "preUpdateHook")]),
    ],
)
def test_states_that_close_and_open_the_gate(state: str, entries: list[tuple[str, str]]) -> None:
    held = with_readiness_of(pod(), PREPARING_UPDATE, NOW)
    assert entries_of(with_readiness_of(held, state, NOW)) == entries


@pytest.mark.parametrize(
    "hook", [None, LifecycleHook(labels_handler={"example.com/held": "true"}, finalizers_handler=("f",))]
)
def test_new_state_comes_with_its_time_and_the_labels_of_a_hook(hook: LifecycleHook | None) -> None:
    found = state_patch(UPDATED, NOW, hook)["metadata"]
    own = {LIFECYCLE_STATE: "Updated"}
    assert found["labels"] == (own if hook is None else {**own, "example.com/held": "true"})
    assert found["annotations"] == {LIFECYCLE_TIMESTAMP: "2026-01-01T00:00:00Z"}
    moved = with_state(pod(labels={LIFECYCLE_STATE: "Normal", "app": "web"}), UPDATED, NOW)
    assert moved.metadata.labels == {"app": "web", **own}
    assert moved.metadata.annotations == found["annotations"]
    assert [state_of(each) for each in (moved, pod(), pod(labels={"app": "web"}))] == ["Updated", "", ""]


@pytest.mark.parametrize(("own", "same"), [("web-a", True), ("a", True), ("other-a", True), ("web-b", False)])
def test_revisions_are_compared_by_their_hash(own: str, same: bool) -> None:
    assert is_of_revision(pod(labels={REVISION_HASH: own}), "web-a") is same


@pytest.mark.parametrize(("short", "label"), [(False, "web-a"), (True, "a")])
def test_revision_is_written_to_labels(short: bool, label: str) -> None:
    labels = with_revision(pod(), "web-a", {**FEATURE_GATES, SHORT_HASH: short}).metadata.labels
    assert labels == {REVISION_HASH: label, TEMPLATE_HASH: "a"}


def gate(found: Pod) -> PodCondition | None:
    return find(found.status.conditions, KRUISE_POD_READY)


def test_gate_opens_when_its_last_writer_has_gone() -> None:
    closed = with_readiness_of(pod(), PREPARING_UPDATE, NOW)
    both = with_readiness_of(closed, PREPARING_DELETE, NOW)
    condition = gate(both)
    assert condition is not None
    assert condition.message == (
        '[{"userAgent":"Lifecycle","key":"preDeleteHook"},{"userAgent":"Lifecycle","key":"preUpdateHook"}]'
    )
    left = gate(with_readiness_of(both, UPDATED, NOW))
    assert left is not None
    assert left.status == "False"
    opened = gate(with_readiness_of(closed, UPDATED, NOW))
    assert opened is not None
    assert (opened.status, opened.message) == ("True", "[]")


def test_pod_without_the_gate_stays_as_it_is() -> None:
    found = pod(gated=False)
    assert with_readiness_of(found, PREPARING_UPDATE, NOW) is found


HOLD = LifecycleHook(labels_handler={"hold": "1"})
HELD = Lifecycle(in_place_update=HOLD, pre_normal=HOLD)


def in_state(state: str, *, scheduled: bool = True, **labels: str) -> Pod:
    conditions = (PodCondition(type="PodScheduled", status="True"),) if scheduled else ()
    made = ObjectMeta(labels={LIFECYCLE_STATE: state, **labels})
    return Pod(metadata=made, status=PodStatus(phase="Running", conditions=conditions))


@pytest.mark.parametrize(
    ("found", "lifecycle", "of_update", "is_done", "state"),
    [
        (in_state("PreparingNormal"), None, True, True, "Normal"),
        (in_state("PreparingNormal", scheduled=False), None, True, True, ""),
        (in_state("PreparingNormal"), HELD, True, True, ""),
        (in_state("PreparingNormal", hold="1"), HELD, True, True, "Normal"),
        (in_state("PreparingUpdate"), None, True, True, "Normal"),
        (in_state("PreparingUpdate"), HELD, True, True, "Updated"),
        (in_state("PreparingUpdate"), None, False, True, ""),
        (in_state("Updating"), None, True, False, ""),
        (in_state("Updating"), None, True, True, "Normal"),
        (in_state("Updating"), HELD, True, True, "Updated"),
        (in_state("Updated"), HELD, True, True, ""),
        (in_state("Updated", hold="1"), HELD, True, True, "Normal"),
        (in_state("Updated"), None, True, True, "Normal"),
        (in_state("Normal"), None, True, True, ""),
        (in_state("PreparingDelete"), None, True, True, ""),
    ],
)
def test_state_that_follows(
    found: Pod, lifecycle: Lifecycle | None, of_update: bool, is_done: bool, state: str
) -> None:
    assert refreshed_state(found, lifecycle, of_update, is_done=is_done) == state

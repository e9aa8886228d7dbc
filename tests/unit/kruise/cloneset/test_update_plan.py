"""The pods to update next. Cases: ``TestRefreshPodState`` and the limits of ``cloneset_update_test.go``."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from podling.api.core_v1 import Pod, PodCondition, PodStatus
from podling.api.meta_v1 import ObjectMeta
from podling_kruise.cloneset.scale_plan import Differences
from podling_kruise.cloneset.types import CloneSetSpec
from podling_kruise.cloneset.update_plan import is_at_rest, limited, refreshed_state
from podling_kruise.common_types import Lifecycle, LifecycleHook
from podling_kruise.names import LIFECYCLE_STATE, REVISION_HASH, TEMPLATE_HASH, UPDATE_GRACE

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOOK = LifecycleHook(labels_handler={"hold": "1"})
HELD = Lifecycle(in_place_update=HOOK, pre_normal=HOOK)


def pod(state: str = "", *, ready: bool = True, scheduled: bool = True, **labels: str) -> Pod:
    conditions = [PodCondition(type="Ready", status="True")] if ready else []
    if scheduled:
        conditions.append(PodCondition(type="PodScheduled", status="True"))
    own = {LIFECYCLE_STATE: state, REVISION_HASH: "web-old", **labels}
    status = PodStatus(phase="Running", conditions=tuple(conditions))
    return Pod(metadata=ObjectMeta(labels=own), status=status)


@pytest.mark.parametrize(
    ("found", "lifecycle", "of_update", "is_done", "state"),
    [
        (pod("PreparingNormal"), None, True, True, "Normal"),
        (pod("PreparingNormal", scheduled=False), None, True, True, ""),
        (pod("PreparingNormal"), HELD, True, True, ""),
        (pod("PreparingNormal", hold="1"), HELD, True, True, "Normal"),
        (pod("PreparingUpdate"), None, True, True, "Normal"),
        (pod("PreparingUpdate"), HELD, True, True, "Updated"),
        (pod("PreparingUpdate"), None, False, True, ""),
        (pod("Updating"), None, True, False, ""),
        (pod("Updating"), None, True, True, "Normal"),
        (pod("Updating"), HELD, True, True, "Updated"),
        (pod("Updated"), HELD, True, True, ""),
        (pod("Updated", hold="1"), HELD, True, True, "Normal"),
        (pod("Updated"), None, True, True, "Normal"),
        (pod("Normal"), None, True, True, ""),
        (pod("PreparingDelete"), None, True, True, ""),
    ],
)
def test_state_that_follows(
    found: Pod, lifecycle: Lifecycle | None, of_update: bool, is_done: bool, state: str
) -> None:
    assert refreshed_state(found, lifecycle, of_update, is_done=is_done) == state


@pytest.mark.parametrize(
    ("bad", "most", "number", "chosen"),
    [(0, 1, 3, 1), (0, 3, 3, 3), (0, 5, 2, 2), (1, 1, 3, 1), (2, 2, 4, 2), (0, 0, 3, 0)],
)
def test_no_more_pods_become_unavailable_than_allowed(bad: int, most: int, number: int, chosen: int) -> None:
    pods = [pod("Normal", ready=False) for _ in range(bad)] + [pod("Normal") for _ in range(4 - bad)]
    found = Differences(update_number=number, update_max_unavailable=most)
    assert len(limited(CloneSetSpec(replicas=4), found, pods, pods, "web-new", NOW)) == chosen


def test_pod_in_the_middle_of_something_is_not_at_rest() -> None:
    rest, updating = pod("Normal"), pod("Updating")
    assert not is_at_rest(rest)
    for each in (rest, updating):
        each.metadata.labels[TEMPLATE_HASH] = "old"
    assert is_at_rest(rest)
    assert not is_at_rest(updating)
    rest.metadata.annotations[UPDATE_GRACE] = "{}"
    assert not is_at_rest(rest)

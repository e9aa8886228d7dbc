"""The pods to update next. Cases: ``TestCalculateUpdateCount`` and ``TestSortUpdateIndexes``."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cmp_to_key
from typing import Any

import pytest

from podling.api.core_v1 import Pod, PodCondition, PodStatus
from podling.api.meta_v1 import ObjectMeta
from podling_kruise.cloneset.scale_plan import Differences, differences
from podling_kruise.cloneset.types import CloneSetSpec, RollingUpdate, UpdateStrategy
from podling_kruise.cloneset.update_plan import activity, is_at_rest, limited, update_order
from podling_kruise.names import (
    FEATURE_GATES,
    LIFECYCLE_STATE,
    PARTITION_ROLLBACK,
    REVISION_HASH,
    TEMPLATE_HASH,
    UPDATE_GRACE,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pod(state: str = "", *, ready: bool = True) -> Pod:
    conditions = (PodCondition(type="Ready", status="True"),) if ready else ()
    own = {LIFECYCLE_STATE: state, REVISION_HASH: "web-old"}
    return Pod(metadata=ObjectMeta(labels=own), status=PodStatus(phase="Running", conditions=conditions))


@pytest.mark.parametrize(
    ("bad", "most", "number", "chosen"),
    [(0, 1, 3, 1), (0, 3, 3, 3), (0, 5, 2, 2), (1, 1, 3, 1), (2, 2, 4, 2), (0, 0, 3, 0)],
)
def test_no_more_pods_become_unavailable_than_allowed(bad: int, most: int, number: int, chosen: int) -> None:
    pods = [pod("Normal", ready=False) for _ in range(bad)] + [pod("Normal") for _ in range(4 - bad)]
    found = Differences(update_number=number, update_max_unavailable=most)
    assert len(limited(CloneSetSpec(replicas=4), found, pods, pods, "web-new", NOW)) == chosen


@pytest.mark.parametrize(
    ("replicas", "rolling", "words", "chosen"),
    [
        (3, {}, "o+ o+ o+", 1),
        (3, {}, "o+ o- o+", 0),
        (3, {}, "o- o+ o+", 1),
        (10, {}, "o- o+ o+ o+ o+ o+ o+ o+ o- n+", 1),
        (3, {"partition": 2, "max_unavailable": 3}, "o- o+ n+", 0),
        (8, {"partition": 2, "max_unavailable": 3}, "o+ o+ o+ o+ o+ o+ o+ n+", 3),
        (5, {"partition": 0, "max_unavailable": 2}, "o- o- o- o- o-", 2),
        (5, {"partition": 0, "max_unavailable": 2}, "o- o- o- n- n-", 0),
        (5, {"partition": 0, "max_unavailable": 2}, "o- o- o- n+ n-", 1),
        (5, {"partition": 0, "max_unavailable": 2, "max_surge": 1}, "o- o- o- o- o- n-", 2),
        (5, {"partition": 0, "max_unavailable": 2, "max_surge": 1}, "o- o- o- o- n+ n-", 2),
        (5, {"partition": 0, "max_unavailable": 2, "max_surge": 1}, "o- o- o- n- n+ n-", 1),
        (5, {"partition": 0, "max_unavailable": 2, "max_surge": 1}, "o- o- o- n- n- n-", 0),
        (8, {"partition": 7, "max_unavailable": 3}, "o+ o+ o+ n- n- n- n- n-", 3),
        (4, {"max_unavailable": 2, "max_surge": 1}, "o+ o+ n+ n+ n+", 1),
        (4, {"max_unavailable": 2, "max_surge": 1}, "o+ o+ o+ o+ n+ n+", 2),
    ],
)
def test_number_of_pods_that_are_updated_now(
    replicas: int, rolling: dict[str, Any], words: str, chosen: int
) -> None:
    """``words``: the old or new revision of each pod, and whether it is ready (``+``)."""
    strategy = UpdateStrategy(rolling_update=RollingUpdate(**rolling))
    spec = CloneSetSpec(replicas=replicas, update_strategy=strategy)
    pods = [revised(word[0] == "n", ready=word[1] == "+") for word in words.split()]
    gates = {**FEATURE_GATES, PARTITION_ROLLBACK: True}
    found = differences(spec, pods, ("web-old", "web-new"), gates, NOW)
    wrong, target = ("o", "web-new") if found.update_number > 0 else ("n", "web-old")
    waiting = [pod for pod, word in zip(pods, words.split(), strict=True) if word[0] == wrong]
    assert len(limited(spec, found, waiting, pods, target, NOW)) == chosen


def revised(is_new: bool, *, ready: bool) -> Pod:
    made = pod("Normal", ready=ready)
    made.metadata.labels[REVISION_HASH] = "web-new" if is_new else "web-old"
    return made


def test_pending_pods_and_those_that_are_not_ready_come_first() -> None:
    ready = (PodCondition(type="Ready", status="True"),)
    one, two, three, four = (
        Pod(status=PodStatus(phase=phase, conditions=conditions))
        for phase, conditions in (("Pending", ready), ("Pending", ()), ("Running", ready), ("Running", ()))
    )
    assert sorted([one, two, three, four], key=cmp_to_key(activity)) == [two, one, four, three]


def test_pods_that_prepare_already_are_updated_first() -> None:
    waiting = [pod("Normal"), pod("PreparingUpdate"), pod("Normal")]
    assert update_order(RollingUpdate(), waiting, waiting) == [waiting[1], waiting[0], waiting[2]]


def test_pod_in_the_middle_of_something_is_not_at_rest() -> None:
    rest, updating = pod("Normal"), pod("Updating")
    assert not is_at_rest(rest)
    for each in (rest, updating):
        each.metadata.labels[TEMPLATE_HASH] = "old"
    assert is_at_rest(rest)
    assert not is_at_rest(updating)
    rest.metadata.annotations[UPDATE_GRACE] = "{}"
    assert not is_at_rest(rest)

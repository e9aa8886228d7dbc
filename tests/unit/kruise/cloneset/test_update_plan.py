"""The pods to update next. Cases: the limits of ``cloneset_update_test.go``."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from podling.api.core_v1 import Pod, PodCondition, PodStatus
from podling.api.meta_v1 import ObjectMeta
from podling_kruise.cloneset.scale_plan import Differences
from podling_kruise.cloneset.types import CloneSetSpec
from podling_kruise.cloneset.update_plan import is_at_rest, limited
from podling_kruise.names import LIFECYCLE_STATE, REVISION_HASH, TEMPLATE_HASH, UPDATE_GRACE

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


def test_pod_in_the_middle_of_something_is_not_at_rest() -> None:
    rest, updating = pod("Normal"), pod("Updating")
    assert not is_at_rest(rest)
    for each in (rest, updating):
        each.metadata.labels[TEMPLATE_HASH] = "old"
    assert is_at_rest(rest)
    assert not is_at_rest(updating)
    rest.metadata.annotations[UPDATE_GRACE] = "{}"
    assert not is_at_rest(rest)

"""The status of Advanced DaemonSets."""

from __future__ import annotations

from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.daemonset_rules import Counts
from podling_kruise.daemonset.status_rules import status_of
from podling_kruise.daemonset.types import DaemonSet


def test_counts_become_the_status() -> None:
    counts = Counts(desired=5, current=4, misscheduled=1, ready=3, updated=2, available=2)
    owner = DaemonSet(metadata=ObjectMeta(name="web", generation=7))
    found = status_of(owner, counts, "hash", 0)
    assert (found.desired_number_scheduled, found.current_number_scheduled) == (5, 4)
    assert (found.number_misscheduled, found.number_ready, found.updated_number_scheduled) == (1, 3, 2)
    assert (found.number_available, found.number_unavailable) == (2, 3)
    assert (found.update_revision, found.observed_generation, found.collision_count) == ("hash", 7, None)
    assert status_of(owner, Counts(desired=1, available=2), "", 1).number_unavailable == 0

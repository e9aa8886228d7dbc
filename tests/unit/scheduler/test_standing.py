"""Counts of the queue and the cache: each pod in one place, and once under each plugin that refused it."""

from __future__ import annotations

from podling.api.core_v1 import PodSchedulingGate
from podling.scheduler.metrics import NOTHING_CACHED, NOTHING_PENDING, Standing
from podling.scheduler.queue import SchedulingQueue
from podling.scheduler.standing import standing_of
from tests.unit.scheduler.scheduling import cache_of, facts, node, pod

PROFILE = "default-scheduler"


def open_queue() -> SchedulingQueue:
    return SchedulingQueue(lambda one: bool(one.spec.scheduling_gates))


def test_nothing_is_counted_as_before_the_first_pod() -> None:
    assert standing_of(open_queue(), cache_of()) == Standing(
        dict(NOTHING_PENDING), {}, {}, dict(NOTHING_CACHED)
    )


def test_pods_are_counted_by_place_and_by_what_turned_them_away() -> None:
    queue = open_queue()
    queue.add(facts("refused", scheduler_name=PROFILE), 0.0)
    refused = queue.pop(0.0)
    assert refused is not None
    queue.reject(refused, {"NodeResourcesFit", "TaintToleration"}, 0.0)
    queue.add(facts("gated", scheduler_name=PROFILE, scheduling_gates=(PodSchedulingGate(name="g"),)), 0.0)
    queue.add(facts("next", scheduler_name=PROFILE), 0.0)
    found = standing_of(queue, cache_of(node("n"), pods={"n": [pod("placed")]}))
    assert found.pending == {"active": 1, "backoff": 0, "unschedulable": 1, "gated": 1}
    assert found.rejected == {
        ("NodeResourcesFit", PROFILE): 1,
        ("TaintToleration", PROFILE): 1,
        ("SchedulingGates", PROFILE): 1,
    }
    assert found.incoming["active", "UnscheduledPodAdd"] == 2
    assert found.cached == {"nodes": 1, "pods": 1, "assumed_pods": 0}

"""Counts of the queue and the cache: each pod in one place, and once under each plugin that refused it."""

from __future__ import annotations

from podling.scheduler.metrics import NOTHING_CACHED, NOTHING_PENDING, Standing
from podling.scheduler.queue import SchedulingQueue
from podling.scheduler.standing import standing_of
from tests.unit.scheduler.scheduling import cache_of, facts, node, pod

PROFILE = "default-scheduler"


def queue_with(gates: dict[str, str]) -> SchedulingQueue:
    """Return a queue with these pods held back, each by the plugin of that name."""
    return SchedulingQueue(lambda one: gates.get(one.name, ""))


def test_nothing_is_counted_as_before_the_first_pod() -> None:
    assert standing_of(queue_with({}), cache_of()) == Standing(
        dict(NOTHING_PENDING), {}, {}, dict(NOTHING_CACHED)
    )


def test_pods_are_counted_by_place_and_by_what_turned_them_away() -> None:
    gates = {"gated": "SchedulingGates"}
    queue = queue_with(gates)
    queue.add(facts("refused", scheduler_name=PROFILE), 0.0)
    refused = queue.pop(0.0)
    assert refused is not None
    queue.reject(refused, {"NodeResourcesFit", "TaintToleration"}, 0.0)
    queue.add(
        facts(
            "gated",
            scheduler_name=PROFILE,
        ),
        0.0,
    )
    queue.add(facts("gated-later", scheduler_name=PROFILE), 0.0)
    gated = queue.pop(0.0)
    assert gated is not None
    gates["gated-later"] = "Guard"
    queue.reject(gated, {"NodeResourcesFit"}, 0.0)
    queue.add(facts("next", scheduler_name=PROFILE), 0.0)
    found = standing_of(queue, cache_of(node("n"), pods={"n": [pod("placed")]}))
    assert found.pending == {"active": 1, "backoff": 0, "unschedulable": 1, "gated": 2}
    assert found.rejected == {
        ("NodeResourcesFit", PROFILE): 2,
        ("TaintToleration", PROFILE): 1,
        ("SchedulingGates", PROFILE): 1,
        ("Guard", PROFILE): 1,
    }
    assert found.incoming["active", "UnschedulablePodAdd"] == 3
    assert found.cached == {"nodes": 1, "pods": 1, "assumed_pods": 0}

"""The node that preemption chooses: the cases of upstream's ``TestSelectBestCandidate`` and ``TestPreempt``.

A node has 500 thousandths of a CPU. Pods are small, medium, large or huge.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podling.api.core_v1 import Pod, PodStatus
from podling.scheduler.cache import Cache
from podling.scheduler.decide import Diagnosis, decide
from podling.scheduler.podfacts import PodFacts, facts_of
from podling.scheduler.preemption import Attempt, Refusal, Victims, preempt
from tests.unit.scheduler.plugins.spreading import spread
from tests.unit.scheduler.scheduling import DEFAULT_PROFILE, cache_of, node, pod

NEGATIVE, LOW, MIDDLE, HIGH, HIGHEST = -100, 0, 100, 1000, 10000
SMALL, MEDIUM, LARGE, HUGE = "100m", "200m", "300m", "500m"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

There = dict[str, list[tuple[int, str, int]]]
"""By node the priority and size of its pods, and how many minutes after noon each started."""


def one(name: str, priority: int, cpu: str, minutes: int = 0, **more: Any) -> Pod:
    status = PodStatus(start_time=NOON + timedelta(minutes=minutes))
    return pod(name, cpu=cpu, priority=priority, status=status, **more)


def cluster(there: There) -> Cache:
    pods = {
        name: [one(f"{name}.{number}", *each) for number, each in enumerate(found)]
        for name, found in there.items()
    }
    return cache_of(*(node(name, cpu="500m") for name in there), pods=pods)


def chosen(wanted: PodFacts, cache: Cache) -> tuple[str, list[str]]:
    """Return the node and its victims by name; empty without any."""
    diagnosis = decide(wanted, cache, DEFAULT_PROFILE, (), lambda rows: rows[0])
    assert isinstance(diagnosis, Diagnosis)
    found: Victims | Refusal = preempt(Attempt(wanted, cache, DEFAULT_PROFILE, (), ()), diagnosis)
    if isinstance(found, Refusal):
        return "", []
    return found.node, sorted(each.name for each in found.pods)


@pytest.mark.parametrize(
    ("priority", "cpu", "there", "expected"),
    [
        (HIGH, LARGE, {"n1": [(MIDDLE, LARGE, 0)], "n2": [(MIDDLE, LARGE, 0)]}, {"n1", "n2"}),
        (
            HIGH,
            HUGE,
            {
                "n1": [(MIDDLE, MEDIUM, 0), (MIDDLE, LARGE, 0)],
                "n2": [(MIDDLE, MEDIUM, 0), (LOW, MEDIUM, 0)],
                "n3": [(LOW, MEDIUM, 0), (LOW, MEDIUM, 0)],
            },
            {"n3"},
        ),
        (
            HIGH,
            HUGE,
            {
                "n1": [(MIDDLE, MEDIUM, 0), (MIDDLE, LARGE, 0)],
                "n2": [(MIDDLE, LARGE, 0), (LOW, MEDIUM, 0)],
                "n3": [(MIDDLE, MEDIUM, 0), (MIDDLE, MEDIUM, 0)],
            },
            {"n2"},
        ),
        (
            HIGH,
            HUGE,
            {
                "n1": [(MIDDLE, SMALL, 0), (NEGATIVE, SMALL, 0), (MIDDLE, SMALL, 0), (NEGATIVE, SMALL, 0)],
                "n2": [(MIDDLE, LARGE, 0), (NEGATIVE, MEDIUM, 0)],
                "n3": [(MIDDLE, MEDIUM, 0), (NEGATIVE, SMALL, 0), (LOW, SMALL, 0)],
            },
            {"n2"},
        ),
        (
            HIGH,
            HUGE,
            {
                "n1": [(MIDDLE, SMALL, 0), (NEGATIVE, SMALL, 0), (NEGATIVE, SMALL, 0)],
                "n2": [(MIDDLE, LARGE, 0), (NEGATIVE, MEDIUM, 0)],
                "n3": [(MIDDLE, MEDIUM, 0), (NEGATIVE, SMALL, 0), (LOW, SMALL, 0)],
            },
            {"n2"},
        ),
        (
            HIGHEST,
            HUGE,
            {
                "n1": [(MIDDLE, SMALL, 0), (LOW, SMALL, 0), (LOW, SMALL, 0)],
                "n2": [(HIGH, LARGE, 0)],
                "n3": [(MIDDLE, MEDIUM, 0), (LOW, SMALL, 0), (LOW, SMALL, 0), (LOW, MEDIUM, 0)],
                "n4": [(MIDDLE, MEDIUM, 0), (MIDDLE, SMALL, 0), (MIDDLE, SMALL, 0), (NEGATIVE, SMALL, 0)],
            },
            {"n1"},
        ),
        (
            HIGH,
            HUGE,
            {
                "n1": [(MIDDLE, MEDIUM, 2), (MIDDLE, MEDIUM, 2)],
                "n2": [(MIDDLE, MEDIUM, 3), (MIDDLE, MEDIUM, 3)],
                "n3": [(MIDDLE, MEDIUM, 1), (MIDDLE, MEDIUM, 1)],
            },
            {"n2"},
        ),
        (
            HIGH,
            HUGE,
            {
                "n1": [(MIDDLE, MEDIUM, 4), (MIDDLE, MEDIUM, 2)],
                "n2": [(MIDDLE, MEDIUM, 5), (MIDDLE, MEDIUM, 1)],
                "n3": [(MIDDLE, MEDIUM, 3), (MIDDLE, MEDIUM, 6)],
            },
            {"n3"},
        ),
        (
            HIGH,
            HUGE,
            {
                "n1": [(LOW, MEDIUM, 4), (MIDDLE, MEDIUM, 2)],
                "n2": [(MIDDLE, MEDIUM, 6), (LOW, MEDIUM, 1)],
                "n3": [(LOW, MEDIUM, 3), (MIDDLE, MEDIUM, 5)],
            },
            {"n2"},
        ),
    ],
    ids=[
        "equal nodes",
        "lowest highest priority",
        "smallest sum of priorities",
        "fewest pods",
        "sum of shifted priorities",
        "one rule after another",
        "latest start",
        "latest of the earliest starts",
        "starts of the highest priority",
    ],
)
def test_best_candidate_is_chosen(priority: int, cpu: str, there: There, expected: set[str]) -> None:
    assert chosen(facts_of(pod("p", cpu=cpu, priority=priority)), cluster(there))[0] in expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("PreemptLowerPriority", ("n1", ["n1.0", "n1.1"])),
        ("Never", ("", [])),
        (None, ("n1", ["n1.0", "n1.1"])),
    ],
)
def test_policy_of_the_pod_allows_preemption(policy: str | None, expected: tuple[str, list[str]]) -> None:
    there: There = {
        "n1": [(LOW, SMALL, 0), (LOW, SMALL, 0)],
        "n2": [(HIGH, LARGE, 0)],
        "n3": [(MIDDLE, MEDIUM, 0)],
    }
    wanted = facts_of(pod("p", cpu=HUGE, priority=HIGH, preemption_policy=policy))
    assert chosen(wanted, cluster(there)) == expected


def test_pod_that_spreads_preempts_where_the_skew_allows_it() -> None:
    foo = {"foo": ""}
    there = {"a": [HIGH, HIGH], "b": [LOW], "x": [HIGH, HIGH]}
    zones = {"a": "zone1", "b": "zone1", "x": "zone2"}
    pods = {
        name: [one(f"{name}.{number}", priority, "1m", labels=foo) for number, priority in enumerate(found)]
        for name, found in there.items()
    }
    nodes = (node(name, labels={"zone": zones[name], "hostname": name}) for name in there)
    constraints = (spread(1, "zone"), spread(1, "hostname"))
    wanted = pod("p", labels=foo, priority=HIGH, topology_spread_constraints=constraints)
    assert chosen(facts_of(wanted), cache_of(*nodes, pods=pods)) == ("b", ["b.0"])

"""Figures of a run, computed from its changes."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from podling.api.meta_v1 import ObjectMeta
from podling.api.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetStatus
from podling.machinery.scheme import resource_of
from podling.sim.changes import Change
from podling.sim.statistics import Statistics, percentiles
from tests.support.checked import BEGIN, node, pod


def note(statistics: Statistics, seconds: float, old: object, new: object) -> None:
    last = new if new is not None else old
    metadata = getattr(last, "metadata")  # noqa: B009
    at = BEGIN + timedelta(seconds=seconds)
    resource = resource_of(type(last))
    namespace = metadata.namespace or ""
    statistics.change(Change(at, 1, resource, namespace, metadata.name, old, new, last))


def test_life_of_a_pod_is_counted() -> None:
    statistics = Statistics(BEGIN)
    note(statistics, 0, None, node(cpu="4"))
    stages = [
        None,
        pod(phase="Pending"),
        pod(phase="Pending", node="n"),
        pod(node="n"),
        pod(node="n", restarts=2),
    ]
    for second, (old, new) in enumerate(pairwise(stages)):
        note(statistics, second, old, new)
    sample = statistics.figures(BEGIN + timedelta(seconds=10))
    assert (sample.at, sample.phases, sample.ready_pods) == (10, {"Running": 1}, 1)
    assert (sample.cpu_requested, sample.cpu_allocatable, sample.restarts) == (0.5, 4.0, 2)
    assert statistics.scheduling_seconds() == [1]
    assert statistics.start_seconds() == [2]
    note(statistics, 20, stages[-1], None)
    assert statistics.figures(BEGIN).phases == {}
    assert (statistics.created["Pod"], statistics.deleted["Pod"]) == (1, 1)


def test_disruption_is_counted_once() -> None:
    statistics = Statistics(BEGIN)
    disrupted = pod(conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "Preemption"}])
    note(statistics, 0, None, pod())
    note(statistics, 1, pod(), disrupted)
    note(statistics, 2, disrupted, disrupted)
    assert dict(statistics.disruptions) == {"Preemption": 1}


@pytest.mark.parametrize(
    ("expected", "healthy", "wanted", "headroom"),
    [(5, 5, 3, {"default/pdb": 2}), (5, 2, 3, {"default/pdb": -1}), (0, 0, 3, {})],
)
def test_headroom_is_what_a_budget_can_lose(
    expected: int, healthy: int, wanted: int, headroom: dict[str, int]
) -> None:
    statistics = Statistics(BEGIN)
    status = PodDisruptionBudgetStatus(
        expected_pods=expected, current_healthy=healthy, desired_healthy=wanted, disruptions_allowed=0
    )
    budget = PodDisruptionBudget(metadata=ObjectMeta(name="pdb", namespace="default"), status=status)
    note(statistics, 0, None, budget)
    assert statistics.figures(BEGIN).headroom == headroom
    note(statistics, 1, budget, None)
    assert statistics.figures(BEGIN).headroom == {}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([], {}),
        ([3.0], {50: 3, 90: 3, 99: 3}),
        ([float(each) for each in range(1, 101)], {50: 50, 90: 90, 99: 99}),
    ],
)
def test_percentiles_are_nearest_ranks(values: list[float], found: dict[int, float]) -> None:
    assert percentiles(values) == found

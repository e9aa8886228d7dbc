"""Smaller scenarios that fail alike."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.sim.scenario import Scenario
from podling.sim.schedule import verb_of
from podling.sim.shrinking import ended_at, fails_like, failure_of, objects_of, shrink, without_parts
from tests.support.scenarios import played, scenario, web

CONFIG_MAPS = ", ".join(
    f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{number}}}}}" for number in range(7)
)
LARGE = f"""
description: large
until: 10m
nodes: [{{name: a, count: 5}}, {{name: b, count: 3}}]
manifests:
- objects: [{CONFIG_MAPS}]
- objects: [{{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: r}}, spec: {{replicas: 9}}}}]
behaviours: [{{script: {{startSeconds: 3}}}}, {{script: {{startSeconds: 4}}}}]
actions:
- {{at: 1m, crash: {{for: 64s}}}}
- {{at: 2m, uncordon: {{}}}}
- {{at: 3m, every: 10s, times: 5, jitter: 3s, endContainers: {{share: 0.3}}}}
- {{at: 9m, uncordon: {{}}}}
"""


def smallest(large: Scenario, needs: Sequence[str], least_end: float = 1) -> Scenario:
    """Shrink with a failure that needs these verbs and objects, and so much time."""

    def fails(candidate: Scenario) -> bool:
        there = {verb_of(each) for each in candidate.actions}
        there |= {each["metadata"]["name"] for each in objects_of(candidate)}
        return set(needs) <= there and candidate.until >= least_end

    found = large
    for found in shrink(large, fails):
        assert fails(found)
    return found


@pytest.mark.parametrize(
    "needs", [(), ("crash",), ("c3",), ("c0", "c6", "crash"), ("r", "end_containers"), ("crash", "uncordon")]
)
def test_shrinker_removes_unneeded_parts(needs: tuple[str, ...]) -> None:
    found = smallest(scenario(LARGE), needs)
    there = [verb_of(each) for each in found.actions] + [
        each["metadata"]["name"] for each in objects_of(found)
    ]
    assert sorted(there) == sorted(needs)
    assert (len(found.nodes), found.nodes[0].count) == (1, 1)
    assert not found.behaviours
    assert not found.description


def test_numbers_and_times_become_small() -> None:
    found = smallest(scenario(LARGE), ("r", "crash", "end_containers"), 250)
    crash, end = found.actions
    assert objects_of(found)[0]["spec"] == {"replicas": 1}
    assert crash.crash is not None
    assert [crash.crash.lasting, end.times, end.jitter] == [2, None, 0]
    assert end.end_containers is not None
    assert end.end_containers.share == 1
    assert 250 <= found.until <= 280


def test_scenario_that_cannot_shrink_stays() -> None:
    assert not list(shrink(scenario(LARGE), lambda candidate: False))


@given(st.lists(st.integers(), max_size=20))
def test_parts_leave_something_out(items: list[int]) -> None:
    found = list(without_parts(items))
    assert all(len(each) < len(items) for each in found)
    assert not items or found[0] == ()
    singles = [(*items[:place], *items[place + 1 :]) for place in range(len(items))]
    assert found[len(found) - len(items) :] == singles


def test_end_takes_later_actions_along() -> None:
    found = ended_at(scenario(LARGE), 150)
    assert [float(found.until), len(found.actions)] == [170, 2]
    assert float(ended_at(scenario(LARGE), 5000).until) == 600


def test_run_too_short_to_settle_does_not_fail_like_one_that_does_not() -> None:
    too_large = {"resources": {"requests": {"cpu": "100"}}}
    text = f"manifests: [{web(2, container=too_large)}]\nsettlesWithin: 1m\n"
    found = failure_of(played(f"until: 2m\n{text}"))
    assert found is not None
    assert found.name == "everything settles within 1m0s of the last action or fault"
    assert fails_like(played(f"until: 2m\n{text}"), found)
    short = played(f"until: 30s\n{text}")
    assert not short.passed
    assert not fails_like(short, found)

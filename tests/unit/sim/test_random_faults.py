"""Faults and moments drawn by a seed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from podling.sim.random_faults import KINDS, drawn, drawn_faults, node_names
from podling.sim.runner import run_scenario
from podling.sim.scenario_file import ScenarioUnusable
from podling.sim.schedule import verb_of
from tests.support.scenarios import FOLDER, scenario, web

FAULTY = "faults: {count: 6, after: 20s, before: 4m, lasting: 30s}"


@pytest.mark.parametrize("seed", range(20))
def test_faults_lie_within_their_time(seed: int) -> None:
    found = drawn(scenario(FAULTY), seed)
    assert found.faults is None
    assert 1 <= len(found.actions) <= 6
    for action in found.actions:
        part = getattr(action, verb_of(action))
        assert action.at is not None
        assert action.at >= 20
        assert action.at + (getattr(part, "lasting", None) or 0) <= 240


def test_seed_decides_the_faults() -> None:
    faulty = scenario(FAULTY)
    assert drawn(faulty, 3) == drawn(faulty, 3)
    assert len({repr(drawn(faulty, seed).actions) for seed in range(20)}) == 20


def test_all_kinds_are_drawn() -> None:
    faults = scenario(FAULTY).faults
    assert faults is not None
    nodes, servers = ("n-1", "n-2"), ("ops/hook",)
    found = {verb_of(each) for seed in range(100) for each in drawn_faults(faults, nodes, seed, servers)}
    assert len(found) == len(KINDS)


def test_faults_of_servers_name_one_that_the_scenario_has() -> None:
    text = f"servers: [{{service: ops/hook}}, {{url: 'https://far.example/hook'}}]\n{FAULTY}"
    found = [each.servers for seed in range(100) for each in drawn(scenario(text), seed).actions]
    faults = [each for each in found if each is not None]
    assert {each.server for each in faults} == {"ops/hook", "https://far.example/hook"}
    assert {(each.seconds is None, each.code is None) for each in faults} == {
        (False, True),
        (True, False),
        (True, True),
    }


def test_scenario_without_servers_draws_none_of_their_faults() -> None:
    found = [each.servers for seed in range(100) for each in drawn(scenario(FAULTY), seed).actions]
    assert set(found) == {None}


def test_kinds_can_be_chosen() -> None:
    faults = scenario("faults: {count: 9, before: 4m, kinds: [crash, compact]}").faults
    assert faults is not None
    found = {verb_of(each) for seed in range(20) for each in drawn_faults(faults, ("n-1",), seed)}
    assert found == {"crash", "compact"}


def test_nodes_have_the_names_of_the_groups() -> None:
    assert node_names(scenario("nodes: [{name: a, count: 2}, {name: b}]")) == ("a-1", "a-2", "b-1")


def test_jitter_becomes_a_moment() -> None:
    jittery = scenario("""
actions:
- {at: 10s, jitter: 5s, every: 20s, times: 3, uncordon: {}}
- {at: 10s, jitter: 5s, every: 20s, uncordon: {}}
""")
    found = drawn(jittery, 1).actions
    assert [float(each.jitter) for each in found] == [0, 0, 0, 5]
    moments = [each.at or 0 for each in found[:3]]
    assert all(first <= at <= first + 5 for first, at in zip((10, 30, 50), moments, strict=True))


def test_run_with_drawn_faults_is_the_run_of_what_was_drawn() -> None:
    faulty = scenario(f"until: 4m\nmanifests: [{web(3)}]\n{FAULTY}")
    first, _ = run_scenario(faulty, FOLDER, 5)
    again, _ = run_scenario(drawn(faulty, 5), FOLDER, 5)
    assert first.digest == again.digest
    assert first.digest != run_scenario(replace(faulty, faults=None), FOLDER, 5)[0].digest


@pytest.mark.parametrize(
    ("faults", "text"),
    [
        ("{before: 6m}", "this moment is after the end of the scenario"),
        ("{before: 20s}", "before must be later than after"),
        ("{before: 1m, kinds: [fire]}", 'no fault is called "fire"; there are crash, stopKubelets'),
        ("{before: 1m, kinds: []}", "no kinds to draw from"),
        ("{before: 1m, kinds: [servers]}", "faults of servers need servers in the scenario"),
        ("{before: 1m, count: 0}", "Expected `int` >= 1"),
    ],
)
def test_impossible_faults_are_refused(faults: str, text: str) -> None:
    with pytest.raises(ScenarioUnusable, match=text):
        scenario(f"faults: {faults}")


def test_faults_need_nodes() -> None:
    with pytest.raises(ScenarioUnusable, match="faults need nodes"):
        scenario("nodes: []\nfaults: {before: 1m}")

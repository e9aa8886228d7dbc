"""Explanations of pods and workloads that wait for a process of the cluster."""

from __future__ import annotations

import pytest

from podling.cli.evidence import Explanation, PartProblems
from podling.cli.explain_processes import ADVICE, part_problems, with_control_plane
from podling.cluster.processes.parts import parts_of
from podling.cluster.processes.states import PartState, Snapshot
from tests.support.ailing_pods import BOUND, ask

LOOP = "crash loop: exit code 1; 4 times, starts again in 1.0 s"
PARTS = PartProblems(control=LOOP, nodes={"one": "not responding since 2026-01-01T12:00:00Z"})


def test_pod_without_a_node_waits_for_the_schedulers_process() -> None:
    answer = ask(parts=PARTS)
    assert (answer.area, answer.healthy) == ("scheduler", False)
    assert answer.text == f"The pod waits for the scheduler, whose process has a problem: {LOOP}."
    assert answer.advice == ADVICE


@pytest.mark.parametrize("spec", [{"schedulerName": "mine"}, {"schedulingGates": [{"name": "a/b"}]}])
def test_pod_that_waits_for_something_else_is_explained_by_that(spec: dict[str, object]) -> None:
    assert "process" not in ask(spec, parts=PARTS).text


def test_pod_with_a_node_waits_for_the_nodes_process() -> None:
    answer = ask(BOUND, parts=PARTS)
    assert answer.area == "node"
    assert answer.text.startswith("The pod waits for node one, whose process has a problem: not responding")
    assert "process" not in ask(BOUND, parts=PartProblems(control=LOOP)).text


def test_workload_names_the_controllers_process_first() -> None:
    answer = Explanation(area="workload", reason="", text="It has no pods.")
    found = with_control_plane(answer, PARTS)
    assert found.text == f"The controllers' process has a problem: {LOOP}. It has no pods."
    healthy = Explanation(area="none", reason="", text="All is well.", healthy=True)
    assert with_control_plane(healthy, PARTS) is healthy
    assert with_control_plane(answer, PartProblems()) is answer


def test_problems_of_parts_are_sorted_by_subject() -> None:
    found = Snapshot(1, tuple(PartState(part=part) for part in parts_of(["one", "two"])))
    problems = {"api": "a", "nodes": "n", "control": "c"}
    assert part_problems(found, problems) == PartProblems("a", "c", {"one": "n", "two": "n"})
    assert part_problems(None, {}) == PartProblems()

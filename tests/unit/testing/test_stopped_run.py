"""Visiting a run that stands still."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.http import HttpClient
from podling.cluster.directory import DataDirectory
from podling.sim.runner import run_scenario
from podling.testing.stopped_run import Visit, visit_run
from tests.support.scenarios import FOLDER, scenario, web

SCENARIO = scenario(f"""
manifests: [{web(3)}]
behaviours: [{{pods: {{app: web}}, script: {{startSeconds: 4}}, spread: 0.5}}]
actions: [{{at: 90s, scale: {{target: {{kind: Deployment, name: web}}, replicas: 5}}}}]
""")


async def ready_pods(visit: Visit) -> int:
    client = HttpClient.from_kubeconfig(visit.kubeconfig)
    try:
        pods = (await client.list(Pod, "default")).items
    finally:
        await client.close()
    return sum(
        any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions) for pod in pods
    )


def test_cluster_is_reached_at_its_moment_and_goes_on() -> None:
    found: list[Any] = []
    lines: list[bytes] = []

    async def visitor(visit: Visit) -> None:
        found.append((visit.run.seconds, await ready_pods(visit)))
        wound: Any = clock.wound_clock()
        await wound.advance(60)
        found.append((visit.run.seconds, await ready_pods(visit)))
        directory = DataDirectory(visit.directory)
        found.append((directory.running_pid() > 0, directory.settings().is_wound))
        found.append(visit)

    outcome, statistics = visit_run(60, SCENARIO, FOLDER, 7, visitor, sink=lines.append)
    *seen, visit = found
    assert seen == [(60, 3), (120, 5), (True, True)]
    assert not visit.directory.exists()
    assert (outcome.seconds, outcome.is_complete) == (120, False)
    assert statistics.samples[-1].at == 120
    free: list[bytes] = []
    run_scenario(SCENARIO, FOLDER, 7, free.append)
    assert [line for line in lines if json.loads(line)["at"] < 60] == [
        line for line in free if json.loads(line)["at"] < 60
    ]


def test_run_that_is_wound_to_its_end_is_complete() -> None:
    async def visitor(_: Visit) -> None:
        wound: Any = clock.wound_clock()
        await wound.advance(600)

    outcome, _ = visit_run(60, SCENARIO, FOLDER, 7, visitor)
    assert (outcome.is_complete, outcome.seconds) == (True, 660)


def test_failure_of_a_visitor_ends_the_run() -> None:
    async def visitor(_: Visit) -> None:
        raise OSError("no shell")

    with pytest.raises(OSError, match="no shell"):
        visit_run(1, SCENARIO, FOLDER, 7, visitor)

"""Runs of scenarios: actions, assertions, seeds, and what is said at the end."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.sim import loop
from podling.sim.runner import Run
from tests.support.scenarios import FOLDER, played, scenario, web

READY = "count: {selector: app=web, is: Ready"


def failures(outcome: object) -> list[str]:
    results = getattr(outcome, "results")  # noqa: B009
    return [f"{each.name}: {each.text}" for each in results if not each.passed]


def test_passing_scenario_has_no_failure() -> None:
    outcome = played(f"""
manifests: [{web(4)}]
actions:
- at: 1m
  scale: {{target: {{kind: Deployment, name: web}}, replicas: 6}}
assertions:
- name: four at first
  eventually: {{{READY}, equals: 4}}}}
  within: 30s
- name: never seven
  never: {{{READY}, atLeast: 7}}}}
- name: six at the end
  atTheEnd: {{{READY}, equals: 6}}}}
settlesWithin: 1m
""")
    assert outcome.passed, outcome
    assert [each.name for each in outcome.actions] == ["manifests", "1. scale"]


def test_scenario_begins_at_its_wall_time() -> None:
    outcome = played("""
begin: 2030-03-04T05:06:07.25Z
assertions:
- name: time
  atTheEnd: {cel: "nodes.all(n, n.metadata.creationTimestamp.startsWith('2030-03-04T05:05:'))"}
""")
    assert outcome.passed, outcome


@pytest.mark.parametrize(
    ("assertion", "text"),
    [
        (
            f"always: {{{READY}, atLeast: 3}}}}, after: 30s",
            "a: did not hold at 1m0s:\n2 pods with app=web that are Ready; wanted at least 3",
        ),
        (f"never: {{{READY}, equals: 0}}}}, after: 30s", "a: held at 1m0s"),
        (
            f"eventually: {{{READY}, equals: 9}}}}, within: 2m",
            "a: did not hold within 2m0s:\n0 pods with app=web that are Ready; wanted 9",
        ),
        (
            f"atTheEnd: {{{READY}, equals: 3}}}}",
            "a: did not hold at the end:\n0 pods with app=web that are Ready; wanted 3",
        ),
        (
            "atTheEnd: {cel: 'pods.size() == 1'}",
            "a: did not hold at the end:\npods.size() == 1 is false (of 0 pods)",
        ),
    ],
)
def test_failed_assertion_says_what_was_instead(assertion: str, text: str) -> None:
    outcome = played(f"""
manifests: [{web(3)}]
actions:
- at: 1m
  delete: {{target: {{kind: Deployment, name: web}}, propagation: Foreground}}
assertions: [{{name: a, {assertion}}}]
""")
    found = failures(outcome)
    assert len(found) == 1
    assert found[0].startswith(text)


def test_diagnosis_names_pods_that_cannot_be_placed() -> None:
    outcome = played(f"""
manifests: [{web(1, nodeSelector={"disk": "ssd"})}]
assertions:
- name: a
  eventually: {{{READY}, equals: 1}}}}
""")
    (found,) = failures(outcome)
    assert "PodScheduled=False Unschedulable: 0/2 nodes are available" in found


def test_interrupted_run_reports_what_was() -> None:
    async def main() -> object:
        text = "assertions: [{name: a, atTheEnd: {cel: 'true'}}]"
        run = Run(scenario(text), FOLDER, 0)
        task = asyncio.create_task(run.execute())
        await clock.sleep(60)
        task.cancel()
        return await task

    outcome = loop.run(main())
    assert failures(outcome) == ["a: not decided: the run was interrupted"]
    assert not getattr(outcome, "is_complete")  # noqa: B009
    assert 0 < getattr(outcome, "seconds") < 60  # noqa: B009


@pytest.mark.parametrize("seed", [0, 1])
def test_same_seed_gives_the_same_digest(seed: int) -> None:
    text = f"""
manifests: [{web(6)}]
behaviours:
- pods: {{app: web}}
  script: {{startSeconds: 4, runs: [{{seconds: 60, exitCode: 1}}]}}
  spread: 0.5
actions:
- at: 1m
  crash: {{nodes: {{count: 1}}, for: 1m}}
- at: 90s
  requests: {{parts: ["node/*"], seconds: 2, share: 0.3, for: 1m}}
"""
    first, again = played(text, seed), played(text, seed)
    assert first.digest == again.digest
    assert first.digest != played(text, seed + 2).digest


def test_run_whose_every_part_fails_for_good_ends_and_names_what_lasts() -> None:
    outcome = played(f"""
until: 10m
manifests: [{web(4)}]
actions:
- {{at: 10s, crash: {{}}}}
- {{at: 11s, partition: {{parts: ["*"]}}}}
- {{at: 12s, store: {{fails: true}}}}
- {{at: 13s, runtime: {{}}}}
- {{at: 14s, stopControlPlane: {{}}}}
- {{at: 15s, stopApiServer: {{}}}}
- {{at: 30s, scale: {{target: {{kind: Deployment, name: web}}, replicas: 2}}}}
settlesWithin: 2m
""")
    assert outcome.is_complete
    assert [each.name for each in outcome.actions if each.error] == ["7. scale"]
    assert "connection refused" in outcome.actions[-1].error
    assert not outcome.violations
    (found,) = failures(outcome)
    assert "faults last to the end: partition, store, runtime, stopControlPlane, stopApiServer" in found


def test_action_whose_condition_never_holds_is_diagnosed() -> None:
    outcome = played("until: 2m\nactions: [{when: {count: {kind: Pod, atLeast: 3}}, uncordon: {}}]")
    assert outcome.is_complete
    assert [each.error for each in outcome.actions] == ["its condition never held: 0 pods; wanted at least 3"]

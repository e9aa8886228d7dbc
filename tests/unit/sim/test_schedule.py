"""Moments of actions: at a time, at intervals, when a condition holds, or never."""

from __future__ import annotations

import pytest

from tests.support.scenarios import played, web

READY = "count: {selector: app=web, is: Ready"


def test_condition_that_never_holds_ends_with_a_diagnosis() -> None:
    outcome = played(f"""
manifests: [{web(1)}]
actions:
- name: too late
  when: {{{READY}, equals: 2}}}}
  cordon: {{}}
- name: in time
  when: {{{READY}, equals: 2}}}}
  within: 1m
  cordon: {{}}
""")
    failed = {each.name: each.error for each in outcome.actions if each.error}
    why = "1 pods with app=web that are Ready; wanted 2"
    assert failed == {
        "too late": f"its condition never held: {why}",
        "in time": f"its condition did not hold within 1m0s: {why}",
    }
    assert not outcome.passed


def test_action_happens_when_its_condition_holds() -> None:
    outcome = played(f"""
manifests: [{web(2)}]
behaviours: [{{pods: {{app: web}}, script: {{startSeconds: 20}}}}]
actions:
- when: {{{READY}, equals: 2}}}}
  cordon: {{names: [n-1]}}
assertions:
- name: cordoned
  atTheEnd: {{count: {{kind: Node, where: object.spec.unschedulable, equals: 1}}}}
""")
    assert outcome.passed, outcome
    assert outcome.actions[-1].at == pytest.approx(20, abs=5)


def test_action_repeats_at_its_interval() -> None:
    outcome = played("""
actions:
- at: 30s
  every: 1m
  times: 3
  restartKubelets: {count: 1}
""")
    assert [each.at for each in outcome.actions] == pytest.approx([30, 90, 150], abs=1)


def test_refused_action_is_a_failure_with_the_reason() -> None:
    outcome = played("""
actions:
- at: 1s
  scale: {target: {kind: Deployment, name: gone}, replicas: 1}
""")
    assert [each.error for each in outcome.actions] == ['deployments.apps "gone" not found']

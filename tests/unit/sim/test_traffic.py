"""Load of requests: its steps, and what an autoscaler makes of it."""

from __future__ import annotations

import pytest

from podling.sim.scenario import LoadStep
from podling.sim.scenario_parts import Duration
from podling.sim.traffic import load_at
from tests.support.scenarios import played, web

STEPS = (LoadStep(at=Duration(10), per_second=5), LoadStep(at=Duration(60), per_second=50))


@pytest.mark.parametrize(("seconds", "load"), [(0, 0), (10, 5), (59, 5), (60, 50), (1000, 50)])
def test_load_follows_its_steps(seconds: float, load: float) -> None:
    assert load_at(STEPS, seconds) == load


def test_load_of_traffic_scales_a_deployment() -> None:
    hpa = (
        "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, "
        "spec: {minReplicas: 1, maxReplicas: 8, "
        "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, "
        "metrics: [{type: Resource, resource: {name: cpu, "
        "target: {type: Utilization, averageUtilization: 50}}}]}}"
    )
    outcome = played(f"""
until: 20m
manifests:
- {web(1, container={"resources": {"requests": {"cpu": "200m"}}})}
- objects: [{hpa}]
traffic:
- pods: {{app: web}}
  cpuMilliseconds: 10
  steps: [{{at: 0, perSecond: 5}}, {{at: 10m, perSecond: 50}}]
assertions:
- name: few
  always: {{count: {{selector: app=web, atMost: 6}}}}
- name: five later
  atTheEnd: {{count: {{selector: app=web, is: Ready, equals: 5}}}}
""")
    assert outcome.passed, outcome

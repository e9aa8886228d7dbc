"""A run whose report has something of everything."""

from __future__ import annotations

from functools import cache

from podling.sim.report.report_data import ReportData
from podling.sim.runner import run_scenario
from tests.support.scenarios import FOLDER, scenario, web

TEXT = f"""
description: "Angle <brackets> & more"
until: 8m
manifests:
- {web(4)}
- objects:
  - apiVersion: policy/v1
    kind: PodDisruptionBudget
    metadata: {{name: web}}
    spec: {{minAvailable: 3, selector: {{matchLabels: {{app: web}}}}}}
behaviours:
- {{pods: {{app: web}}, script: {{startSeconds: 2}}, spread: 0.5}}
actions:
- {{at: 1m, name: a machine fails, crash: {{nodes: {{names: [n-1]}}, for: 2m}}}}
- {{at: 1m2s, scale: {{target: {{kind: Deployment, name: nothing}}, replicas: 1}}}}
assertions:
- {{name: four, eventually: {{count: {{selector: app=web, is: Ready, equals: 4}}}}}}
- {{name: five, atTheEnd: {{count: {{selector: app=web, is: Ready, equals: 5}}}}}}
"""


@cache
def finished_run() -> ReportData:
    """Return the data of a run in which a node fails, an action fails, and an assertion does not hold."""
    played = scenario(TEXT)
    outcome, statistics = run_scenario(played, FOLDER, 3)
    return ReportData(file="s.yaml", scenario=played, outcome=outcome, statistics=statistics, elapsed=2.0)

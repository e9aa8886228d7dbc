"""Scenarios of tests, written as YAML or as plain values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from podling.sim.runner import Outcome, run_scenario
from podling.sim.scenario import Scenario
from podling.sim.scenario_file import read_scenario

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "scenarios"
MANIFESTS = ("operator.yaml", "shop.yaml")
"""The files of the folder that are objects of scenarios."""
EXAMPLES = sorted(path for path in FOLDER.glob("*.yaml") if path.name not in MANIFESTS)


def scenario(text: str) -> Scenario:
    """Return a scenario; its text may leave out ``until`` and ``nodes``."""
    plain: dict[str, Any] = {"until": "5m", "nodes": [{"name": "n", "count": 2}], **yaml.safe_load(text)}
    return read_scenario(yaml.safe_dump(plain, sort_keys=False), "scenario.yaml", FOLDER)


def played(text: str, seed: int = 0) -> Outcome:
    """Run a scenario and return its outcome."""
    return run_scenario(scenario(text), FOLDER, seed)[0]


def web(replicas: int = 3, **fields: Any) -> str:
    """Return the manifests of a Deployment whose containers live until stopped, as one line of YAML."""
    labels = {"app": "web"}
    container = {"name": "app", "image": "web:1", **fields.pop("container", {})}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **fields}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    plain = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    return yaml.safe_dump({"objects": [plain]}, default_flow_style=True, width=100_000).strip()

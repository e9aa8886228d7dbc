"""Scenarios with extensions: their kinds in manifests and actions, and their controllers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from podling.cli.simulation.sim import sim
from podling.sim.added_kinds import extensions_named, kind_of, target_kind
from podling.sim.scenario_file import ScenarioUnusable
from podling.sim.scenario_writing import scenario_text
from tests.support.scenarios import played, scenario

KRUISE = ("kruise",)
OF_TWO = "object.spec.containers[0].image == 'web:2'"
RESTARTED = "object.status.containerStatuses[0].restartCount == 1"


def clone_set(**strategy: Any) -> str:
    """Return the manifests of a CloneSet of three pods, as one line of YAML."""
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "web:1"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    plain = {
        "apiVersion": "apps.kruise.io/v1alpha1",
        "kind": "CloneSet",
        "metadata": {"name": "web"},
        "spec": {**spec, "updateStrategy": {"type": "InPlaceIfPossible", **strategy}},
    }
    return yaml.safe_dump({"objects": [plain]}, default_flow_style=True, width=100_000).strip()


UPDATED = f"""
manifests: [{clone_set(maxUnavailable=1)}]
actions:
- {{at: 1m, setImage: {{target: {{kind: cloneset, name: web}}, image: "web:2"}}}}
- {{at: 3m, scale: {{target: {{kind: clone, selector: "app!=shop"}}, replicas: 5}}}}
assertions:
- name: two of three are always ready
  always: {{count: {{selector: app=web, is: Ready, atLeast: 2}}}}
  after: 30s
- name: the three living pods are updated
  eventually: {{count: {{selector: app=web, is: Ready, where: "{OF_TWO} && {RESTARTED}", equals: 3}}}}
  after: 1m
  within: 2m
- name: five in the end
  atTheEnd: {{count: {{selector: app=web, is: Ready, where: "{OF_TWO}", equals: 5}}}}
settlesWithin: 1m
"""


def test_clone_set_is_updated_in_place_and_scaled() -> None:
    outcome = played(f"with: [kruise]\n{UPDATED}")
    assert outcome.passed, outcome


def test_same_seed_gives_the_same_digest() -> None:
    text = f"with: [kruise]\n{UPDATED}"
    assert played(text, 5).digest == played(text, 5).digest


def test_extension_can_be_named_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "clones.yaml"
    head = {"until": "5m", "nodes": [{"name": "n", "count": 2}]}
    file.write_text(yaml.safe_dump({**head, **yaml.safe_load(UPDATED)}, sort_keys=False))
    without = CliRunner().invoke(sim, [str(file), "--check"])
    assert (without.exit_code, 'no matches for kind "CloneSet"' in without.output) == (2, True)
    found = CliRunner().invoke(sim, [str(file), "--with", "kruise", "--quiet"])
    assert found.exit_code == 0, found.output


def test_replay_line_names_the_extensions(tmp_path: Path) -> None:
    file = tmp_path / "failing.yaml"
    plain = yaml.safe_load(f"manifests: [{clone_set()}]")
    plain |= {"until": "20s", "nodes": [{"name": "n"}]}
    plain["assertions"] = [{"name": "none", "atTheEnd": {"count": {"selector": "app=web", "equals": 0}}}]
    file.write_text(yaml.safe_dump(plain))
    found = CliRunner().invoke(sim, [str(file), "--with", "kruise", "--quiet"])
    assert found.exit_code == 1
    assert f"replay: podling sim {file} --seed 0 --with kruise" in found.output


def test_unknown_extension_is_a_problem_with_its_place() -> None:
    with pytest.raises(ScenarioUnusable, match=r'scenario.yaml:\d+:\d+: extension "absent" is not installed'):
        scenario("with: [absent]")


def test_unknown_feature_gate_is_a_problem() -> None:
    with pytest.raises(ScenarioUnusable, match='extension "kruise" has no feature gate Absent'):
        scenario("with: ['kruise:Absent=true']")


def test_manifests_are_checked_with_the_extension() -> None:
    with pytest.raises(ScenarioUnusable, match='no kind is called "cloneset"'):
        scenario("actions: [{at: 1m, scale: {target: {kind: cloneset, name: web}, replicas: 5}}]")


def test_scenario_is_written_with_its_extensions() -> None:
    text = scenario_text(scenario(f"with: [kruise]\n{UPDATED}"))
    assert yaml.safe_load(text)["with"] == ["kruise"]


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("cloneset", "apps.kruise.io"),
        ("statefulset", "apps"),
        ("statefulset.apps.kruise.io", "apps.kruise.io"),
        ("asts", "apps.kruise.io"),
    ],
)
def test_target_is_found_by_the_names_of_kubectl(text: str, group: str) -> None:
    found = target_kind(KRUISE, text)
    assert found is not None
    assert found.group == group


def test_every_version_of_a_kind_is_known() -> None:
    assert kind_of(KRUISE, "apps.kruise.io", "v1beta1", "CloneSet") is not None
    assert kind_of(KRUISE, "apps.kruise.io", "v2", "CloneSet") is None
    assert kind_of((), "apps.kruise.io", "v1beta1", "CloneSet") is None
    assert kind_of(KRUISE, "apps", "v1", "Deployment") is not None


def test_extension_is_made_once() -> None:
    assert extensions_named(KRUISE) is extensions_named(KRUISE)

"""The objects and the memory that a scenario needs, known before it runs."""

from __future__ import annotations

import pytest

from podling.sim.scenario_file import ScenarioUnusable
from podling.sim.size_estimate import size_of
from tests.support.scenarios import FOLDER, scenario, web

POD = "{apiVersion: v1, kind: Pod, metadata: {NAME}, spec: {containers: [{name: a, image: a}]}}"
NAMED = POD.replace("NAME", "name: a")
TARGET = "target: {kind: Deployment, name: web}"


@pytest.mark.parametrize(
    ("text", "pods"),
    [
        (f"manifests: [{web(7)}]", 7),
        (f"manifests: [{{objects: [{NAMED}], copies: 40}}]", 40),
        (f"manifests: [{web(7)}]\nactions: [{{at: 1m, scale: {{{TARGET}, replicas: 30}}}}]", 30),
        (f"manifests: [{web(7)}]\nactions: [{{at: 1m, scale: {{{TARGET}, replicas: 3}}}}]", 7),
        (f"actions: [{{at: 1m, apply: {web(9)}}}]", 9),
        (f"manifests: [{{objects: [{NAMED}]}}]\nactions: [{{at: 1m, apply: {{objects: [{NAMED}]}}}}]", 1),
        (f"actions: [{{at: 1m, every: 10s, apply: {{objects: [{NAMED}]}}}}]", 1),
        (
            "actions: [{at: 1m, every: 10s, apply: {objects: ["
            + POD.replace("NAME", "generateName: a")
            + "]}}]",
            25,
        ),
        (
            f"manifests: [{web(2)}]\nactions: [{{at: 1m, scale: {{target: "
            "{kind: Deployment, selector: '!none'}, replicas: 50}}]",
            50,
        ),
        ("", 0),
    ],
)
def test_pods_of_manifests_and_actions_are_counted(text: str, pods: int) -> None:
    assert size_of(scenario(text or "{}"), FOLDER).pods == pods


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            f"manifests: [{{objects: [{NAMED}], copies: 100001}}]",
            "100001 pods are too many: they would need about 8.0 GB; the limit is 100000",
        ),
        (
            f"manifests: [{web(7)}]\nactions: [{{at: 1m, scale: {{{TARGET}, replicas: 200000}}}}]",
            "200000 pods are too many: they would need about 15.0 GB; the limit is 100000",
        ),
        (
            f"actions: [{{at: 1m, apply: {web(300000)}}}]",
            "300000 pods are too many: they would need about 22.5 GB; the limit is 100000",
        ),
        (
            "manifests: [{objects: [{apiVersion: v1, kind: Secret, metadata: {name: a}}], copies: 2000000}]",
            "2000000 objects are too many: they would need about 10.0 GB; the limit is 1000000",
        ),
    ],
)
def test_too_large_scenario_is_refused_with_an_estimate(text: str, problem: str) -> None:
    with pytest.raises(ScenarioUnusable) as caught:
        scenario(text)
    assert problem in str(caught.value)

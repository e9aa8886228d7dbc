"""Sizes of a Deployment's roll-out (cases of deployment_util_test.go)."""

from __future__ import annotations

import pytest

from podling.api.apps_v1 import Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment
from podling.api.core_v1 import Container, PodSpec, PodTemplateSpec
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.controllers.workloads.deployment_rules import max_surge, max_unavailable, same_template


def deployment(replicas: int, surge: int | str, missing: int | str, type_: str) -> Deployment:
    rolling = RollingUpdateDeployment(max_surge=surge, max_unavailable=missing)
    return Deployment(
        spec=DeploymentSpec(
            replicas=replicas,
            selector=LabelSelector(),
            template=PodTemplateSpec(),
            strategy=DeploymentStrategy(type=type_, rolling_update=rolling),
        )
    )


@pytest.mark.parametrize(
    ("replicas", "surge", "missing", "type_", "expected"),
    [
        (10, 1, 5, "RollingUpdate", (1, 5)),
        (10, "50%", "50%", "RollingUpdate", (5, 5)),
        (5, "30%", "30%", "RollingUpdate", (2, 1)),
        (10, 0, 0, "RollingUpdate", (0, 1)),
        (1, "0%", "25%", "RollingUpdate", (0, 1)),
        (5, 0, 10, "RollingUpdate", (0, 5)),
        (0, 0, 10, "RollingUpdate", (0, 0)),
        (5, 1, 10, "Recreate", (0, 0)),
    ],
)
def test_surge_rounds_up_and_unavailability_down(
    replicas: int, surge: int | str, missing: int | str, type_: str, expected: tuple[int, int]
) -> None:
    held = deployment(replicas, surge, missing, type_)
    assert (max_surge(held), max_unavailable(held)) == expected


def template(image: str, **labels: str) -> PodTemplateSpec:
    names = {name.replace("_", "-"): value for name, value in labels.items()}
    return PodTemplateSpec(
        metadata=ObjectMeta(labels=names), spec=PodSpec(containers=(Container(name="c", image=image),))
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (template("a", app="x"), template("a", app="x"), True),
        (template("a", app="x", pod_template_hash="1"), template("a", app="x"), True),
        (template("a", pod_template_hash="1"), template("a", pod_template_hash="2"), True),
        (template("a", app="x"), template("a", app="y"), False),
        (template("a", app="x"), template("b", app="x"), False),
        (template("a"), None, False),
    ],
)
def test_templates_are_compared_without_hash_label(
    one: PodTemplateSpec | None, other: PodTemplateSpec | None, same: bool
) -> None:
    assert same_template(one, other) is same

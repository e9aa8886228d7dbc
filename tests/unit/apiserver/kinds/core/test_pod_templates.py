"""Tests of the rules of PodTemplates."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import PodTemplate
from tests.support.causes import Cause, KindRow, required
from tests.support.manifests import created, creation_causes, obj, rules

VALID: dict[type[Any], dict[str, Any]] = {
    PodTemplate: {
        "metadata": {"name": "x", "namespace": "default"},
        "template": {"spec": {"containers": [{"name": "main", "image": "nginx"}]}},
    },
}


@pytest.mark.parametrize(("kind", "plain"), VALID.items())
def test_valid_pod_template_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


INVALID: list[KindRow] = [
    (PodTemplate, "template: {spec: {containers: []}}", [required("template.spec.containers")]),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_pod_template_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


def test_pod_template_gets_defaults_and_generation() -> None:
    own = rules(PodTemplate)
    made = own.default(obj(PodTemplate, "", VALID[PodTemplate]))
    assert made.template.spec.restart_policy == "Always"
    assert own.generation
    assert own.intent(made) == made.template

"""Matching of requests to webhooks: rules, selectors, and conditions."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.admissionregistration_v1 import MatchCondition, ValidatingWebhookConfiguration
from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.webhook_matching import ConditionFailed, conditions_hold, program
from podling.apiserver.cel.programs import PER_OBJECT
from podling.testing import ControlPlane
from tests.support.webhooks import EVERYTHING, Hook, configure


@pytest.mark.asyncio(loop_factories=["real"])
@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ({"rules": [{**EVERYTHING, "operations": ["UPDATE"]}]}, False),
        ({"rules": [{**EVERYTHING, "apiGroups": ["apps"]}]}, False),
        ({"rules": [{**EVERYTHING, "apiVersions": ["v2"]}]}, False),
        ({"rules": [{**EVERYTHING, "resources": ["configmaps/*"]}]}, True),
        ({"rules": [{**EVERYTHING, "resources": ["*/status"]}]}, False),
        ({"rules": [{**EVERYTHING, "scope": "Cluster"}]}, False),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, True),
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, False),
        ({"matchConditions": [{"name": "n", "expression": "object.metadata.name == 'a'"}]}, True),
        ({"matchConditions": [{"name": "n", "expression": "request.userInfo.username == 'bob'"}]}, False),
    ],
)
async def test_rules_and_selectors_choose_the_webhooks(
    plane: ControlPlane, hook: Hook, more: dict[str, Any], asked: bool
) -> None:
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(**more))
    await plane.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
    assert bool(hook.asked) == asked


MISSING = "object.nothing == 1"
SYNTAX = "object."


def do_hold(*expressions: str) -> bool:
    conditions = [MatchCondition(name="n", expression=each) for each in expressions]
    return conditions_hold(conditions, program, {"object": {"kind": "Pod"}}, [PER_OBJECT])


@pytest.mark.parametrize(
    ("expressions", "hold"),
    [
        ((), True),
        (("true", "object.kind == 'Pod'"), True),
        (("true", "object.kind == 'Node'"), False),
        ((MISSING, "false"), False),
        (("false", MISSING), False),
        ((SYNTAX, "false"), False),
    ],
)
def test_false_condition_decides_even_if_others_fail(expressions: tuple[str, ...], hold: bool) -> None:
    assert do_hold(*expressions) == hold


def test_failed_conditions_without_a_false_one_raise_all_their_errors() -> None:
    one = f"expression '{MISSING}' resulted in error: no such key: nothing"
    with pytest.raises(ConditionFailed) as error:
        do_hold("true", MISSING)
    assert str(error.value) == one
    with pytest.raises(ConditionFailed) as error:
        do_hold(MISSING, MISSING)
    assert str(error.value) == f"[{one}, {one}]"

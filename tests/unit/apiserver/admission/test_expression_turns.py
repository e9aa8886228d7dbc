"""Expressions of admission that take long are evaluated beside the event loop, with the same result."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from podling.api.admissionregistration_v1 import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.expression_turns import NewBudget, evaluated_in_turn
from podling.apiserver.cel.programs import PER_OBJECT, PER_TRIAL, OverBudget, TrialBudget
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.testing import memory_cluster

real_time = pytest.mark.asyncio(loop_factories=["real"])

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
THOUSANDS = "[" + ",".join(str(number) for number in range(100)) + "]"
LONG = f"{THOUSANDS}.all(a, {THOUSANDS}.all(b, a + b >= 0))"
"""Costs more than a trial may, and far less than an expression may."""
BEYOND = f"{THOUSANDS}.all(a, {THOUSANDS}.all(b, {THOUSANDS}.all(c, a + b + c >= 0)))"
"""Costs more than an expression may."""


class Attempts:
    """Work that records its budgets and threads. It costs ``cost``."""

    def __init__(self, cost: int) -> None:
        self.cost = cost
        self.budgets: list[int] = []
        self.threads: list[int] = []

    def __call__(self, new_budget: NewBudget) -> str:
        budget = new_budget()
        self.budgets.append(budget[0])
        self.threads.append(threading.get_ident())
        if self.cost > budget[0]:
            assert isinstance(budget, TrialBudget)
            raise OverBudget
        return "done"


@real_time
async def test_brief_work_is_done_on_the_loop() -> None:
    work = Attempts(PER_TRIAL)
    assert await evaluated_in_turn(work) == "done"
    assert (work.budgets, work.threads) == ([PER_TRIAL], [threading.get_ident()])


@real_time
async def test_long_work_is_done_again_in_a_thread() -> None:
    work = Attempts(PER_TRIAL + 1)
    assert await evaluated_in_turn(work) == "done"
    assert work.budgets == [PER_TRIAL, PER_OBJECT]
    assert work.threads[0] == threading.get_ident() != work.threads[1]


def policy_of(*validations: dict[str, Any], **spec: Any) -> list[Any]:
    whole = {"validations": list(validations), "matchConstraints": {"resourceRules": [RULE]}, **spec}
    policy = {"metadata": {"name": "p"}, "spec": whole}
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    return [
        codec.convert(policy, ValidatingAdmissionPolicy)[0],
        codec.convert(binding, ValidatingAdmissionPolicyBinding)[0],
    ]


async def outcome(objects: list[Any]) -> str:
    """Return the message about a config map under these policies, or its data if it is created."""
    async with memory_cluster() as cluster:
        for each in objects:
            await cluster.client.create(each)
        try:
            found = await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        except ApiError as error:
            return str(error)
        return str(dict(found.data))


ASKED = "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()"


@real_time
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"validations": [{"expression": f"{LONG} && {ASKED}"}]}, "{}"),
        ({"validations": [{"expression": f"!({LONG} && {ASKED})", "message": "no"}]}, "denied request: no"),
        ({"validations": [{"expression": BEYOND}]}, "actual cost limit exceeded"),
        (
            {
                "validations": [{"expression": "variables.long && false", "messageExpression": "'so'"}],
                "variables": [{"name": "long", "expression": LONG}],
            },
            "denied request: so",
        ),
        (
            {
                "validations": [{"expression": "false"}],
                "matchConditions": [{"name": "n", "expression": f"!({LONG} && {ASKED})"}],
            },
            "{}",
        ),
    ],
)
async def test_long_expression_of_a_policy_decides(spec: dict[str, Any], text: str) -> None:
    assert text in await outcome(policy_of(*spec.pop("validations"), **spec))


@real_time
async def test_long_expression_of_a_mutation_changes_the_object() -> None:
    expression = f"Object{{data: {{'long': string({LONG} && {ASKED})}}}}"
    spec = {
        "matchConstraints": {"resourceRules": [RULE]},
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
    }
    policy = codec.convert({"metadata": {"name": "p"}, "spec": spec}, MutatingAdmissionPolicy)[0]
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p"}}
    bound = codec.convert(binding, MutatingAdmissionPolicyBinding)[0]
    assert await outcome([policy, bound]) == "{'long': 'true'}"

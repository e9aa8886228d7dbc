"""Tests of the validation of pod failure policies and success policies."""

from __future__ import annotations

import pytest

from podling.api.batch_v1 import Job
from tests.support.causes import Cause, Row, duplicate, invalid, required, too_many, unsupported
from tests.support.manifests import INDEXED, PLAIN_JOB, created, creation_causes, obj


def failure_rule(text: str) -> str:
    return f"spec: {{podFailurePolicy: {{rules: [{{action: FailJob, {text}}}]}}}}"


def success_rule(text: str) -> str:
    return f"spec: {{{INDEXED}, successPolicy: {{rules: [{{{text}}}]}}}}"


RULE = "spec.podFailurePolicy.rules[0]"
SUCCESS = "spec.successPolicy.rules[0]"
POLICIES: list[Row] = [
    (failure_rule("onExitCodes: {operator: In, values: [1, 2]}"), []),
    (failure_rule("action: ''"), [
        required(f"{RULE}.action", 'valid values: ["Count" "FailIndex" "FailJob" "Ignore"]'),
        (RULE, "FieldValueInvalid", "Invalid value: specifying one of OnExitCodes and OnPodConditions is "
         "required"),
    ]),
    (failure_rule("action: FailIndex, onPodConditions: [{type: DisruptionTarget}]"), [
        invalid(f"{RULE}.action", '"FailIndex"', "requires the backoffLimitPerIndex to be set")
    ]),
    (failure_rule("onExitCodes: {operator: In, values: []}"), [
        invalid(f"{RULE}.onExitCodes.values", "[]", "at least one value is required")
    ]),
    (failure_rule("onExitCodes: {operator: In, values: [3, 0, 3], containerName: other}"), [
        invalid(
            f"{RULE}.onExitCodes.containerName",
            '"other"',
            "must be one of the container or initContainer names in the pod template",
        ),
        invalid(f"{RULE}.onExitCodes.values[1]", "0", "must not be 0 for the In operator"),
        duplicate(f"{RULE}.onExitCodes.values[2]", "3"),
        invalid(f"{RULE}.onExitCodes.values", "[3,0,3]", "must be ordered"),
    ]),
    (failure_rule("onExitCodes: {operator: Is, values: [1]}, onPodConditions: [{type: A, status: Maybe}]"), [
        unsupported(f"{RULE}.onExitCodes.operator", "Is", "In", "NotIn"),
        unsupported(f"{RULE}.onPodConditions[0].status", "Maybe", "False", "True", "Unknown"),
        (RULE, "FieldValueInvalid", "Invalid value: specifying both OnExitCodes and OnPodConditions is not "
         "supported"),
    ]),
    ("spec: {successPolicy: {rules: [{succeededCount: 1}]}}", [
        invalid(
            "spec.successPolicy",
            '{"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}',
            "requires indexed completion mode",
        )
    ]),
    (f"spec: {{{INDEXED}, successPolicy: {{rules: []}}}}", [
        required(
            "spec.successPolicy.rules",
            "at least one rules must be specified when the successPolicy is specified",
        )
    ]),
    (f"spec: {{{INDEXED}, successPolicy: {{rules: [{', '.join(['{succeededCount: 1}'] * 21)}]}}}}", [
        too_many("spec.successPolicy.rules", 21, 20)
    ]),
    (success_rule(""), [
        required(SUCCESS, "at least one of succeededCount or succeededIndexes must be specified")
    ]),
    (success_rule("succeededIndexes: '0,2', succeededCount: 3"), [
        invalid(
            f"{SUCCESS}.succeededCount",
            "3",
            "must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)",
        )
    ]),
    (success_rule("succeededCount: 4"), [
        invalid(
            f"{SUCCESS}.succeededCount",
            "4",
            "must be less than or equal to 3 (the number of specified completions)",
        )
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), POLICIES)
def test_invalid_job_policy_is_refused_with_causes(text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(Job, text, PLAIN_JOB))) == expected

"""Tests of the validation of admission policies' expressions."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.admissionregistration_v1 import MutatingAdmissionPolicy, ValidatingAdmissionPolicy
from tests.support.causes import Cause, duplicate, invalid, required, unsupported
from tests.support.manifests import created, creation_causes, obj

NAMED: dict[str, Any] = {"metadata": {"name": "x"}}
RULE: dict[str, Any] = {
    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
}  # fmt: skip
POLICY: dict[str, Any] = {
    **NAMED,
    "spec": {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": "object.spec.replicas <= 5"}],
    },
}
NOTHING = "validations or auditAnnotations must contain at least one item"
ONE = {"expression": "true"}
V, A, N = "spec.validations[0]", "spec.auditAnnotations[0]", "spec.mutations[0]"
VALIDATING: list[tuple[dict[str, Any], list[Cause]]] = [
    (
        {"validations": []},
        [required("spec.validations", NOTHING), required("spec.auditAnnotations", NOTHING)],
    ),
    ({"validations": [{}]}, [required(f"{V}.expression", "expression is not specified")]),
    (
        {"validations": [{**ONE, "message": " "}]},
        [invalid(f"{V}.message", '" "', "message must be non-empty if specified")],
    ),
    (
        {"validations": [{**ONE, "message": "a\nb"}]},
        [invalid(f"{V}.message", '"a\\nb"', "message must not contain line breaks")],
    ),
    (
        {"validations": [{**ONE, "messageExpression": " "}]},
        [invalid(f"{V}.messageExpression", '" "', "must be non-empty if specified")],
    ),
    (
        {"validations": [{**ONE, "reason": "Teapot"}]},
        [unsupported(f"{V}.reason", "Teapot", "Forbidden", "Invalid", "RequestEntityTooLarge")],
    ),
    (
        {"auditAnnotations": [{"key": "k", "valueExpression": ""}]},
        [required(f"{A}.valueExpression", "valueExpression is not specified")],
    ),
    (
        {"auditAnnotations": [{"key": "k", "valueExpression": f"'{'a' * 6000}'"}]},
        [required(f"{A}.valueExpression", "must not exceed 5120 bytes in length")],
    ),
    (
        {"auditAnnotations": [{"key": "k", "valueExpression": "'a'"}] * 2},
        [duplicate("spec.auditAnnotations[1].key", '"k"')],
    ),
]
MUTATING: dict[str, Any] = {
    **NAMED,
    "spec": {
        "matchConstraints": {"resourceRules": [RULE]},
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}],
        "reinvocationPolicy": "Never",
    },
}
M = "spec.matchConstraints"
PATCHES: list[tuple[dict[str, Any], list[Cause]]] = [
    ({"mutations": []}, [required("spec.mutations", "mutations must contain at least one item")]),
    ({"reinvocationPolicy": ""}, [required("spec.reinvocationPolicy")]),
    ({"mutations": [{}]}, [required(f"{N}.patchType")]),
    (
        {"mutations": [{"patchType": "Merge"}]},
        [unsupported(f"{N}.patchType", "Merge", "ApplyConfiguration", "JSONPatch")],
    ),
    (
        {"mutations": [{"patchType": "JSONPatch", "applyConfiguration": {"expression": "Object{}"}}]},
        [
            required(f"{N}.jsonPatch", "must be specified when patchType is JSONPatch"),
            invalid(
                f"{N}.applyConfiguration",
                '"{applyConfiguration}"',
                "must not be specified when patchType is JSONPatch",
            ),
        ],
    ),
    (
        {"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": " "}}]},
        [required(f"{N}.applyConfiguration.expression")],
    ),
    (
        {"matchConstraints": {"resourceRules": [{**RULE, "operations": ["DELETE"]}]}},
        [unsupported(f"{M}.resourceRules.operations", "DELETE", "*", "CONNECT", "CREATE", "UPDATE")],
    ),
]


def with_spec(base: dict[str, Any], fragment: dict[str, Any]) -> dict[str, Any]:
    return {**base, "spec": {**base["spec"], **fragment}}


@pytest.mark.parametrize(
    ("kind", "base", "fragment", "expected"),
    [
        *((ValidatingAdmissionPolicy, POLICY, *row) for row in VALIDATING),
        *((MutatingAdmissionPolicy, MUTATING, *row) for row in PATCHES),
    ],
)
def test_invalid_policy_expression_is_refused_with_causes(
    kind: type[Any], base: dict[str, Any], fragment: dict[str, Any], expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, "", with_spec(base, fragment)))) == expected

"""What is wrong with admission policies and their bindings: a fragment and its causes."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.admissionregistration_v1 import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from podling.machinery.encoding import codec
from tests.support.causes import Cause, duplicate, forbidden, invalid, required, unsupported
from tests.support.manifests import created, creation_causes, obj

RULE: dict[str, Any] = {
    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
}  # fmt: skip
NAMED: dict[str, Any] = {"metadata": {"name": "x"}}
POLICY: dict[str, Any] = {
    **NAMED,
    "spec": {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": "object.spec.replicas <= 5"}],
    },
}
MUTATING: dict[str, Any] = {
    **NAMED,
    "spec": {
        "matchConstraints": {"resourceRules": [RULE]},
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}],
        "reinvocationPolicy": "Never",
    },
}
BINDING: dict[str, Any] = {**NAMED, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
M = "spec.matchConstraints"


def with_spec(base: dict[str, Any], fragment: dict[str, Any]) -> dict[str, Any]:
    return {**base, "spec": {**base["spec"], **fragment}}


POLICIES: list[tuple[dict[str, Any], list[Cause]]] = [
    ({}, []),
    ({"failurePolicy": "Maybe"}, [unsupported("spec.failurePolicy", "Maybe", "Fail", "Ignore")]),
    ({"paramKind": {}}, [required("spec.paramKind.apiVersion"), required("spec.paramKind.kind")]),
    (
        {"paramKind": {"apiVersion": "a/b/c", "kind": "K"}},
        [invalid("spec.paramKind.apiVersion", '"a/b/c"', "unexpected GroupVersion string: a/b/c")],
    ),
    ({"matchConstraints": None}, [required(M)]),
    ({"matchConstraints": {}}, [required(f"{M}.resourceRules")]),
    (
        {"matchConstraints": {"resourceRules": [{**RULE, "resourceNames": ["a", "a"]}]}},
        [duplicate(f"{M}.resourceRules[0].resourceNames[1]", '"a"')],
    ),
    (
        {"matchConstraints": {"resourceRules": [RULE], "matchPolicy": "Near"}},
        [unsupported(f"{M}.matchPolicy", "Near", "Equivalent", "Exact")],
    ),
    (
        {"variables": [{"name": "for", "expression": ""}]},
        [
            invalid("spec.variables[0].name", '"for"', "name is not a valid CEL identifier"),
            required("spec.variables[0].expression", "expression is not specified"),
        ],
    ),
]


@pytest.mark.parametrize(("fragment", "expected"), POLICIES)
@pytest.mark.parametrize(
    ("kind", "base"), [(ValidatingAdmissionPolicy, POLICY), (MutatingAdmissionPolicy, MUTATING)]
)
def test_policies(
    kind: type[Any], base: dict[str, Any], fragment: dict[str, Any], expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, "", with_spec(base, fragment)))) == expected


V, A, N = "spec.validations[0]", "spec.auditAnnotations[0]", "spec.mutations[0]"
NOTHING = "validations or auditAnnotations must contain at least one item"
ONE = {"expression": "true"}
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


@pytest.mark.parametrize(
    ("kind", "base", "fragment", "expected"),
    [
        *((ValidatingAdmissionPolicy, POLICY, *row) for row in VALIDATING),
        *((MutatingAdmissionPolicy, MUTATING, *row) for row in PATCHES),
    ],
)
def test_what_a_policy_does(
    kind: type[Any], base: dict[str, Any], fragment: dict[str, Any], expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, "", with_spec(base, fragment)))) == expected


P = "spec.paramRef"
BINDINGS: list[tuple[dict[str, Any], list[Cause]]] = [
    ({"paramRef": {"name": "p", "parameterNotFoundAction": "Deny"}}, []),
    ({"policyName": ""}, [required("spec.policyName")]),
    (
        {"paramRef": {}},
        [
            required(P, "one of name or selector must be specified"),
            required(f"{P}.parameterNotFoundAction"),
        ],
    ),
    (
        {"paramRef": {"name": "p", "selector": {}, "parameterNotFoundAction": "Wait"}},
        [
            forbidden(f"{P}.name", "name and selector are mutually exclusive"),
            forbidden(f"{P}.selector", "name and selector are mutually exclusive"),
            unsupported(f"{P}.parameterNotFoundAction", "Wait", "Deny", "Allow"),
        ],
    ),
    (
        {"matchResources": {"resourceRules": [{**RULE, "operations": []}]}},
        [required("spec.matchResources.resourceRules[0].operations")],
    ),
]


@pytest.mark.parametrize(("fragment", "expected"), BINDINGS)
@pytest.mark.parametrize("kind", [MutatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBinding])
def test_bindings(kind: type[Any], fragment: dict[str, Any], expected: list[Cause]) -> None:
    base = with_spec(BINDING, {} if kind is ValidatingAdmissionPolicyBinding else {"validationActions": None})
    plain = with_spec(base, fragment)
    if kind is MutatingAdmissionPolicyBinding:
        del plain["spec"]["validationActions"]
    assert creation_causes(created(obj(kind, "", plain))) == expected


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([], [required("spec.validationActions", "at least one validation action is required")]),
        (["Explode"], [unsupported("spec.validationActions[0]", "Explode", "Audit", "Deny", "Warn")]),
        (["Deny", "Deny"], [duplicate("spec.validationActions[1]", '"Deny"')]),
        (
            ["Deny", "Warn"],
            [
                invalid(
                    "spec.validationActions",
                    '["Deny","Warn"]',
                    "must not contain both Deny and Warn (repeating the same validation failure information "
                    "in the API response and headers serves no purpose)",
                )
            ],
        ),
    ],
)
def test_actions_of_a_binding(actions: list[str], expected: list[Cause]) -> None:
    plain = with_spec(BINDING, {"validationActions": actions})
    assert creation_causes(created(obj(ValidatingAdmissionPolicyBinding, "", plain))) == expected


def test_defaults() -> None:
    policy = codec.to_plain(created(obj(ValidatingAdmissionPolicy, "", POLICY)).spec)
    assert policy["failurePolicy"] == "Fail"
    assert policy["matchConstraints"] == {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "resourceRules": [{**RULE, "scope": "*"}],
    }

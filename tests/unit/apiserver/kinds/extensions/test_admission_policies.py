"""Tests of the rules of admission policies and their bindings."""

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

M = "spec.matchConstraints"
RULE: dict[str, Any] = {
    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
}  # fmt: skip
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


def with_spec(base: dict[str, Any], fragment: dict[str, Any]) -> dict[str, Any]:
    return {**base, "spec": {**base["spec"], **fragment}}


@pytest.mark.parametrize(("fragment", "expected"), POLICIES)
@pytest.mark.parametrize(
    ("kind", "base"), [(ValidatingAdmissionPolicy, POLICY), (MutatingAdmissionPolicy, MUTATING)]
)
def test_invalid_admission_policy_is_refused_with_causes(
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
BINDING: dict[str, Any] = {**NAMED, "spec": {"policyName": "p", "validationActions": ["Deny"]}}


@pytest.mark.parametrize(("fragment", "expected"), BINDINGS)
@pytest.mark.parametrize("kind", [MutatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBinding])
def test_invalid_policy_binding_is_refused_with_causes(
    kind: type[Any], fragment: dict[str, Any], expected: list[Cause]
) -> None:
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
def test_actions_of_binding_are_validated(actions: list[str], expected: list[Cause]) -> None:
    plain = with_spec(BINDING, {"validationActions": actions})
    assert creation_causes(created(obj(ValidatingAdmissionPolicyBinding, "", plain))) == expected


def test_defaults_of_admission_policies_are_filled_in() -> None:
    policy = codec.to_plain(created(obj(ValidatingAdmissionPolicy, "", POLICY)).spec)
    assert policy["failurePolicy"] == "Fail"
    assert policy["matchConstraints"] == {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "resourceRules": [{**RULE, "scope": "*"}],
    }

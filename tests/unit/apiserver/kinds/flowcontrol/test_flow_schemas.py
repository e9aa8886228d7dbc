"""Tests of the rules of FlowSchemas."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.flowcontrol_v1 import FlowSchema
from tests.support.causes import (
    LABEL_TEXT,
    SUBDOMAIN_TEXT,
    Cause,
    KindRow,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from tests.support.manifests import change_causes, created, creation_causes, obj


def subject(text: str) -> str:
    rule = "nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]"
    return f"spec: {{rules: [{{subjects: [{{{text}}}], {rule}}}]}}"


def with_rule_for(text: str) -> str:
    return f"spec: {{rules: [{{subjects: [{{kind: User, user: {{name: u}}}}], {text}}}]}}"


RULE = "spec.rules[0]"
NO_STARS = "if '*' is present, must not specify other"
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
INVALID: list[KindRow] = [
    (FlowSchema, "", []),
    (
        FlowSchema,
        "spec: {matchingPrecedence: -1, priorityLevelConfiguration: {name: ''}}",
        [
            invalid("spec.matchingPrecedence", "-1", "must be a positive value"),
            required("spec.priorityLevelConfiguration.name", "must reference a priority level"),
        ],
    ),
    (
        FlowSchema,
        "spec: {matchingPrecedence: 10001, priorityLevelConfiguration: {name: A}}",
        [
            invalid("spec.matchingPrecedence", "10001", "must not be greater than 10000"),
            invalid("spec.priorityLevelConfiguration.name", '"A"', SUBDOMAIN_TEXT),
        ],
    ),
    (
        FlowSchema,
        "spec: {matchingPrecedence: 1}",
        [
            invalid(
                "spec.matchingPrecedence",
                "1",
                "only the schema named 'exempt' may have matchingPrecedence 1",
            )
        ],
    ),
    (
        FlowSchema,
        "spec: {rules: [{}]}",
        [
            required(f"{RULE}.subjects", "subjects must contain at least one value"),
            required(RULE, "at least one of resourceRules and nonResourceRules has to be non-empty"),
        ],
    ),
    (
        FlowSchema,
        subject("kind: Robot"),
        [unsupported(f"{RULE}.subjects[0].kind", "Robot", "Group", "ServiceAccount", "User")],
    ),
    (
        FlowSchema,
        subject("kind: User, group: {name: g}"),
        [
            required(f"{RULE}.subjects[0].user", "user is required when subject kind is 'User'"),
            forbidden(f"{RULE}.subjects[0].group", "group is forbidden when subject kind is not 'Group'"),
        ],
    ),
    (
        FlowSchema,
        subject("kind: ServiceAccount, serviceAccount: {name: '*'}"),
        [
            required(
                f"{RULE}.subjects[0].serviceAccount.namespace",
                "must specify namespace for service account",
            )
        ],
    ),
    (
        FlowSchema,
        with_rule_for("resourceRules: [{verbs: [get, '*'], apiGroups: ['*', apps], resources: []}]"),
        [
            invalid(f"{RULE}.resourceRules[0].verbs", '["get","*"]', f"{NO_STARS} verbs"),
            invalid(f"{RULE}.resourceRules[0].apiGroups", '["*","apps"]', f"{NO_STARS} api groups"),
            required(
                f"{RULE}.resourceRules[0].resources", "resource rules must supply at least one resource"
            ),
            required(
                f"{RULE}.resourceRules[0].namespaces",
                "resource rules that are not cluster scoped must supply at least one namespace",
            ),
        ],
    ),
    (
        FlowSchema,
        with_rule_for("resourceRules: [{verbs: [get], apiGroups: [''], resources: [pods], namespaces: [A]}]"),
        [
            invalid(
                f"{RULE}.resourceRules[0].namespaces[0]",
                '"A"',
                f"each member of this list must be '*' or a DNS-1123 label; {LABEL_TEXT}",
            )
        ],
    ),
    (
        FlowSchema,
        with_rule_for("nonResourceRules: [{verbs: [read], nonResourceURLs: ['', a, '/a b', //a, /a*]}]"),
        [
            (
                f"{RULE}.nonResourceRules[0].verbs",
                "FieldValueNotSupported",
                'Unsupported value: ["read"]: supported values: ' + ", ".join(f'"{verb}"' for verb in VERBS),
            ),
            *[
                invalid(f"{RULE}.nonResourceRules[0].nonResourceURLs[{position}]", f'"{url}"', text)
                for position, (url, text) in enumerate(
                    [
                        ("", "must not be empty"),
                        ("a", "must start with slash"),
                        ("/a b", "must not contain white-space"),
                        ("//a", "must not contain double slash"),
                        ("/a*", "wildcard can only do suffix matching"),
                    ]
                )
            ],
        ],
    ),
]
VALID: dict[type[Any], dict[str, Any]] = {
    FlowSchema: {
        "metadata": {"name": "x"},
        "spec": {"priorityLevelConfiguration": {"name": "workload-low"}},
    },
}


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_flow_schema_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


def test_conditions_of_flow_schema_are_unique() -> None:
    old = created(obj(FlowSchema, "", VALID[FlowSchema]))
    status = "status: {conditions: [{type: Dangling}, {type: Dangling}, {}]}"
    assert change_causes(obj(FlowSchema, status, VALID[FlowSchema]), old, "status") == [
        duplicate("status.conditions[1].type", '"Dangling"'),
        required("status.conditions[2].type", "must not be empty"),
    ]

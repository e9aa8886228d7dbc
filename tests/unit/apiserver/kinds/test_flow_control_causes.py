"""What is wrong with flow schemas and priority levels: a fragment and its causes."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.flowcontrol_v1 import FlowSchema, PriorityLevelConfiguration
from podling.machinery.encoding import codec
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

VALID: dict[type[Any], dict[str, Any]] = {
    FlowSchema: {
        "metadata": {"name": "x"},
        "spec": {"priorityLevelConfiguration": {"name": "workload-low"}},
    },
    PriorityLevelConfiguration: {
        "metadata": {"name": "x"},
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}},
    },
}
RULE = "spec.rules[0]"
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
NO_STARS = "if '*' is present, must not specify other"
LIMITED = "spec.limited"


HAND = f"{LIMITED}.limitResponse.queuing.handSize"


def subject(text: str) -> str:
    rule = "nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]"
    return f"spec: {{rules: [{{subjects: [{{{text}}}], {rule}}}]}}"


def covering(text: str) -> str:
    return f"spec: {{rules: [{{subjects: [{{kind: User, user: {{name: u}}}}], {text}}}]}}"


def queuing(text: str) -> str:
    return f"spec: {{limited: {{limitResponse: {{queuing: {{{text}}}}}}}}}"


FLOWS: list[KindRow] = [
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
        covering("resourceRules: [{verbs: [get, '*'], apiGroups: ['*', apps], resources: []}]"),
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
        covering("resourceRules: [{verbs: [get], apiGroups: [''], resources: [pods], namespaces: [A]}]"),
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
        covering("nonResourceRules: [{verbs: [read], nonResourceURLs: ['', a, '/a b', //a, /a*]}]"),
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
    (PriorityLevelConfiguration, "", []),
    (
        PriorityLevelConfiguration,
        "spec: {type: Exempt, limited: null}",
        [invalid("spec.type", '"Exempt"', "type must be 'Exempt' if and only if name is 'exempt'")],
    ),
    (
        PriorityLevelConfiguration,
        "metadata: {name: exempt}\nspec: {type: Exempt, limited: null, exempt: {lendablePercent: 101}}",
        [invalid("spec.exempt.lendablePercent", "101", "must be between 0 and 100, inclusive")],
    ),
    (
        PriorityLevelConfiguration,
        "spec: {limited: null, exempt: {}}",
        [
            forbidden("spec.exempt", "must be nil if the type is Limited"),
            required(LIMITED, "must not be empty when type is Limited"),
        ],
    ),
    (
        PriorityLevelConfiguration,
        "spec: {limited: {nominalConcurrencyShares: -1, lendablePercent: 101, borrowingLimitPercent: -1}}",
        [
            invalid(f"{LIMITED}.nominalConcurrencyShares", "-1", "must be a non-negative integer"),
            invalid(f"{LIMITED}.lendablePercent", "101", "must be between 0 and 100, inclusive"),
            invalid(f"{LIMITED}.borrowingLimitPercent", "-1", "if specified, must be a non-negative integer"),
        ],
    ),
    (
        PriorityLevelConfiguration,
        "spec: {limited: {limitResponse: {type: Reject}}}",
        [
            forbidden(
                f"{LIMITED}.limitResponse.queuing",
                "must be nil if limited.limitResponse.type is not Limited",
            )
        ],
    ),
    (
        PriorityLevelConfiguration,
        "spec: {limited: {limitResponse: {type: Drop}}}",
        [unsupported(f"{LIMITED}.limitResponse.type", "Drop", "Queue", "Reject")],
    ),
    (
        PriorityLevelConfiguration,
        queuing("queues: 4"),
        [invalid(HAND, "8", "should not be greater than queues (4)")],
    ),
    (
        PriorityLevelConfiguration,
        queuing("queues: 10000000"),
        [
            invalid(
                HAND,
                "8",
                "required entropy bits of deckSize 10000000 and handSize 8 should not be greater than 60",
            )
        ],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), FLOWS)
def test_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


def test_conditions_of_a_flow_schema() -> None:
    old = created(obj(FlowSchema, "", VALID[FlowSchema]))
    status = "status: {conditions: [{type: Dangling}, {type: Dangling}, {}]}"
    assert change_causes(obj(FlowSchema, status, VALID[FlowSchema]), old, "status") == [
        duplicate("status.conditions[1].type", '"Dangling"'),
        required("status.conditions[2].type", "must not be empty"),
    ]


def test_what_flow_control_fills_in() -> None:
    schema = created(obj(FlowSchema, "", VALID[FlowSchema]))
    assert schema.spec.matching_precedence == 1000
    level = created(obj(PriorityLevelConfiguration, "", VALID[PriorityLevelConfiguration]))
    assert codec.to_plain(level.spec.limited) == {
        "lendablePercent": 0,
        "limitResponse": {"queuing": {"handSize": 8, "queueLengthLimit": 50, "queues": 64}, "type": "Queue"},
        "nominalConcurrencyShares": 30,
    }

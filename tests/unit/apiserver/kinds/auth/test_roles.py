"""Tests of the rules of roles and role bindings."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from tests.support.causes import SUBDOMAIN_TEXT, Cause, KindRow, invalid, required, unsupported
from tests.support.manifests import change_causes, created, creation_causes, obj

METADATA: dict[str, Any] = {"name": "x", "namespace": "default"}
VALID: dict[type[Any], dict[str, Any]] = {
    Role: {"metadata": METADATA, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    ClusterRole: {"metadata": {"name": "x"}},
    RoleBinding: {
        "metadata": METADATA,
        "roleRef": {"kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "default"}],
    },
    ClusterRoleBinding: {"metadata": {"name": "x"}, "roleRef": {"kind": "ClusterRole", "name": "reader"}},
}
RBAC = "rbac.authorization.k8s.io"
WRITER = f'{{"APIGroup":"{RBAC}","Kind":"Role","Name":"writer"}}'


@pytest.mark.parametrize(
    ("kind", "text", "subresource", "expected"),
    [
        (
            RoleBinding,
            "roleRef: {name: writer}",
            "",
            [
                invalid(
                    "roleRef",
                    WRITER,
                    "cannot change roleRef",
                )
            ],
        ),
    ],
)
def test_change_of_role_is_validated(
    kind: type[Any], text: str, subresource: str, expected: list[Cause]
) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old, subresource) == expected


INVALID: list[KindRow] = [
    (Role, "", []),
    (
        Role,
        "rules: [{}, {verbs: [get], nonResourceURLs: [/a], resources: [pods]}]",
        [
            required("rules[0].verbs", "verbs must contain at least one value"),
            required("rules[0].apiGroups", "resource rules must supply at least one api group"),
            required("rules[0].resources", "resource rules must supply at least one resource"),
            invalid(
                "rules[1].nonResourceURLs", '["/a"]', "namespaced rules cannot apply to non-resource URLs"
            ),
            invalid(
                "rules[1].nonResourceURLs",
                '["/a"]',
                "rules cannot apply to both regular resources and non-resource URLs",
            ),
        ],
    ),
    (
        ClusterRole,
        "aggregationRule: {}",
        [
            required(
                "aggregationRule.clusterRoleSelectors",
                "at least one clusterRoleSelector required if aggregationRule is non-nil",
            )
        ],
    ),
    (
        ClusterRole,
        "aggregationRule: {clusterRoleSelectors: [{}, {matchExpressions: [{key: a, operator: Is}]}]}",
        [
            invalid(
                "aggregationRule.clusterRoleSelectors[1].matchExpressions[0].operator",
                '"Is"',
                "not a valid selector operator",
            ),
            invalid("aggregationRule.clusterRoleSelectors[1]", "null", "invalid label selector."),
        ],
    ),
    (RoleBinding, "", []),
    (
        RoleBinding,
        "roleRef: {apiGroup: x, kind: Group, name: ''}\nsubjects: [{kind: Robot, name: r}]",
        [
            unsupported("roleRef.apiGroup", "x", RBAC),
            unsupported("roleRef.kind", "Group", "Role", "ClusterRole"),
            required("roleRef.name"),
            unsupported("subjects[0].kind", "Robot", "ServiceAccount", "User", "Group"),
        ],
    ),
    (
        ClusterRoleBinding,
        "roleRef: {kind: Role}\nsubjects: [{kind: ServiceAccount, name: A, apiGroup: a}, {kind: User}]",
        [
            unsupported("roleRef.kind", "Role", "ClusterRole"),
            invalid("subjects[0].name", '"A"', SUBDOMAIN_TEXT),
            unsupported("subjects[0].apiGroup", "a", ""),
            required("subjects[0].namespace"),
            required("subjects[1].name"),
        ],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_role_is_refused_with_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected

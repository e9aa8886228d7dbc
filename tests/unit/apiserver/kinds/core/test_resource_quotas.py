"""Tests of the rules of ResourceQuotas."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import ResourceQuota
from tests.support.causes import Cause, KindRow, invalid, required
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules


def with_scope_selector(expression: str) -> str:
    return f"spec: {{scopeSelector: {{matchExpressions: [{{{expression}}}]}}}}"


SCOPES, SELECTED = "spec.scopes", "spec.scopeSelector.matchExpressions"
NO_SCOPE = "unsupported scope applied to resource"
INVALID: list[KindRow] = [
    (ResourceQuota, "", []),
    (
        ResourceQuota,
        "spec: {scopes: [Terminating, NotTerminating, Some]}",
        [
            invalid(SCOPES, '["Terminating","NotTerminating","Some"]', text)
            for text in ("unsupported scope", "conflicting scopes")
        ],
    ),
    (
        ResourceQuota,
        "spec: {hard: {services: 1}, scopes: [BestEffort]}",
        [invalid(SCOPES, '["BestEffort"]', NO_SCOPE)],
    ),
    (
        ResourceQuota,
        with_scope_selector("scopeName: Terminating, operator: In, values: [a]"),
        [
            invalid(
                f"{SELECTED}.operator",
                '"In"',
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
            )
        ],
    ),
    (
        ResourceQuota,
        with_scope_selector("scopeName: PriorityClass, operator: In"),
        [
            required(
                f"{SELECTED}.values",
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )
        ],
    ),
    (
        ResourceQuota,
        with_scope_selector("scopeName: PriorityClass, operator: Exists, values: [a]"),
        [
            invalid(
                f"{SELECTED}.values",
                '["a"]',
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )
        ],
    ),
    (
        ResourceQuota,
        with_scope_selector("scopeName: PriorityClass, operator: Is"),
        [invalid(f"{SELECTED}.operator", '"Is"', "not a valid selector operator")],
    ),
]
METADATA: dict[str, Any] = {"name": "x", "namespace": "default"}
VALID: dict[type[Any], dict[str, Any]] = {
    ResourceQuota: {"metadata": METADATA, "spec": {"hard": {"pods": "1"}}},
}


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_resource_quota_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


@pytest.mark.parametrize(
    ("kind", "text", "subresource", "expected"),
    [
        (
            ResourceQuota,
            "spec: {scopes: [Terminating]}",
            "",
            [invalid(SCOPES, '["Terminating"]', "field is immutable")],
        ),
        (
            ResourceQuota,
            "status: {hard: {gpus: 1}}",
            "status",
            [
                invalid("status.hard[gpus]", '"gpus"', "must be a standard resource type or fully qualified"),
                invalid("status.hard[gpus]", '"gpus"', "must be a standard resource for quota"),
            ],
        ),
    ],
)
def test_change_of_resource_quota_is_validated(
    kind: type[Any], text: str, subresource: str, expected: list[Cause]
) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old, subresource) == expected


NEW_OBJECTS: list[KindRow] = [
    (ResourceQuota, "spec: {hard: {pods: 3, requests.cpu: 2, count/jobs.batch: 1}}", []),
    (
        ResourceQuota,
        "spec: {hard: {storage: 1Gi}}",
        [invalid("spec.hard[storage]", '"storage"', "must be a standard resource for quota")],
    ),
    (
        ResourceQuota,
        "spec: {hard: {pods: 1}, scopes: [BestEffort, NotBestEffort]}",
        [invalid("spec.scopes", '["BestEffort","NotBestEffort"]', "conflicting scopes")],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_resource_quota_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        ResourceQuota,
        "status: {hard: {pods: 3, limits.cpu: 2}, used: {pods: 1}}",
        ["x", "pods: 1/3", "limits.cpu: 0/2", "5m"],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_resource_quota_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW)) == expected

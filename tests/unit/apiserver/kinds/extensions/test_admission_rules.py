"""Tests of the validation of rules, selectors and match conditions."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from tests.support.causes import Cause, invalid, required, unsupported
from tests.support.manifests import created, creation_causes, obj

NAMED: dict[str, Any] = {"metadata": {"name": "x"}}
RULE: dict[str, Any] = {
    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
}  # fmt: skip
HOOK: dict[str, Any] = {
    "name": "pods.hooks.example.com",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "clientConfig": {"url": "https://hooks.example.com/pods"},
    "rules": [RULE],
}


def with_hook(fragment: dict[str, Any]) -> dict[str, Any]:
    return {**NAMED, "webhooks": [{**HOOK, **fragment}]}


def with_rule(fragment: dict[str, Any]) -> dict[str, Any]:
    return with_hook({"rules": [{**RULE, **fragment}]})


H = "webhooks[0]"
R = f"{H}.rules[0]"
RULES: list[tuple[dict[str, Any], list[Cause]]] = [
    (with_rule({"operations": []}), [required(f"{R}.operations")]),
    (
        with_rule({"operations": ["*", "CREATE"]}),
        [
            invalid(
                f"{R}.operations", '["*","CREATE"]', "if '*' is present, must not specify other operations"
            )
        ],
    ),
    (
        with_rule({"operations": ["GET"]}),
        [unsupported(f"{R}.operations[0]", "GET", "*", "CONNECT", "CREATE", "DELETE", "UPDATE")],
    ),
    (with_rule({"apiGroups": []}), [required(f"{R}.apiGroups")]),
    (
        with_rule({"apiGroups": ["*", "apps"]}),
        [invalid(f"{R}.apiGroups", '["*","apps"]', "if '*' is present, must not specify other API groups")],
    ),
    (with_rule({"apiVersions": []}), [required(f"{R}.apiVersions")]),
    (with_rule({"apiVersions": [""]}), [required(f"{R}.apiVersions[0]")]),
    (with_rule({"resources": []}), [required(f"{R}.resources")]),
    (
        with_rule({"resources": ["pods/*", "pods/status"]}),
        [
            invalid(
                f"{R}.resources[1]", '"pods/status"', "if 'pods/*' is present, must not specify pods/status"
            )
        ],
    ),
    (
        with_rule({"resources": ["*/scale", "deployments/scale"]}),
        [
            invalid(
                f"{R}.resources[1]",
                '"deployments/scale"',
                "if '*/scale' is present, must not specify deployments/scale",
            )
        ],
    ),
    (
        with_rule({"resources": ["*/*", "pods"]}),
        [
            invalid(
                f"{R}.resources", '["*/*","pods"]', "if '*/*' is present, must not specify other resources"
            )
        ],
    ),
    (
        with_rule({"resources": ["*", "pods"]}),
        [
            invalid(
                f"{R}.resources",
                '["*","pods"]',
                "if '*' is present, must not specify other resources without subresources",
            )
        ],
    ),
    (with_rule({"scope": "World"}), [unsupported(f"{R}.scope", "World", "*", "Cluster", "Namespaced")]),
]


@pytest.mark.parametrize(("plain", "expected"), RULES)
@pytest.mark.parametrize("kind", [MutatingWebhookConfiguration, ValidatingWebhookConfiguration])
def test_invalid_rule_of_webhook_is_refused_with_causes(
    kind: type[Any], plain: dict[str, Any], expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == expected

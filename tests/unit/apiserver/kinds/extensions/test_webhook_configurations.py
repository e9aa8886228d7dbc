"""Tests of the rules of webhook configurations."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from podling.machinery.encoding import codec
from tests.support.causes import Cause, duplicate, invalid, required, too_many, unsupported
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

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


def with_client(fragment: dict[str, Any]) -> dict[str, Any]:
    return with_hook({"clientConfig": fragment})


H = "webhooks[0]"
WEBHOOKS: list[tuple[dict[str, Any], list[Cause]]] = [
    (with_hook({}), []),
    (with_client({"service": {"name": "s", "namespace": "n", "path": "/a/b"}}), []),
    (with_hook({"name": ""}), [required(f"{H}.name")]),
    (
        with_hook({"name": "hooks.example"}),
        [
            invalid(
                f"{H}.name",
                '"hooks.example"',
                "should be a domain with at least three segments separated by dots",
            )
        ],
    ),
    (
        with_hook({"sideEffects": ""}),
        [required(f"{H}.sideEffects", "must specify one of None, NoneOnDryRun")],
    ),
    (with_hook({"sideEffects": "Some"}), [unsupported(f"{H}.sideEffects", "Some", "None", "NoneOnDryRun")]),
    (with_hook({"failurePolicy": "Maybe"}), [unsupported(f"{H}.failurePolicy", "Maybe", "Fail", "Ignore")]),
    (with_hook({"matchPolicy": "Near"}), [unsupported(f"{H}.matchPolicy", "Near", "Equivalent", "Exact")]),
    (
        with_hook({"timeoutSeconds": 31}),
        [invalid(f"{H}.timeoutSeconds", "31", "the timeout value must be between 1 and 30 seconds")],
    ),
    (
        with_hook({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}),
        [
            invalid(
                f"{H}.namespaceSelector.matchExpressions[0].operator",
                '"Near"',
                "not a valid selector operator",
            )
        ],
    ),
    (
        with_hook({"admissionReviewVersions": []}),
        [required(f"{H}.admissionReviewVersions", "must specify one of v1, v1beta1")],
    ),
    (
        with_hook({"admissionReviewVersions": ["v2", "v2"]}),
        [
            invalid(f"{H}.admissionReviewVersions[1]", '"v2"', "duplicate version"),
            invalid(
                f"{H}.admissionReviewVersions", '["v2","v2"]', "must include at least one of v1, v1beta1"
            ),
        ],
    ),
    (
        {**NAMED, "webhooks": [HOOK, HOOK]},
        [duplicate("webhooks[1].name", '"pods.hooks.example.com"')],
    ),
    (
        with_hook({"matchConditions": [{"name": "a", "expression": "true ||"}]}),
        [
            invalid(
                f"{H}.matchConditions[0].expression",
                '"true ||"',
                "compilation failed: ERROR: <input>:1:8: Syntax error: mismatched input '<EOF>' expecting "
                "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
                "STRING, BYTES, IDENTIFIER}\n | true ||\n | .......^",
            )
        ],
    ),
    (
        with_hook({"matchConditions": [{"name": "", "expression": " "}]}),
        [required(f"{H}.matchConditions[0].expression"), required(f"{H}.matchConditions[0].name")],
    ),
    (
        with_hook({"matchConditions": [{"name": f"c{n}", "expression": "true"} for n in range(65)]}),
        [too_many(f"{H}.matchConditions", 65, 64)],
    ),
]


@pytest.mark.parametrize(("plain", "expected"), WEBHOOKS)
@pytest.mark.parametrize("kind", [MutatingWebhookConfiguration, ValidatingWebhookConfiguration])
def test_invalid_webhook_is_refused_with_causes(
    kind: type[Any], plain: dict[str, Any], expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == expected


def test_mutating_webhook_may_be_reinvoked() -> None:
    made = created(obj(MutatingWebhookConfiguration, "", with_hook({"reinvocationPolicy": "Always"})))
    assert creation_causes(made) == [
        unsupported(f"{H}.reinvocationPolicy", "Always", "IfNeeded", "Never"),
    ]


def test_stored_errors_of_webhook_stay_valid() -> None:
    """Stored review versions, side effects and duplicate names do not prevent other changes."""
    kind = ValidatingWebhookConfiguration
    loose = {"admissionReviewVersions": ["v9"], "sideEffects": "Some"}
    plain = {**NAMED, "webhooks": [{**HOOK, **loose}] * 2}
    old = created(obj(kind, "", plain))
    assert len(creation_causes(old)) == 5
    changed = {**NAMED, "webhooks": [{**HOOK, **loose, "timeoutSeconds": 3}] * 2}
    assert change_causes(obj(kind, "", changed), old) == []


def test_generation_counts_changes_of_webhooks() -> None:
    old, new = (
        created(obj(MutatingWebhookConfiguration, "", with_hook({"timeoutSeconds": n}))) for n in (1, 2)
    )
    own = rules(MutatingWebhookConfiguration)
    assert own.generation
    assert own.intent(old) != own.intent(new)
    assert own.row(old, NOW)[:2] == ("x", 1)


def test_defaults_of_webhooks_are_filled_in() -> None:
    (hook,) = created(obj(MutatingWebhookConfiguration, "", with_client({"service": {"name": "s"}}))).webhooks
    assert codec.to_plain(hook) == {
        **HOOK,
        "clientConfig": {"service": {"name": "s", "namespace": "", "port": 443}},
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "reinvocationPolicy": "Never",
        "rules": [{**RULE, "scope": "*"}],
        "timeoutSeconds": 10,
    }

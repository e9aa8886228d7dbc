"""What is wrong with webhook configurations: a fragment and its causes."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from podling.machinery.encoding import codec
from tests.support.causes import Cause, duplicate, invalid, required, too_many, unsupported
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

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


NAMED: dict[str, Any] = {"metadata": {"name": "x"}}
H = "webhooks[0]"


R = f"{H}.rules[0]"


def with_hook(fragment: dict[str, Any]) -> dict[str, Any]:
    return {**NAMED, "webhooks": [{**HOOK, **fragment}]}


def with_rule(fragment: dict[str, Any]) -> dict[str, Any]:
    return with_hook({"rules": [{**RULE, **fragment}]})


def with_client(fragment: dict[str, Any]) -> dict[str, Any]:
    return with_hook({"clientConfig": fragment})


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


C = f"{H}.clientConfig"


CLIENTS: list[tuple[dict[str, Any], list[Cause]]] = [
    (with_client({}), [required(C, "exactly one of url or service is required")]),
    (
        with_client({"url": "https://a.example.com", "service": {"name": "s", "namespace": "n"}}),
        [required(C, "exactly one of url or service is required")],
    ),
    (
        with_client({"url": "http://me@a.example.com/?q=1#f"}),
        [
            invalid(
                f"{C}.url",
                '"http"',
                "'https' is the only allowed URL scheme; desired format: https://host[/path]",
            ),
            invalid(f"{C}.url", '"me"', "user information is not permitted in the URL"),
            invalid(f"{C}.url", '"f"', "fragments are not permitted in the URL"),
            invalid(f"{C}.url", '"q=1"', "query parameters are not permitted in the URL"),
        ],
    ),
    (
        with_client({"url": "https:///x"}),
        [invalid(f"{C}.url", '""', "host must be provided; desired format: https://host[/path]")],
    ),
    (
        with_client({"service": {"port": 0}}),
        [
            required(f"{C}.service.name", "service name is required"),
            required(f"{C}.service.namespace", "service namespace is required"),
            invalid(f"{C}.service.port", "0", "port is not valid: must be between 1 and 65535, inclusive"),
        ],
    ),
    (
        with_client({"service": {"name": "s", "namespace": "n", "path": "a/b"}}),
        [
            invalid(f"{C}.service.path", '"a/b"', "must start with a '/'"),
            invalid(f"{C}.service.path", '"a/b"', "segment[0] may not be empty"),
        ],
    ),
]


@pytest.mark.parametrize(("plain", "expected"), [*WEBHOOKS, *RULES, *CLIENTS])
@pytest.mark.parametrize("kind", [MutatingWebhookConfiguration, ValidatingWebhookConfiguration])
def test_webhooks(kind: type[Any], plain: dict[str, Any], expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == expected


def test_a_mutating_webhook_may_be_called_again() -> None:
    made = created(obj(MutatingWebhookConfiguration, "", with_hook({"reinvocationPolicy": "Always"})))
    assert creation_causes(made) == [
        unsupported(f"{H}.reinvocationPolicy", "Always", "IfNeeded", "Never"),
    ]


def test_what_was_accepted_once_may_stay() -> None:
    """Review versions, side effects and doubled names of an old object do not hinder other changes."""
    kind = ValidatingWebhookConfiguration
    loose = {"admissionReviewVersions": ["v9"], "sideEffects": "Some"}
    plain = {**NAMED, "webhooks": [{**HOOK, **loose}] * 2}
    old = created(obj(kind, "", plain))
    assert len(creation_causes(old)) == 5
    changed = {**NAMED, "webhooks": [{**HOOK, **loose, "timeoutSeconds": 3}] * 2}
    assert change_causes(obj(kind, "", changed), old) == []


def test_the_generation_counts_webhooks() -> None:
    old, new = (
        created(obj(MutatingWebhookConfiguration, "", with_hook({"timeoutSeconds": n}))) for n in (1, 2)
    )
    own = rules(MutatingWebhookConfiguration)
    assert own.generation
    assert own.intent(old) != own.intent(new)
    assert own.row(old, NOW)[:2] == ("x", 1)


def test_defaults() -> None:
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

"""Tests of the validation of webhook client configurations."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from tests.support.causes import Cause, invalid, required
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


def with_client(fragment: dict[str, Any]) -> dict[str, Any]:
    return with_hook({"clientConfig": fragment})


H = "webhooks[0]"
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


@pytest.mark.parametrize(("plain", "expected"), CLIENTS)
@pytest.mark.parametrize("kind", [MutatingWebhookConfiguration, ValidatingWebhookConfiguration])
def test_invalid_client_config_is_refused_with_causes(
    kind: type[Any], plain: dict[str, Any], expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == expected

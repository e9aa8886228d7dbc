"""Tests of the rules of ServiceAccounts."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import ServiceAccount
from podling.apiserver.kinds.common.base import Context
from tests.support.manifests import NOW, obj, rules

ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (ServiceAccount, "secrets: [{name: s}]", ["x", 1, "5m"]),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_service_account_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW)) == expected


def warnings_of(thing: Any, old: Any = None) -> list[str]:
    return rules(type(thing)).warnings(thing, old, Context(NOW))


def test_annotation_for_mountable_secrets_warns_when_new() -> None:
    text = "metadata: {annotations: {kubernetes.io/enforce-mountable-secrets: 'true'}}"
    account = obj(ServiceAccount, text)
    expected = [
        "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer "
        "separate namespaces to isolate access to mounted secrets"
    ]
    assert warnings_of(account) == warnings_of(account, obj(ServiceAccount, "")) == expected
    assert warnings_of(account, account) == []

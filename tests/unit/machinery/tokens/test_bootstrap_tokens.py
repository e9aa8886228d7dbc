"""Bootstrap tokens and the Secrets that hold them."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from podling.api.core_v1 import Secret
from podling.machinery.tokens import bootstrap_tokens
from podling.machinery.tokens.bootstrap_tokens import BootstrapToken

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TOKEN = BootstrapToken("abcdef", "0123456789abcdef")


def with_value(secret: Secret, key: str, value: str) -> Secret:
    encoded = base64.b64encode(value.encode()).decode()
    return structs.replace(secret, data={**secret.data, key: encoded})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abcdef.0123456789abcdef", TOKEN),
        ("ABCDEF.0123456789abcdef", None),
        ("abcde.0123456789abcdef", None),
        ("abcdef.0123456789abcde", None),
        ("abcdef.0123456789abcdef ", None),
        ("abcdef.0123456789abcdef\n", None),
        ("abcdef0123456789abcdef", None),
        ("abcdef.0123456789abcdeé", None),
        ("", None),
    ],
)
def test_form_of_tokens(text: str, expected: BootstrapToken | None) -> None:
    assert bootstrap_tokens.parse(text) == expected


@given(st.text(max_size=40))
def test_parsed_tokens_are_written_as_they_were_read(text: str) -> None:
    token = bootstrap_tokens.parse(text)
    assert token is None or str(token) == text


@pytest.mark.parametrize(
    ("expiration", "expected"),
    [
        ("", None),
        ("2026-01-01T12:00:01Z", timedelta(seconds=1)),
        ("2026-01-01T13:00:00+01:00", timedelta()),
        ("2026-01-01T14:00:00+01:00", timedelta(hours=1)),
        ("2026-01-01T12:00:00Z", timedelta()),
        ("2025-12-31T12:00:00Z", timedelta()),
        ("tomorrow", timedelta()),
        ("2026-13-01T12:00:00Z", timedelta()),
        ("0001-01-01T00:00:00Z", timedelta()),
    ],
)
def test_token_expires_at_its_time(expiration: str, expected: timedelta | None) -> None:
    secret = with_value(bootstrap_tokens.new_secret(TOKEN, None), "expiration", expiration)
    assert bootstrap_tokens.remaining(secret, NOW) == expected
    assert bootstrap_tokens.has_expired(secret, NOW) == (expected == timedelta())


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("", ("system:bootstrappers",)),
        (
            "system:bootstrappers:b,system:bootstrappers:a",
            ("system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:b"),
        ),
        ("system:masters", None),
        ("system:bootstrappers:a,system:nodes", None),
        ("system:bootstrappers:", None),
        ("system:bootstrappers:a:", None),
        ("system:bootstrappers:A", None),
        ("system:bootstrappers:a,", None),
        (f"system:bootstrappers:{'a' * 256}", ("system:bootstrappers", f"system:bootstrappers:{'a' * 256}")),
        (f"system:bootstrappers:{'a' * 257}", None),
    ],
)
def test_groups_of_a_tokens_user(extra: str, expected: tuple[str, ...] | None) -> None:
    secret = with_value(bootstrap_tokens.new_secret(TOKEN, None), "auth-extra-groups", extra)
    assert bootstrap_tokens.groups(secret) == expected


@pytest.mark.parametrize(
    ("name", "key", "value", "signs"),
    [
        ("bootstrap-token-abcdef", "description", "anything", True),
        ("bootstrap-token-abcdef", "usage-bootstrap-authentication", "false", True),
        ("bootstrap-token-abcdef", "usage-bootstrap-signing", "false", False),
        ("bootstrap-token-abcdef", "usage-bootstrap-signing", "", False),
        ("bootstrap-token-abcdef", "token-id", "fedcba", False),
        ("bootstrap-token-abcdef", "token-id", "", False),
        ("bootstrap-token-abcdef", "token-secret", "", False),
        ("bootstrap-token-abcdef", "expiration", "2026-01-01T11:59:59Z", False),
        ("bootstrap-token-abcdef", "expiration", "2026-01-01T12:00:01Z", True),
        ("bootstrap-token-fedcba", "description", "", False),
        ("my-token-abcdef", "description", "", False),
    ],
)
def test_tokens_that_sign(name: str, key: str, value: str, signs: bool) -> None:
    secret = with_value(bootstrap_tokens.new_secret(TOKEN, None), key, value)
    assert bool(bootstrap_tokens.signing_tokens({name: secret}, NOW)) == signs


def test_secret_of_a_token_for_nodes() -> None:
    secret = bootstrap_tokens.new_secret(TOKEN, NOW + timedelta(hours=24), "for a rack")
    assert (secret.metadata.namespace, secret.metadata.name) == ("kube-system", "bootstrap-token-abcdef")
    assert secret.type == "bootstrap.kubernetes.io/token"
    assert {key: bootstrap_tokens.value(secret, key) for key in secret.data} == {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
        "expiration": "2026-01-02T12:00:00Z",
        "description": "for a rack",
    }

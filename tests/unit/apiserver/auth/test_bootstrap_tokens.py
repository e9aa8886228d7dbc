"""Authentication by bootstrap tokens."""

from __future__ import annotations

import base64
from datetime import timedelta

import pytest
from msgspec import structs

from podling import clock
from podling.api.authentication_v1 import TokenReview, TokenReviewSpec
from podling.api.core_v1 import Secret
from podling.machinery.errors import ApiError
from podling.machinery.tokens import bootstrap_tokens
from podling.machinery.tokens.bootstrap_tokens import BootstrapToken
from podling.testing import ControlPlane

TOKEN = BootstrapToken("abcdef", "0123456789abcdef")
HOUR = timedelta(hours=1)


async def store(cluster: ControlPlane, **changes: str) -> None:
    """Store the Secret of ``TOKEN``, with some values changed; ``_`` stands for ``-``."""
    secret = bootstrap_tokens.new_secret(TOKEN, clock.now() + HOUR)
    encoded = {
        key.replace("_", "-"): base64.b64encode(value.encode()).decode() for key, value in changes.items()
    }
    await cluster.client.create(structs.replace(secret, data={**secret.data, **encoded}))


def user_name(cluster: ControlPlane, token: str = str(TOKEN)) -> str:
    """Return the user of a request with a token; empty if the request is refused."""
    try:
        return cluster.server.authenticator.user_of(None, f"Bearer {token}").name
    except ApiError as error:
        return "" if error.code == 401 else str(error)


async def test_token_names_user_and_groups(cluster: ControlPlane) -> None:
    await store(cluster)
    user = cluster.server.authenticator.user_of(None, f"Bearer {TOKEN}")
    assert user.name == "system:bootstrap:abcdef"
    assert user.groups == (
        "system:bootstrappers",
        "system:bootstrappers:kubeadm:default-node-token",
        "system:authenticated",
    )
    review = await cluster.client.create(TokenReview(spec=TokenReviewSpec(token=str(TOKEN))))
    assert review.status.user.username == "system:bootstrap:abcdef"


@pytest.mark.parametrize(
    "changes",
    [
        {"token_secret": "0123456789abcdeg"},
        {"token_secret": ""},
        {"token_id": "fedcba"},
        {"expiration": "2001-01-01T00:00:00Z"},
        {"expiration": "never"},
        {"usage_bootstrap_authentication": "false"},
        {"usage_bootstrap_authentication": ""},
        {"auth_extra_groups": "system:masters"},
    ],
)
async def test_token_that_is_not_good_is_refused(cluster: ControlPlane, changes: dict[str, str]) -> None:
    await store(cluster, **changes)
    assert user_name(cluster) == ""


async def test_secret_of_another_type_is_no_token(cluster: ControlPlane) -> None:
    secret = bootstrap_tokens.new_secret(TOKEN, None)
    await cluster.client.create(structs.replace(secret, type="Opaque"))
    assert user_name(cluster) == ""


async def test_secret_of_another_namespace_is_no_token(cluster: ControlPlane) -> None:
    secret = bootstrap_tokens.new_secret(TOKEN, None)
    metadata = structs.replace(secret.metadata, namespace="default")
    await cluster.client.create(structs.replace(secret, metadata=metadata))
    assert user_name(cluster) == ""


async def test_token_without_signing_authenticates(cluster: ControlPlane) -> None:
    await store(cluster, usage_bootstrap_signing="false")
    assert user_name(cluster) == "system:bootstrap:abcdef"


@pytest.mark.parametrize("token", ["abcdef.0123456789abcdeg", "abcdeg.0123456789abcdef", "abcdef"])
async def test_other_tokens_are_refused(cluster: ControlPlane, token: str) -> None:
    await store(cluster)
    assert user_name(cluster, token) == ""


async def test_token_ends_with_its_time_and_with_its_secret(cluster: ControlPlane) -> None:
    await store(cluster)
    await clock.sleep(HOUR.total_seconds() - 2)
    assert user_name(cluster) == "system:bootstrap:abcdef"
    await clock.sleep(2)
    assert user_name(cluster) == ""
    await cluster.client.delete(Secret, "bootstrap-token-abcdef", "kube-system")
    await store(cluster)
    assert user_name(cluster) == "system:bootstrap:abcdef"
    await cluster.client.delete(Secret, "bootstrap-token-abcdef", "kube-system")
    assert user_name(cluster) == ""

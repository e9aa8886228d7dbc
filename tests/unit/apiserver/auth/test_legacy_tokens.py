"""Use of tokens in Secrets: its label, refusal of invalid ones, and the warning about generated ones."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import pytest

from podling import clock
from podling.api.authentication_v1 import (
    BoundObjectReference,
    TokenRequest,
    TokenRequestSpec,
    TokenReview,
    TokenReviewSpec,
)
from podling.api.core_v1 import ObjectReference, Secret, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.errors import ApiError
from podling.machinery.tokens.legacy_tokens import INVALID_SINCE, LAST_USED, date_text
from podling.testing import ControlPlane

WARNING = (
    "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated "
    "secret-based tokens."
)


async def token_in_secret(
    cluster: ControlPlane, labels: dict[str, str] | None = None, *, listed: bool = False, kept: bool = True
) -> str:
    """Return a token that is bound to the Secret ``key`` and, if ``kept``, in it."""
    account = ServiceAccount(
        metadata=ObjectMeta(name="robot", namespace="default"),
        secrets=(ObjectReference(name="key"),) if listed else (),
    )
    await cluster.client.create(account)
    annotations = {"kubernetes.io/service-account.name": "robot"}
    metadata = ObjectMeta(name="key", namespace="default", annotations=annotations, labels=labels or {})
    await cluster.client.create(Secret(metadata=metadata, type="kubernetes.io/service-account-token"))
    bound = BoundObjectReference(api_version="v1", kind="Secret", name="key")
    request = TokenRequest(spec=TokenRequestSpec(bound_object_ref=bound))
    answer = await cluster.client.create_subresource(ServiceAccount, "robot", "token", request, "default")
    assert isinstance(answer, TokenRequest)
    token = answer.status.token or ""
    if kept:
        data = {"data": {"token": base64.b64encode(token.encode()).decode()}}
        await cluster.client.patch(Secret, "key", data, "default")
    return token


async def labels_of(cluster: ControlPlane) -> dict[str, str]:
    await clock.sleep(0.1)
    return (await cluster.client.get(Secret, "key", "default")).metadata.labels


def day(offset: int) -> str:
    return date_text(clock.now() + timedelta(days=offset))


@pytest.mark.parametrize(("used", "wanted"), [(None, 0), (-1, 0), (0, 0), (1, 1), (2, 0)])
async def test_use_is_labelled_with_the_date(cluster: ControlPlane, used: int | None, wanted: int) -> None:
    before = {} if used is None else {LAST_USED: day(used)}
    token = await token_in_secret(cluster, before)
    assert cluster.server.authenticator.token_user(token) is not None
    assert await labels_of(cluster) == {LAST_USED: day(wanted)}


async def test_uses_of_a_day_are_one_write(cluster: ControlPlane) -> None:
    token = await token_in_secret(cluster)
    versions = []
    for _ in range(3):
        assert cluster.server.authenticator.token_user(token) is not None
        await clock.sleep(0.1)
        held = await cluster.client.get(Secret, "key", "default")
        versions.append(held.metadata.resource_version)
    assert len(set(versions)) == 1


async def test_token_that_is_bound_to_a_secret_but_not_in_it_is_not_tracked(cluster: ControlPlane) -> None:
    token = await token_in_secret(cluster, {INVALID_SINCE: "2023-01-01"}, kept=False)
    assert cluster.server.authenticator.token_user(token) is not None
    assert await labels_of(cluster) == {INVALID_SINCE: "2023-01-01"}


async def test_token_marked_invalid_is_refused_and_its_use_labelled(cluster: ControlPlane) -> None:
    token = await token_in_secret(cluster, {INVALID_SINCE: "2023-01-01"}, listed=True)
    with pytest.raises(ApiError) as caught:
        cluster.server.authenticator.user_of(None, f"Bearer {token}")
    assert caught.value.code == 401
    assert await labels_of(cluster) == {INVALID_SINCE: "2023-01-01", LAST_USED: day(0)}
    await cluster.client.patch(Secret, "key", {"metadata": {"labels": {INVALID_SINCE: None}}}, "default")
    assert cluster.server.authenticator.token_user(token) is not None


@pytest.mark.parametrize("listed", [True, False])
async def test_only_generated_tokens_bring_a_warning(cluster: ControlPlane, listed: bool) -> None:
    token = await token_in_secret(cluster, listed=listed)
    warnings: list[str] = []
    cluster.server.authenticator.user_of(None, f"Bearer {token}", warnings.append)
    assert warnings == ([WARNING] if listed else [])


async def test_secret_that_is_gone_before_the_label_is_written_does_no_harm(cluster: ControlPlane) -> None:
    token = await token_in_secret(cluster)
    assert cluster.server.authenticator.token_user(token) is not None
    await cluster.client.delete(Secret, "key", "default")
    await clock.sleep(0.1)
    await cluster.client.delete(ServiceAccount, "robot", "default")
    other = await token_in_secret(cluster)
    assert cluster.server.authenticator.token_user(other) is not None
    assert await labels_of(cluster) == {LAST_USED: day(0)}


async def test_uses_are_counted_by_kind(cluster: ControlPlane) -> None:
    token = await token_in_secret(cluster, listed=True)
    uses = cluster.server.tokens.legacy_uses

    def counts() -> dict[str, float]:
        return {each.name.removeprefix("serviceaccount_"): each.samples[0].value for each in uses.collect()}

    async def patch(kind: Any, name: str, changed: dict[str, Any]) -> None:
        await cluster.client.patch(kind, name, changed, "default")
        cluster.server.authenticator.token_user(token)

    cluster.server.authenticator.token_user(token)
    await patch(ServiceAccount, "robot", {"secrets": None})
    await patch(Secret, "key", {"metadata": {"labels": {INVALID_SINCE: "2023-01-01"}}})
    assert counts() == {
        "legacy_manual_token_uses": 1,
        "legacy_auto_token_uses": 1,
        "invalid_legacy_auto_token_uses": 1,
    }


async def test_review_of_a_token_is_a_use(cluster: ControlPlane) -> None:
    token = await token_in_secret(cluster)
    review = await cluster.client.create(TokenReview(spec=TokenReviewSpec(token=token)))
    assert review.status.authenticated
    assert await labels_of(cluster) == {LAST_USED: day(0)}

"""Service account tokens: requested for an account, bound to an object, valid until either is gone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import jwt
import pytest

from podling import clock
from podling.api.authentication_v1 import (
    BoundObjectReference,
    SelfSubjectReview,
    TokenRequest,
    TokenRequestSpec,
    TokenReview,
    TokenReviewSpec,
)
from podling.api.authorization_v1 import (
    ResourceAttributes,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
    SelfSubjectRulesReview,
    SelfSubjectRulesReviewSpec,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
)
from podling.api.core_v1 import Container, Pod, PodSpec, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth.issuer import ISSUER
from podling.client.requests import User
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane


@pytest.fixture
async def cluster(cluster: ControlPlane) -> ControlPlane:
    """With the account that the tokens are for."""
    await cluster.client.create(ServiceAccount(metadata=ObjectMeta(name="default", namespace="default")))
    return cluster


async def token_for(cluster: ControlPlane, **spec: object) -> str:
    request = TokenRequest(spec=TokenRequestSpec(**spec))  # type: ignore[arg-type]
    answer = await cluster.client.create_subresource(ServiceAccount, "default", "token", request, "default")
    assert isinstance(answer, TokenRequest)
    assert answer.status.token != ""
    return answer.status.token


async def test_a_token_names_its_account(cluster: ControlPlane) -> None:
    user = cluster.server.tokens.user_of(await token_for(cluster))
    assert user is not None
    assert user.name == "system:serviceaccount:default:default"
    assert user.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    )


async def test_token_expires_after_the_requested_time(cluster: ControlPlane) -> None:
    token = await token_for(cluster, expiration_seconds=600)
    await cluster.advance(minutes=9)
    assert cluster.server.tokens.user_of(token)
    await cluster.advance(minutes=3)
    assert cluster.server.tokens.user_of(token) is None


async def test_token_is_valid_for_its_audience_only(cluster: ControlPlane) -> None:
    token = await token_for(cluster, audiences=("vault",))
    assert cluster.server.tokens.user_of(token) is None
    assert cluster.server.tokens.user_of(token, ("vault",))


async def create_pod(cluster: ControlPlane, account: str = "default", node: str = "") -> None:
    containers = (Container(name="c", image="i"),)
    spec = PodSpec(containers=containers, service_account_name=account, node_name=node)
    await cluster.client.create(Pod(metadata=ObjectMeta(name="p", namespace="default"), spec=spec))


async def test_token_ends_with_the_pod_it_is_bound_to(cluster: ControlPlane) -> None:
    await create_pod(cluster)
    token = await token_for(cluster, bound_object_ref=BoundObjectReference(kind="Pod", name="p"))
    user = cluster.server.tokens.user_of(token)
    assert user is not None
    assert user.extra["authentication.kubernetes.io/pod-name"] == ("p",)
    await cluster.client.delete(Pod, "p", "default")
    assert cluster.server.tokens.user_of(token) is None


def claims(token: str) -> dict[str, Any]:
    found: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return found


async def test_token_of_a_pod_is_valid_for_a_year(cluster: ControlPlane) -> None:
    await create_pod(cluster)
    pod = BoundObjectReference(kind="Pod", name="p")
    found = claims(await token_for(cluster, bound_object_ref=pod, expiration_seconds=3607))
    assert found["exp"] - found["iat"] == 365 * 24 * 3600
    assert found["kubernetes.io"]["warnafter"] - found["iat"] == 3607
    for other in ({"expiration_seconds": 3600}, {"expiration_seconds": 3607, "audiences": ("vault",)}):
        found = claims(await token_for(cluster, bound_object_ref=pod, **other))
        assert (found["exp"] - found["iat"], "warnafter" in found["kubernetes.io"]) == (
            other["expiration_seconds"],
            False,
        )


async def test_token_names_the_node_of_its_pod_without_a_node_object(cluster: ControlPlane) -> None:
    await create_pod(cluster, node="n1")
    token = await token_for(cluster, bound_object_ref=BoundObjectReference(kind="Pod", name="p"))
    assert claims(token)["kubernetes.io"]["node"] == {"name": "n1"}
    user = cluster.server.tokens.user_of(token)
    assert user is not None
    assert user.extra["authentication.kubernetes.io/node-name"] == ("n1",)
    assert "authentication.kubernetes.io/node-uid" not in user.extra


async def test_token_ends_a_minute_after_the_grace_period_of_its_pod(cluster: ControlPlane) -> None:
    await create_pod(cluster, node="n1")
    token = await token_for(cluster, bound_object_ref=BoundObjectReference(kind="Pod", name="p"))
    await cluster.client.delete(Pod, "p", "default")
    await cluster.advance(seconds=89)
    assert cluster.server.tokens.user_of(token)
    await cluster.advance(seconds=2)
    assert cluster.server.tokens.user_of(token) is None


async def test_token_ends_with_its_account(cluster: ControlPlane) -> None:
    token = await token_for(cluster)
    await cluster.client.delete(ServiceAccount, "default", "default")
    await cluster.client.create(ServiceAccount(metadata=ObjectMeta(name="default", namespace="default")))
    assert cluster.server.tokens.user_of(token) is None


async def test_invalid_token_requests_are_refused(cluster: ControlPlane) -> None:
    with pytest.raises(ApiError) as caught:
        await token_for(cluster, expiration_seconds=10)
    assert str(caught.value) == (
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 10: may '
        "not specify a duration less than 10 minutes"
    )
    service = BoundObjectReference(kind="Service", api_version="v1", name="s")
    with pytest.raises(ApiError, match="cannot bind token to object of type /v1, Kind=Service"):
        await token_for(cluster, bound_object_ref=service)
    pod = BoundObjectReference(kind="Pod", api_version="v1", name="p")
    with pytest.raises(ApiError, match='pods "p" not found'):
        await token_for(cluster, bound_object_ref=pod)
    await create_pod(cluster, "other")
    with pytest.raises(ApiError) as caught:
        await token_for(cluster, bound_object_ref=pod)
    assert (caught.value.code, str(caught.value)) == (
        400,
        'cannot bind token for serviceaccount "default" to pod running with different serviceaccount name.',
    )


async def test_token_request_with_another_uid_is_refused(cluster: ControlPlane) -> None:
    await create_pod(cluster)
    with pytest.raises(ApiError) as caught:
        await token_for(cluster, bound_object_ref=BoundObjectReference(kind="Pod", name="p", uid="other"))
    assert (caught.value.code, str(caught.value)) == (
        409,
        'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (other) does not '
        "match the UID in record. The object might have been deleted and then recreated",
    )


async def test_token_request_may_not_name_another_account(cluster: ControlPlane) -> None:
    request = TokenRequest(metadata=ObjectMeta(name="other"))
    with pytest.raises(ApiError) as caught:
        await cluster.client.create_subresource(ServiceAccount, "default", "token", request, "default")
    assert str(caught.value) == (
        'TokenRequest.authentication.k8s.io "default" is invalid: metadata.name: Invalid value: "other": '
        "must match the service account name if specified"
    )


async def test_a_token_is_reviewed(cluster: ControlPlane) -> None:
    token = await token_for(cluster)
    good = await cluster.client.create(TokenReview(spec=TokenReviewSpec(token=token)))
    assert good.status.authenticated
    assert good.status.user.username == "system:serviceaccount:default:default"
    assert good.status.audiences == (ISSUER,), "that of the server, if the question names none"
    bad = await cluster.client.create(TokenReview(spec=TokenReviewSpec(token=token + "x")))
    assert bad.status.authenticated is False
    other = TokenReviewSpec(token=token, audiences=("vault",))
    assert (await cluster.client.create(TokenReview(spec=other))).status.authenticated is False
    own = TokenReviewSpec(token=token, audiences=("vault", ISSUER))
    assert (await cluster.client.create(TokenReview(spec=own))).status.audiences == (ISSUER,)


async def test_self_reviews_answer_for_the_requesting_user(cluster: ControlPlane) -> None:
    bob = cluster.client_for(User("bob", ("system:authenticated",), uid="7"))
    answer = (await bob.create(SelfSubjectReview())).status.user_info
    assert (answer.username, answer.uid, answer.groups) == ("bob", "7", ("system:authenticated",))

    asked = ResourceAttributes(verb="create", resource="pods", namespace="default")
    review = SelfSubjectAccessReview(spec=SelfSubjectAccessReviewSpec(resource_attributes=asked))
    assert (await bob.create(review)).status.allowed is False
    assert (await cluster.client.create(review)).status.allowed is True

    about_bob = SubjectAccessReviewSpec(user="bob", resource_attributes=asked)
    assert (await cluster.client.create(SubjectAccessReview(spec=about_bob))).status.allowed is False

    rules = SelfSubjectRulesReview(spec=SelfSubjectRulesReviewSpec(namespace="default"))
    found = (await bob.create(rules)).status
    assert ("selfsubjectreviews",) in [each.resources for each in found.resource_rules]
    assert found.incomplete is False


async def test_answer_has_the_time_of_expiry(cluster: ControlPlane) -> None:
    request = TokenRequest(spec=TokenRequestSpec(expiration_seconds=700))
    answer = await cluster.client.create_subresource(ServiceAccount, "default", "token", request, "default")
    assert isinstance(answer, TokenRequest)
    expected = clock.seconds_precision(clock.now()) + timedelta(seconds=700)
    assert answer.status.expiration_timestamp == expected

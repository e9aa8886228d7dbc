"""Authentication by static and service account tokens."""

from __future__ import annotations

import pytest

from podling.api.authentication_v1 import (
    TokenRequest,
    TokenRequestSpec,
)
from podling.api.core_v1 import ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth.authn import Authenticator
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


class TestAuthenticator:
    async def test_static_and_service_account_tokens(self, cluster: ControlPlane) -> None:
        admin = User("admin", ("system:masters",))
        authenticator = Authenticator(cluster.server.tokens, {"secret": admin})
        assert authenticator.user_of(None, "Bearer secret") == admin
        token = await token_for(cluster)
        user = authenticator.user_of(None, f"Bearer {token}")
        assert user.name == "system:serviceaccount:default:default"
        assert authenticator.user_of(None, "").name == "system:anonymous"

    @pytest.mark.parametrize("header", ["Bearer wrong", "Bearer", "Basic c2VjcmV0", "secret"])
    async def test_malformed_or_unknown_credentials_are_refused(
        self, cluster: ControlPlane, header: str
    ) -> None:
        authenticator = Authenticator(cluster.server.tokens, {"secret": User("admin")})
        with pytest.raises(ApiError) as error:
            authenticator.user_of(None, header)
        assert (error.value.code, error.value.reason) == (401, "Unauthorized")

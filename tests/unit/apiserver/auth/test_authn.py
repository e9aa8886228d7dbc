"""Authentication by static and service account tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from podling.api.authentication_v1 import (
    TokenRequest,
    TokenRequestSpec,
)
from podling.api.core_v1 import ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth.authn import Authenticator
from podling.apiserver.auth.pki import Pki
from podling.apiserver.auth.signing import RequestSigner
from podling.client.requests import User
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.certificate_requests import request_pem


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

    async def test_certificate_that_expires_ends_its_connection_too(
        self, cluster: ControlPlane, tmp_path: Path
    ) -> None:
        signer = RequestSigner(Pki(tmp_path))
        pem = signer.sign(request_pem("jane", ["dev"]), ("digital signature", "client auth"), 600)
        der = x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)
        authenticator = Authenticator(cluster.server.tokens)
        assert authenticator.user_of(der, "").name == "jane"
        await cluster.advance(seconds=599)
        assert authenticator.user_of(der, "").name == "jane"
        await cluster.advance(seconds=2)
        with pytest.raises(ApiError) as error:
            authenticator.user_of(der, "")
        assert error.value.code == 401

"""Forged tokens: none without a valid signature of this cluster, or for another purpose, is accepted."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from podling.api.authentication_v1 import TokenRequest, TokenRequestSpec
from podling.api.core_v1 import ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth.authn import Authenticator
from podling.apiserver.auth.issuer import key_id
from podling.apiserver.auth.tokens import Tokens
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane

P256 = ec.generate_private_key(ec.SECP256R1())
P384 = ec.generate_private_key(ec.SECP384R1())
RSA = rsa.generate_private_key(65537, 2048)


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def part(value: Any) -> str:
    return encoded(json.dumps(value).encode())


class Real:
    """A valid token in parts, and the public half of the server's key."""

    def __init__(self, token: str, tokens: Tokens) -> None:
        self.token, self.tokens = token, tokens
        self.head, self.body, self.signature = token.split(".")
        self.claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
        self.public = tokens.public_key()
        self.key_id = key_id(self.public)

    def with_head(self, **head: Any) -> str:
        """Return the same claims and signature under another head."""
        return f"{part({'typ': 'JWT', **head})}.{self.body}.{self.signature}"

    def with_claims(self, **claims: Any) -> str:
        """Other claims under the signature of the real ones."""
        return f"{self.head}.{part(self.claims | claims)}.{self.signature}"

    def signed(self, key: Any, algorithm: str, **head: Any) -> str:
        return jwt.encode(self.claims, key, algorithm, headers={"kid": self.key_id, **head})

    def resigned(self, **claims: Any) -> str:
        """Other claims, signed with the server's own key: one that it has signed for something else."""
        return jwt.encode(
            self.claims | claims, self.tokens._private_key(), "ES256", headers={"kid": self.key_id}
        )

    def with_secret(self, secret: bytes) -> str:
        """Return the token signed with HMAC, with the public key as the secret."""
        signed = f"{part({'alg': 'HS256', 'typ': 'JWT', 'kid': self.key_id})}.{self.body}"
        return f"{signed}.{encoded(hmac.digest(secret, signed.encode(), hashlib.sha256))}"


PRIVATE = "kubernetes.io"
OTHER_ACCOUNT = {"namespace": "kube-system", "serviceaccount": {"name": "default", "uid": "u"}}
P256_KEY = json.loads(jwt.get_algorithm_by_name("ES256").to_jwk(P256.public_key()))

FORGED: dict[str, Callable[[Real], str]] = {
    "no algorithm": lambda real: f"{part({'alg': 'none', 'typ': 'JWT'})}.{real.body}.",
    "no algorithm, in capitals": lambda real: f"{part({'alg': 'NONE'})}.{real.body}.{real.signature}",
    "no signature": lambda real: f"{real.head}.{real.body}.",
    "two parts": lambda real: f"{real.head}.{real.body}",
    "four parts": lambda real: f"{real.token}.{real.signature}",
    "encrypted": lambda real: ".".join([part({"alg": "dir", "enc": "A256GCM"}), "", "YQ", "YQ", "YQ"]),
    "signature of zeros": lambda real: f"{real.head}.{real.body}.{encoded(bytes(64))}",
    "signature cut off": lambda real: real.token[:-4],
    "signature in DER": lambda real: f"{real.head}.{real.body}.{encoded(b'0' * 71)}",
    "public key as secret, PEM": lambda real: real.with_secret(
        real.public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    ),
    "public key as secret, DER": lambda real: real.with_secret(
        real.public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    ),
    "empty secret": lambda real: real.with_secret(b""),
    "another key": lambda real: real.signed(P256, "ES256"),
    "another key, in the head": lambda real: real.signed(P256, "ES256", jwk=P256_KEY),
    "another key, at an address": lambda real: real.signed(P256, "ES256", jku="https://127.0.0.1/keys"),
    "a key in a file": lambda real: real.signed(P256, "ES256", kid="../../../dev/null"),
    "another curve": lambda real: real.signed(P384, "ES384"),
    "another kind of key": lambda real: real.signed(RSA, "RS256"),
    "another algorithm": lambda real: real.with_head(alg="ES512", kid=real.key_id),
    "critical extension": lambda real: real.with_head(alg="ES256", crit=["x"], x=1),
    "another subject": lambda real: real.with_claims(sub="system:serviceaccount:kube-system:default"),
    "another account": lambda real: real.with_claims(**{PRIVATE: OTHER_ACCOUNT}),
    "a later end": lambda real: real.with_claims(exp=1 << 40),
    "signed for an unknown account": lambda real: real.resigned(**{PRIVATE: OTHER_ACCOUNT}),
    "signed without an account": lambda real: real.resigned(**{PRIVATE: {"namespace": "default"}}),
    "signed by another issuer": lambda real: real.resigned(iss="https://elsewhere"),
    "signed for another audience": lambda real: real.resigned(aud=["vault"]),
    "signed for later": lambda real: real.resigned(nbf=real.claims["iat"] + 3600),
    "signed for before": lambda real: real.resigned(exp=real.claims["iat"] - 3600),
    "claims that are a list": lambda real: f"{real.head}.{part([])}.{real.signature}",
    "a head that is a list": lambda real: f"{part([])}.{real.body}.{real.signature}",
    "no base64": lambda real: "a!.b!.c!",
    "very long": lambda real: f"{real.head}.{real.body}.{'A' * 60_000}",
    "deeply nested": lambda real: f"{encoded(b'[' * 40_000)}.{real.body}.{real.signature}",
}


@pytest.fixture
async def real(cluster: ControlPlane) -> Real:
    account = ServiceAccount(metadata=ObjectMeta(name="default", namespace="default"))
    await cluster.client.create(account)
    body = TokenRequest(spec=TokenRequestSpec())
    answer = await cluster.client.create_subresource(ServiceAccount, "default", "token", body, "default")
    assert isinstance(answer, TokenRequest)
    return Real(answer.status.token or "", cluster.server.tokens)


async def test_the_real_token_is_good(real: Real) -> None:
    user = Authenticator(real.tokens).user_of(None, f"Bearer {real.token}")
    assert user.name == "system:serviceaccount:default:default"
    assert real.tokens.user_of(real.resigned()) == user, "signing again is no forgery"


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
async def test_forged_tokens_are_refused(real: Real, forge: Callable[[Real], str]) -> None:
    authenticator = Authenticator(real.tokens)
    authenticator.user_of(None, f"Bearer {real.token}")  # the real one is remembered
    with pytest.raises(ApiError) as refused:
        authenticator.user_of(None, f"Bearer {forge(real)}")
    assert refused.value.code == 401

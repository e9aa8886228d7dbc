"""OpenID Connect discovery of the issuer of service account tokens, for clients that verify tokens.

Upstream: ``pkg/serviceaccount/openidmetadata.go``, ``pkg/routes/openidmetadata.go``.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

ISSUER = "https://kubernetes.default.svc.cluster.local"
ALGORITHM = "ES256"
KEYS_PATH = "/openid/v1/jwks"
MEDIA_TYPES = MappingProxyType({
    "/.well-known/openid-configuration": "application/json",
    KEYS_PATH: "application/jwk-set+json",
})  # fmt: skip
"""The documents, by path."""

KEPT = "public, max-age=3600"


def document(path: str, address: str, key: Callable[[], EllipticCurvePublicKey]) -> bytes:
    """One of the documents. ``address``: host and port under which the server is reached."""
    return msgspec.json.encode(_keys(key()) if path == KEYS_PATH else _configuration(address))


def key_id(key: EllipticCurvePublicKey) -> str:
    """Return the name under which tokens refer to the key that signed them."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    digest = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _configuration(address: str) -> dict[str, Any]:
    return {
        "issuer": ISSUER,
        "jwks_uri": f"https://{address}{KEYS_PATH}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [ALGORITHM],
    }


def _keys(key: EllipticCurvePublicKey) -> dict[str, Any]:
    from jwt.algorithms import ECAlgorithm

    described = ECAlgorithm.to_jwk(key, as_dict=True)
    return {"keys": [{"use": "sig", "kid": key_id(key), "alg": ALGORITHM, **described}]}

"""Tests of the warnings about TLS secrets."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

from podling.api.core_v1 import Secret
from podling.apiserver.kinds.common.base import Context
from tests.support.manifests import NOW, obj, rules

Key = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


def certificate(key: Key) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "web")])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, start, start + timedelta(days=1))
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(serialization.Encoding.PEM).decode()


KEY, OTHER, EDWARDS = (
    ec.generate_private_key(ec.SECP256R1()),
    ec.generate_private_key(ec.SECP256R1()),
    ed25519.Ed25519PrivateKey.generate(),
)
CERTIFICATE, PARAMETERS = (
    certificate(KEY),
    "-----BEGIN EC PARAMETERS-----\nAAAA\n-----END EC PARAMETERS-----\n",
)


def pem(key: Key) -> str:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


GARBAGE = "-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n"
PAIRS: list[tuple[str, str, str]] = [
    (CERTIFICATE, pem(KEY), ""),
    (CERTIFICATE, PARAMETERS + pem(KEY), ""),
    (certificate(EDWARDS), pem(EDWARDS), ""),
    (CERTIFICATE, pem(OTHER), "tls: private key does not match public key"),
    (CERTIFICATE, pem(EDWARDS), "tls: private key type does not match public key type"),
    ("", pem(KEY), "tls: failed to find any PEM data in certificate input"),
    (CERTIFICATE, "x", "tls: failed to find any PEM data in key input"),
    (
        pem(KEY),
        CERTIFICATE,
        "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM "
        "inputs may have been switched",
    ),
    (CERTIFICATE, CERTIFICATE, "tls: found a certificate rather than a key in the PEM for the private key"),
    (
        PARAMETERS + PARAMETERS,
        pem(KEY),
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the '
        "following types: [EC PARAMETERS EC PARAMETERS]",
    ),
    (
        CERTIFICATE,
        PARAMETERS,
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM '
        "blocks of the following types: [EC PARAMETERS]",
    ),
    (GARBAGE.format("CERTIFICATE"), pem(KEY), "x509: malformed certificate"),
    (CERTIFICATE, GARBAGE.format("PRIVATE KEY"), "tls: failed to parse private key"),
]


def warnings_of(thing: Any, old: Any = None) -> list[str]:
    return rules(type(thing)).warnings(thing, old, Context(NOW))


@pytest.mark.parametrize(("cert", "key", "expected"), PAIRS)
def test_mismatched_tls_pair_warns(cert: str, key: str, expected: str) -> None:
    data = {"tls.crt": cert, "tls.key": key}
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
    secret = obj(Secret, yaml.safe_dump({"type": "kubernetes.io/tls", "data": encoded}))
    assert warnings_of(secret) == ([expected] if expected else [])
    assert warnings_of(obj(Secret, yaml.safe_dump({"data": encoded}))) == []

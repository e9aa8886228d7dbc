"""Validation that the certificate and the key of a TLS secret form a pair.

Upstream: ``warningsForSecret`` in ``pkg/registry/core/secret``, which uses Go's ``tls.X509KeyPair``; the
texts are Go's. The cryptography library is imported when the first such secret is written.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from podling.machinery.certificate_requests import BLOCK

CERTIFICATE, KEY = "CERTIFICATE", "PRIVATE KEY"


def pair_problem(certificate_pem: bytes, key_pem: bytes) -> str:
    """Return the error in the pair; empty if there is none."""
    certificate, skipped = _first_block(certificate_pem, CERTIFICATE)
    if certificate is None:
        return _missing_certificate_error(skipped)
    key, skipped = _first_block(key_pem, KEY)
    if key is None:
        return _missing_key_error(skipped)
    return _mismatch_error(certificate, key)


def _first_block(pem: bytes, ending: str) -> tuple[bytes | None, list[str]]:
    """Return the first PEM block whose type has this ending, and the types of the blocks before it."""
    skipped: list[str] = []
    for found in BLOCK.finditer(pem):
        type_ = found[1].decode(errors="replace")
        if type_ == ending or (ending == KEY and type_.endswith(f" {KEY}")):
            lines = found[2].splitlines()
            text = b"".join(line for line in lines if b":" not in line)
            try:
                return base64.b64decode(text, validate=True), skipped
            except binascii.Error:
                continue  # Go skips a block that cannot be decoded
        skipped.append(type_)
    return None, skipped


def _missing_certificate_error(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in certificate input"
    if len(skipped) == 1 and skipped[0].endswith(KEY):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
            "PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the '
        f"following types: [{' '.join(skipped)}]"
    )


def _missing_key_error(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in key input"
    if skipped == [CERTIFICATE]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM '
        f"blocks of the following types: [{' '.join(skipped)}]"
    )


def _mismatch_error(certificate: bytes, key: bytes) -> str:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    unreadable = (ValueError, TypeError, UnsupportedAlgorithm)
    try:
        public: Any = x509.load_der_x509_certificate(certificate).public_key()
    except unreadable:
        return "x509: malformed certificate"
    try:
        private: Any = load_der_private_key(key, None)
    except unreadable:
        return "tls: failed to parse private key"
    own = private.public_key()
    if type(own) is not type(public):
        return "tls: private key type does not match public key type"
    return "" if own == public else "tls: private key does not match public key"

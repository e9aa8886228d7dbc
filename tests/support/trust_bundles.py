"""ClusterTrustBundles, and certificates of authorities that have signed them for themselves."""

from __future__ import annotations

import base64
import textwrap
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from podling.api.certificates_v1beta1 import ClusterTrustBundle
from podling.machinery.encoding import codec


@cache
def der(name: str, *, is_ca: bool = True) -> bytes:
    """Return the certificate of an authority, or one without constraints."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    began = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(
        issuer_name=subject,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=1,
        not_valid_before=began,
        not_valid_after=began + timedelta(days=1),
    )
    if is_ca:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def block(content: bytes, label: str = "CERTIFICATE", headers: str = "") -> str:
    """Return a block of PEM."""
    lines = "\n".join(textwrap.wrap(base64.b64encode(content).decode(), 64))
    return f"-----BEGIN {label}-----\n{headers}{lines}\n-----END {label}-----\n"


def bundle(name: str, signer: str = "", text: str | None = None, **metadata: Any) -> ClusterTrustBundle:
    """Return a bundle, of the certificate of one authority unless ``text`` is given."""
    content = block(der("root1")) if text is None else text
    plain = {"metadata": {"name": name, **metadata}, "spec": {"signerName": signer, "trustBundle": content}}
    return codec.from_plain(plain, ClusterTrustBundle)

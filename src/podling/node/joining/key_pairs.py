"""Keys, requests for certificates, and the files that keep a certificate beside its key.

Both are in one file, which is replaced as a whole: a certificate never stands beside the key of another.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from podling.apiserver.auth.pki import write_private

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

NODES = "system:nodes"


class Period(Struct, frozen=True):
    """The time for which a certificate is good, and the names in it."""

    begins: datetime
    ends: datetime
    user: str = ""
    addresses: tuple[str, ...] = ()


def new_key() -> bytes:
    """Return a private key (PEM)."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def request_pem(key: bytes, node: str, addresses: Sequence[str] = ()) -> bytes:
    """Return a request for a node's certificate (PEM): for its server if there are ``addresses``."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.x509.oid import NameOID

    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, NODES),
            x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}"),
        ]
    )
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if addresses:
        names: list[x509.GeneralName] = [x509.DNSName(node)]
        names += [x509.IPAddress(ipaddress.ip_address(each)) for each in addresses]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    request = builder.sign(_private_key(key), hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)


def key_digest(key: bytes) -> str:
    """Return a name for a key, made from its public half."""
    import hashlib

    from cryptography.hazmat.primitives import serialization

    public = (
        _private_key(key)
        .public_key()
        .public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return hashlib.sha256(public).hexdigest()[:32]


def period(certificate: bytes) -> Period:
    """Return the period of a certificate (PEM). Raises ``ValueError``."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    found = x509.load_pem_x509_certificate(certificate)
    names = [str(each.value) for each in found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    addresses: tuple[str, ...] = ()
    for extension in found.extensions:
        if isinstance(extension.value, x509.SubjectAlternativeName):
            addresses = tuple(map(str, extension.value.get_values_for_type(x509.IPAddress)))
    return Period(found.not_valid_before_utc, found.not_valid_after_utc, "".join(names[-1:]), addresses)


def certificate_fits(certificate: bytes, key: bytes) -> bool:
    """Return whether a certificate (PEM) is for the public half of a key. Raises ``ValueError``."""
    from cryptography import x509

    return x509.load_pem_x509_certificate(certificate).public_key() == _private_key(key).public_key()


class PairFile:
    """A file with a certificate and its key, as the kubelet keeps them (``kubelet-client-current.pem``)."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def period(self) -> Period | None:
        """Return the period of the certificate; None where there is none that can be used."""
        try:
            content = self.path.read_bytes()
            return period(content) if certificate_fits(content, content) else None
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def write(self, certificate: bytes, key: bytes) -> None:
        write_private(self.path, certificate + key)


def _private_key(key: bytes) -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    found = serialization.load_pem_private_key(key, None)
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise ValueError("not an elliptic-curve key")
    return found

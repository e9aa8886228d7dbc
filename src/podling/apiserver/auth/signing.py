"""Signing requests for certificates with the cluster's authority.

The subject and the alternative names are the request's, the usages are those that the caller has allowed;
nothing else of a request gets into its certificate, and none can sign others.

Upstream: ``pkg/controller/certificates/authority`` (``PermissiveSigningPolicy``).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from podling import clock, ids
from podling.apiserver.auth.pki import BACKDATED, CERTIFICATE_VALIDITY, Pki
from podling.machinery.certificate_requests import request_block

if TYPE_CHECKING:
    from cryptography import x509

SHORTEST = timedelta(minutes=10)
SHORT = timedelta(hours=8)
"""Certificates for less than this last the full requested time; longer ones lose the back-dating."""

_KEY_USAGES = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_EXTENDED_USAGES = {
    "any": "2.5.29.37.0",
    "server auth": "1.3.6.1.5.5.7.3.1",
    "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3",
    "email protection": "1.3.6.1.5.5.7.3.4",
    "s/mime": "1.3.6.1.5.5.7.3.4",
    "ipsec end system": "1.3.6.1.5.5.7.3.5",
    "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
    "ipsec user": "1.3.6.1.5.5.7.3.7",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9",
    "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
    "netscape sgc": "2.16.840.1.113730.4.1",
}
"""In the order in which certificates have them."""


def lifetime(seconds: int | None) -> timedelta:
    """Return the lifetime of a certificate: the requested one, limited to between ten minutes and a year."""
    if seconds is None:
        return CERTIFICATE_VALIDITY
    return max(SHORTEST, min(timedelta(seconds=seconds), CERTIFICATE_VALIDITY))


def period(ttl: timedelta, now: datetime, authority_ends: datetime) -> tuple[datetime, datetime]:
    """From when until when a certificate is good. Raises ``ValueError`` if the authority is over."""
    end = now + ttl if ttl < SHORT else now + ttl - BACKDATED
    if now - BACKDATED >= authority_ends:
        raise ValueError(f"the signer has expired: NotAfter={authority_ends}")
    if now >= authority_ends:
        raise ValueError(
            f"refusing to sign a certificate that expired in the past: NotAfter={authority_ends}"
        )
    return now - BACKDATED, min(end, authority_ends)


class RequestSigner:
    """Signs what was approved, in the name of the cluster's authority."""

    def __init__(self, pki: Pki) -> None:
        self._pki = pki

    def sign(self, request: bytes, usages: Sequence[str], seconds: int | None) -> bytes:
        """Return a certificate (PEM) for ``request`` (PEM), good for ``seconds``; None for a year.

        Raises ``ValueError`` for a request that is none, for unknown usages, and when the authority is over.
        """
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization

        csr = x509.load_pem_x509_csr(request_block(request))
        if not csr.is_signature_valid:
            raise ValueError("unable to verify certificate request signature")
        authority, key = self._pki.authority()
        begin, end = period(lifetime(seconds), clock.machine_now(), authority.not_valid_after_utc)
        builder = (
            x509.CertificateBuilder()
            .subject_name(csr.subject)
            .issuer_name(authority.subject)
            .public_key(csr.public_key())
            .serial_number(ids.serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
        )
        for extension, critical in _extensions(csr, usages, authority):
            builder = builder.add_extension(extension, critical)
        return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _extensions(
    csr: x509.CertificateSigningRequest, usages: Sequence[str], authority: x509.Certificate
) -> list[tuple[x509.ExtensionType, bool]]:
    """Return the extensions of the certificate, each with its critical flag."""
    from cryptography import x509

    unknown = [each for each in usages if each not in _KEY_USAGES and each not in _EXTENDED_USAGES]
    if unknown:
        raise ValueError(f"unrecognized usage values: {unknown}")
    found: list[tuple[x509.ExtensionType, bool]] = []
    chosen = {_KEY_USAGES[each] for each in usages if each in _KEY_USAGES}
    if chosen:
        found.append((x509.KeyUsage(**{each: each in chosen for each in _KEY_USAGES.values()}), True))
    extended = dict.fromkeys(oid for usage, oid in _EXTENDED_USAGES.items() if usage in usages)
    if extended:
        found.append((x509.ExtendedKeyUsage([x509.ObjectIdentifier(oid) for oid in extended]), False))
    found.append((x509.BasicConstraints(ca=False, path_length=None), True))
    known = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())  # type: ignore[arg-type]
    found.append((known, False))
    names = _alternative_names(csr)
    if names:
        found.append((x509.SubjectAlternativeName(names), not list(csr.subject)))
    return found


def _alternative_names(csr: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    """Of the other names those kinds that certificates of a cluster may have."""
    from cryptography import x509

    kinds = (x509.DNSName, x509.RFC822Name, x509.IPAddress, x509.UniformResourceIdentifier)
    return [
        name
        for extension in csr.extensions
        if isinstance(extension.value, x509.SubjectAlternativeName)
        for name in extension.value
        if isinstance(name, kinds)
    ]

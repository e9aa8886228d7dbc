"""Certificates for approved requests: their lifetime, and what gets into them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from podling.apiserver.auth.pki import BACKDATED, CERTIFICATE_VALIDITY, Pki
from podling.apiserver.auth.signing import SHORT, SHORTEST, RequestSigner, lifetime, period
from podling.sim.loop import EPOCH

YEARS = timedelta(days=3650)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (None, CERTIFICATE_VALIDITY),
        (0, SHORTEST),
        (599, SHORTEST),
        (601, timedelta(seconds=601)),
        (10**10, CERTIFICATE_VALIDITY),
    ],
)
def test_lifetime_is_between_ten_minutes_and_the_default(seconds: int | None, expected: timedelta) -> None:
    assert lifetime(seconds) == expected


@pytest.mark.parametrize(
    ("ttl", "authority_ends", "end"),
    [
        (HOUR, YEARS, HOUR),
        (SHORT, YEARS, SHORT - BACKDATED),
        (timedelta(days=90), YEARS, timedelta(days=90) - BACKDATED),
        (timedelta(days=90), HOUR, HOUR),
    ],
)
def test_certificate_ends_with_its_lifetime_or_its_authority(
    ttl: timedelta, authority_ends: timedelta, end: timedelta
) -> None:
    assert period(ttl, EPOCH, EPOCH + authority_ends) == (EPOCH - BACKDATED, EPOCH + end)


@pytest.mark.parametrize(
    ("ended", "why"),
    [
        (timedelta(0), "refusing to sign a certificate that expired in the past"),
        (BACKDATED, "the signer has expired"),
    ],
)
def test_expired_authority_signs_nothing(ended: timedelta, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        period(HOUR, EPOCH, EPOCH - ended)


def request_for(*extensions: x509.ExtensionType) -> bytes:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ann")])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    for each in extensions:
        builder = builder.add_extension(each, critical=False)
    return builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(
        serialization.Encoding.PEM
    )


@pytest.fixture
def signer(tmp_path: Path) -> RequestSigner:
    return RequestSigner(Pki(tmp_path))


def test_requested_authority_and_unsupported_names_are_left_out(signer: RequestSigner) -> None:
    names = x509.SubjectAlternativeName(
        [x509.DNSName("a.example.com"), x509.RegisteredID(x509.ObjectIdentifier("1.2.3"))]
    )
    request = request_for(x509.BasicConstraints(ca=True, path_length=None), names)
    signed = x509.load_pem_x509_certificate(signer.sign(request, ("client auth",), 3600))
    assert signed.subject.rfc4514_string() == "CN=ann"
    assert not signed.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    kept = signed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(kept) == [x509.DNSName("a.example.com")]


def test_certificate_has_the_approved_usages(signer: RequestSigner) -> None:
    signed = x509.load_pem_x509_certificate(
        signer.sign(request_for(), ("server auth", "client auth", "key encipherment"), None)
    )
    usage = signed.extensions.get_extension_for_class(x509.KeyUsage)
    assert (usage.critical, usage.value.key_encipherment, usage.value.digital_signature) == (
        True,
        True,
        False,
    )
    extended = signed.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(extended) == [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]


def test_unknown_usage_is_refused(signer: RequestSigner) -> None:
    with pytest.raises(ValueError, match="unrecognized usage values"):
        signer.sign(request_for(), ("flying",), None)

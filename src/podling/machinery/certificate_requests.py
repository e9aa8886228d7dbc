"""Certificate signing requests (PKCS #10): the subject and the other names requested.

Pure. The first request that is read loads the library.
Upstream: ``ParseCSR`` in ``pkg/apis/certificates/helpers.go``, with Go's ``x509.CertificateRequest``.
"""

from __future__ import annotations

import base64
import binascii
import re

from msgspec import Struct

BLOCK = re.compile(rb"-----BEGIN ([^-\n]*)-----\s(.*?)-----END \1-----", re.DOTALL)
REQUEST = b"CERTIFICATE REQUEST"
NOT_A_REQUEST = "PEM block type must be CERTIFICATE REQUEST"


class Wanted(Struct, frozen=True):
    """The names that a request wants in its certificate."""

    common_name: str = ""
    organizations: tuple[str, ...] = ()
    dns_names: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()


class PemBlock(Struct, frozen=True):
    """A block of PEM; ``content`` is what is encoded in it."""

    label: str
    content: bytes
    has_headers: bool = False


def pem_blocks(pem: bytes) -> list[PemBlock]:
    """Return the blocks in a text; like Go's ``pem.Decode``, leave out those that are no base64."""
    found = []
    for block in BLOCK.finditer(pem):
        lines = block[2].splitlines()
        encoded = b"".join(b"".join(line.split()) for line in lines if b":" not in line)
        try:
            content = base64.b64decode(encoded, validate=True)
        except binascii.Error:
            continue
        found.append(PemBlock(block[1].decode(errors="replace"), content, b":" in block[2]))
    return found


def pem_of(encoded: str | None) -> bytes:
    """Return a ``[]byte`` field of the API as bytes; empty where it is no base64."""
    try:
        return base64.b64decode(encoded or "", validate=True)
    except binascii.Error:
        return b""


def request_block(pem: bytes) -> bytes:
    """Return the first PEM block, which must be a request. Raises ``ValueError``."""
    found = BLOCK.search(pem)
    if found is None or found[1] != REQUEST:
        raise ValueError(NOT_A_REQUEST)
    return found[0]


def wanted(pem: bytes) -> Wanted:
    """Return the names in a request. Raises ``ValueError`` for text that is no request."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    request = x509.load_pem_x509_csr(request_block(pem))
    subject, names = request.subject, x509.GeneralNames([])
    common = [str(each.value) for each in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    organizations = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    for extension in request.extensions:
        if isinstance(extension.value, x509.SubjectAlternativeName):
            names = x509.GeneralNames(extension.value)
    return Wanted(
        common[-1] if common else "",
        tuple(str(each.value) for each in organizations),
        tuple(names.get_values_for_type(x509.DNSName)),
        tuple(names.get_values_for_type(x509.RFC822Name)),
        tuple(str(each) for each in names.get_values_for_type(x509.IPAddress)),
        tuple(names.get_values_for_type(x509.UniformResourceIdentifier)),
    )

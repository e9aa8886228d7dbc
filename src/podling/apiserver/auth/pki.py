"""The cluster's own certificate authority, and the certificates and keys made with it.

Everything lives in one folder, readable by its owner alone, and is used again on the next start; what is
missing or about to expire is made anew, and the authority itself is never replaced silently, because every
kubeconfig in use trusts it.

Users are client certificates: the common name is the user, the organisations are the groups.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from podling import clock, ids

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

CA_VALIDITY = timedelta(days=3650)
CERTIFICATE_VALIDITY = timedelta(days=365)
RENEW_BEFORE = timedelta(days=30)
WAY_OUT = (
    "restore it from a backup, or remove the folder: then a new authority is made, and every kubeconfig and "
    "token in use has to be replaced"
)
BACKDATED = timedelta(minutes=5)
"""Certificates count from a little earlier: clocks of other machines may be behind."""

SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


class KeyPair(Struct, frozen=True):
    """Paths of a certificate and its private key (PEM)."""

    certificate: Path
    key: Path


class PkiDamaged(Exception):
    """A key or certificate that must not be replaced silently is missing or damaged."""


class Pki:
    """The authority in ``folder``; made on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.ca = KeyPair(folder / "ca.crt", folder / "ca.key")
        self.signing_key = folder / "service-account.key"
        self._authority: tuple[x509.Certificate, EllipticCurvePrivateKey] | None = None

    @property
    def ca_pem(self) -> bytes:
        """The authority's certificate, for clients to trust."""
        self.authority()
        return self.ca.certificate.read_bytes()

    def server(self, name: str, addresses: Iterable[str]) -> KeyPair:
        """Return a serving certificate for the API server's names and ``addresses`` (IPs or DNS names)."""
        return self._issue(f"{name}-server", name, (), tuple(dict.fromkeys((*SERVER_NAMES, *addresses))))

    def node_server(self, node: str, addresses: Iterable[str]) -> KeyPair:
        """Return a kubelet's serving certificate."""
        names = tuple(dict.fromkeys((node, *addresses)))
        return self._issue(f"node-{node}-server", f"system:node:{node}", ("system:nodes",), names)

    def client(self, file_name: str, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """Return a client certificate for ``user``, member of ``groups``."""
        return self._issue(file_name, user, tuple(groups), ())

    def admin(self) -> KeyPair:
        return self.client("admin", "kubernetes-admin", ("system:masters",))

    def node(self, node: str) -> KeyPair:
        """Return a kubelet's client certificate."""
        return self.client(f"node-{node}", f"system:node:{node}", ("system:nodes",))

    def kubelet_client(self) -> KeyPair:
        """Return the certificate that the API server presents to kubelets."""
        return self.client("apiserver-kubelet-client", "kube-apiserver-kubelet-client", ("system:masters",))

    def service_account_key(self) -> bytes:
        """Return the private key (PEM) that signs service account tokens. Raises ``PkiDamaged``."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        if not self.signing_key.exists():
            write_private(self.signing_key, _key_pem(ec.generate_private_key(ec.SECP256R1())))
        key = self.signing_key.read_bytes()
        try:
            serialization.load_pem_private_key(key, None)
        except _unreadable() as error:
            raise PkiDamaged(
                f"{self.signing_key} is not a private key: {error}; restore it from a backup, or remove it: "
                "then every token of a service account has to be made again"
            ) from error
        return key

    def _issue(self, file_name: str, user: str, groups: tuple[str, ...], names: tuple[str, ...]) -> KeyPair:
        """Return the pair under ``file_name``: the one there if it still serves, else a new one."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        pair = KeyPair(self.folder / f"{file_name}.crt", self.folder / f"{file_name}.key")
        now = clock.machine_now()
        authority, authority_key = self.authority()
        if _serves(pair, authority, names, now):
            return pair
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(user, groups, names, key, authority, now).sign(authority_key, _sha256())
        write_private(pair.key, _key_pem(key))
        write_private(pair.certificate, certificate.public_bytes(serialization.Encoding.PEM))
        return pair

    def authority(self) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
        """Return the authority's certificate and its key. Raises ``PkiDamaged``."""
        if self._authority is None:
            self._check_complete()
            try:
                self._authority = self._read_authority() if self.ca.key.exists() else self._new_authority()
            except _unreadable() as error:
                raise PkiDamaged(
                    f"{self.folder}: the cluster's authority is damaged: {error}; {WAY_OUT}"
                ) from error
        return self._authority

    def _check_complete(self) -> None:
        """Raise ``PkiDamaged`` if half of an authority that has issued certificates is missing."""
        pair = (self.ca.certificate, self.ca.key)
        missing = [path for path in pair if not path.exists()]
        issued = any(path not in pair for path in self.folder.glob("*.crt"))
        if missing and (issued or missing == [self.ca.certificate]):
            raise PkiDamaged(f"{missing[0]} is missing; {WAY_OUT}")

    def _read_authority(self) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = serialization.load_pem_private_key(self.ca.key.read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{self.ca.key} is not an elliptic-curve key")
        certificate = x509.load_pem_x509_certificate(self.ca.certificate.read_bytes())
        if certificate.public_key() != key.public_key():
            raise ValueError(f"{self.ca.certificate} is not the certificate of {self.ca.key}")
        return certificate, key

    def _new_authority(self) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key, now = ec.generate_private_key(ec.SECP256R1()), clock.machine_now()
        name = _name("podling-ca")
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(ids.serial_number())
            .not_valid_before(now - BACKDATED)
            .not_valid_after(now + CA_VALIDITY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, _sha256())
        )
        # The key last: where it exists, the authority is complete.
        write_private(self.ca.certificate, certificate.public_bytes(serialization.Encoding.PEM))
        write_private(self.ca.key, _key_pem(key))
        return certificate, key


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    fresh = path.with_name(path.name + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _serves(pair: KeyPair, authority: x509.Certificate, names: tuple[str, ...], now: datetime) -> bool:
    """Return whether the pair on disk is signed by the authority, lasts a while and has all names.

    A damaged pair is replaced, like one that has expired.
    """
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import serialization

    if not (pair.key.exists() and pair.certificate.exists()):
        return False
    damages: tuple[type[Exception], ...] = (*_unreadable(), InvalidSignature, x509.ExtensionNotFound)
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
        key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
        matching = certificate.public_key() == key.public_key()
        certificate.verify_directly_issued_by(authority)
        known = (
            certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value if names else ()
        )
    except damages:
        return False
    lasting = now + RENEW_BEFORE <= certificate.not_valid_after_utc
    return matching and lasting and set(_general_names(names)) <= set(known)


def _unreadable() -> tuple[type[Exception], ...]:
    """Return what reading a PEM file raises: it is damaged, encrypted (TypeError) or of an unknown kind."""
    from cryptography.exceptions import UnsupportedAlgorithm

    return ValueError, TypeError, UnsupportedAlgorithm


def _certificate(
    user: str,
    groups: tuple[str, ...],
    names: tuple[str, ...],
    key: EllipticCurvePrivateKey,
    authority: x509.Certificate,
    now: datetime,
) -> x509.CertificateBuilder:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    usages = [ExtendedKeyUsageOID.CLIENT_AUTH] + ([ExtendedKeyUsageOID.SERVER_AUTH] if names else [])
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(user, groups))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(ids.serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(min(now + CERTIFICATE_VALIDITY, authority.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(
                authority.public_key()  # type: ignore[arg-type]
            ),
            critical=False,
        )
    )
    if names:
        alternative = x509.SubjectAlternativeName(_general_names(names))
        builder = builder.add_extension(alternative, critical=False)
    return builder


def _general_names(names: tuple[str, ...]) -> list[x509.GeneralName]:
    from cryptography import x509

    found: list[x509.GeneralName] = []
    for name in names:
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            found.append(x509.DNSName(name))
    return found


def _name(user: str, groups: tuple[str, ...] = ()) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        key_encipherment=False,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _key_pem(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _sha256() -> hashes.SHA256:
    from cryptography.hazmat.primitives import hashes

    return hashes.SHA256()

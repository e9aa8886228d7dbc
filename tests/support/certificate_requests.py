"""Requests for certificates, with keys of their own."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Sequence
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING = "kubernetes.io/kubelet-serving"


@cache
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem() -> bytes:
    return key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def request_pem(user: str, groups: Sequence[str] = (), names: Sequence[str] = ()) -> bytes:
    """A request for ``user``, in ``groups``; ``names`` as ``dns:...``, ``ip:``, ``email:``, ``uri:``."""
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, user)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if names:
        found = x509.SubjectAlternativeName([_general_name(each) for each in names])
        builder = builder.add_extension(found, critical=False)
    return builder.sign(key(), hashes.SHA256()).public_bytes(Encoding.PEM)


def _general_name(text: str) -> x509.GeneralName:
    kind, _, value = text.partition(":")
    if kind == "ip":
        return x509.IPAddress(ipaddress.ip_address(value))
    if kind == "email":
        return x509.RFC822Name(value)
    return x509.DNSName(value) if kind == "dns" else x509.UniformResourceIdentifier(value)


def manifest(
    name: str, request: bytes, usages: Sequence[str], signer: str = CLIENT, **spec: Any
) -> dict[str, Any]:
    """Return a CertificateSigningRequest as a user writes it."""
    wanted = {"request": base64.b64encode(request).decode(), "signerName": signer, "usages": list(usages)}
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {**wanted, **spec},
    }

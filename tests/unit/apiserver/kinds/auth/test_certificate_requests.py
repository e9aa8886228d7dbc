"""Tests of the rules of CertificateSigningRequests and their subresources."""

from __future__ import annotations

import base64
from datetime import timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from podling.api.certificates_v1 import CertificateSigningRequest
from podling.apiserver.kinds.common.base import Context
from podling.machinery.encoding import codec
from tests.support.causes import forbidden, invalid
from tests.support.manifests import NOW, change_causes, created, obj, rules

CSR = CertificateSigningRequest


@cache
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jane")])


@cache
def request() -> str:
    made = x509.CertificateSigningRequestBuilder().subject_name(NAME).sign(key(), hashes.SHA256())
    return base64.b64encode(made.public_bytes(Encoding.PEM)).decode()


def base() -> dict[str, Any]:
    return {
        "metadata": {"name": "jane"},
        "spec": {
            "request": request(),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    }


APPROVED = "{type: Approved, status: 'True', reason: Fine}"


def test_requesting_user_is_recorded() -> None:
    asked = obj(CSR, f"{{spec: {{username: root}}, status: {{conditions: [{APPROVED}]}}}}", base())
    context = Context(NOW, "jane", groups=("dev",), uid="7", extra={"a": ("b",)})
    made = rules(CSR).prepare_create(asked, context)
    plain = codec.to_plain(made)
    assert {name: plain["spec"][name] for name in ("username", "groups", "uid", "extra")} == {
        "username": "jane",
        "groups": ["dev"],
        "uid": "7",
        "extra": {"a": ["b"]},
    }
    assert "status" not in plain or plain["status"] == {}


def test_only_approval_subresource_adds_approval() -> None:
    old = created(obj(CSR, "", base()))
    approved = obj(CSR, f"status: {{conditions: [{APPROVED}]}}", base())
    assert change_causes(approved, old, "approval") == []
    assert change_causes(approved, old, "status") == [
        forbidden("status.conditions", 'updates may not add a condition of type "Approved"')
    ]
    assert change_causes(approved, old) == []
    assert rules(CSR).prepare_update(approved, old, Context(NOW)).status == old.status


def test_approval_cannot_be_removed_or_contradicted() -> None:
    own, context = rules(CSR), Context(NOW, subresource="approval")
    asked = created(obj(CSR, "", base()))
    old = own.prepare_update(obj(CSR, f"status: {{conditions: [{APPROVED}]}}", base()), asked, context)
    (condition,) = old.status.conditions
    assert condition.last_update_time == condition.last_transition_time == NOW
    assert change_causes(obj(CSR, "", base()), old, "approval") == [
        forbidden("status.conditions", 'updates may not remove a condition of type "Approved"')
    ]
    both = obj(CSR, f"status: {{conditions: [{APPROVED}, {{type: Denied, status: 'True'}}]}}", base())
    assert change_causes(both, old, "approval") == [
        invalid(
            "status.conditions[1].type", '"Denied"', "Approved and Denied conditions are mutually exclusive"
        )
    ]


@cache
def certificate() -> str:
    made = (
        x509.CertificateBuilder()
        .subject_name(NAME)
        .issuer_name(NAME)
        .public_key(key().public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=1))
        .sign(key(), hashes.SHA256())
    )
    return base64.b64encode(made.public_bytes(Encoding.PEM)).decode()


def test_issued_certificate_cannot_change() -> None:
    old = created(obj(CSR, "", base()))
    issued = obj(CSR, f"status: {{certificate: {certificate()}}}", base())
    assert change_causes(issued, old, "status") == []
    assert change_causes(old, issued, "status") == [
        forbidden("status.certificate", "updates may not modify existing certificate content")
    ]
    nonsense = obj(CSR, "status: {certificate: aGVsbG8=}", base())
    assert change_causes(nonsense, old, "status") == [
        invalid(
            "status.certificate",
            '"<certificate data>"',
            "must contain at least one CERTIFICATE PEM block",
        )
    ]


def test_name_of_certificate_request_may_have_spaces() -> None:
    assert rules(CSR).name_errors("Jane Doe") == []

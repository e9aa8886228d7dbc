"""Tests of the validation of CertificateSigningRequests."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from podling.api.certificates_v1 import CertificateSigningRequest
from tests.support.causes import LABEL_TEXT, Cause, Row, duplicate, invalid, required
from tests.support.manifests import change_causes, created, creation_causes, obj

S = "spec.signerName"
CAUSES: list[Row] = [
    ("", []),
    (
        "spec: {request: aGVsbG8=}",
        [invalid("spec.request", '"aGVsbG8="', "PEM block type must be CERTIFICATE REQUEST")],
    ),
    ("spec: {usages: []}", [required("spec.usages")]),
    ("spec: {usages: [client auth, client auth]}", [duplicate("spec.usages[1]", '"client auth"')]),
    ("spec: {signerName: ''}", [required(S)]),
    (
        "spec: {signerName: kubernetes.io/legacy-unknown}",
        [
            invalid(
                S,
                '"kubernetes.io/legacy-unknown"',
                "the legacy signerName is not allowed via this API version",
            )
        ],
    ),
    (
        "spec: {signerName: a}",
        [
            invalid(
                S,
                '"a"',
                "must be a fully qualified domain and path of the form 'example.com/signer-name'",
            )
        ],
    ),
    (
        "spec: {signerName: A/b}",
        [
            invalid(S, '"A"', f'validating label "A": {LABEL_TEXT}'),
            invalid(S, '"A"', "should be a domain with at least two segments separated by dots"),
        ],
    ),
    (
        "spec: {expirationSeconds: 599}",
        [
            invalid(
                "spec.expirationSeconds",
                "599",
                "may not specify a duration less than 600 seconds (10 minutes)",
            )
        ],
    ),
]
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


@pytest.mark.parametrize(("text", "expected"), CAUSES)
def test_invalid_certificate_request_is_refused_with_causes(text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(CSR, text, base()))) == expected


def test_unknown_usage_is_refused() -> None:
    ((field, reason, message),) = creation_causes(created(obj(CSR, "spec: {usages: [fun]}", base())))
    assert (field, reason) == ("spec.usages[0]", "FieldValueNotSupported")
    assert message.startswith('Unsupported value: "fun": supported values: "any", "cert sign", ')


def test_request_signed_by_another_key_is_refused() -> None:
    pem = bytearray(base64.b64decode(request()))
    body = base64.b64decode(b"".join(bytes(pem).splitlines()[1:-1]))
    spoiled = body[:-1] + bytes([body[-1] ^ 1])
    text = base64.encodebytes(spoiled)
    wrong = b"-----BEGIN CERTIFICATE REQUEST-----\n" + text + b"-----END CERTIFICATE REQUEST-----\n"
    shown = base64.b64encode(wrong).decode()
    ((field, _, message),) = creation_causes(created(obj(CSR, f"spec: {{request: {shown}}}", base())))
    assert field == "spec.request"
    assert message.endswith("x509: signature verification failed")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("{type: '', status: 'True'}", [required("status.conditions[0].type")]),
        ("{type: Failed, status: ''}", [required("status.conditions[0].status")]),
        (
            "{type: Failed, status: 'False'}",
            [
                (
                    "status.conditions[0].status",
                    "FieldValueNotSupported",
                    'Unsupported value: "False": supported values: "True"',
                )
            ],
        ),
    ],
)
def test_conditions_of_certificate_request_are_validated(condition: str, expected: list[Cause]) -> None:
    old = created(obj(CSR, "", base()))
    new = obj(CSR, f"status: {{conditions: [{condition}]}}", base())
    assert change_causes(new, old, "status") == expected

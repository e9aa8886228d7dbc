"""Certificate signing requests: who asks, what is refused, and which step may write what."""

from __future__ import annotations

import base64
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from podling.api.certificates_v1 import CertificateSigningRequest
from podling.apiserver.kinds.common.base import Context
from podling.machinery.encoding import codec
from tests.support.causes import LABEL_TEXT, Cause, Row, duplicate, forbidden, invalid, required
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

CSR = CertificateSigningRequest
NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jane")])


@cache
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@cache
def request() -> str:
    made = x509.CertificateSigningRequestBuilder().subject_name(NAME).sign(key(), hashes.SHA256())
    return base64.b64encode(made.public_bytes(Encoding.PEM)).decode()


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


@pytest.mark.parametrize(("text", "expected"), CAUSES)
def test_causes(text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(CSR, text, base()))) == expected


def test_usages_are_known_words() -> None:
    ((field, reason, message),) = creation_causes(created(obj(CSR, "spec: {usages: [fun]}", base())))
    assert (field, reason) == ("spec.usages[0]", "FieldValueNotSupported")
    assert message.startswith('Unsupported value: "fun": supported values: "any", "cert sign", ')


def test_a_request_signed_by_another_key_is_refused() -> None:
    pem = bytearray(base64.b64decode(request()))
    body = base64.b64decode(b"".join(bytes(pem).splitlines()[1:-1]))
    spoiled = body[:-1] + bytes([body[-1] ^ 1])
    text = base64.encodebytes(spoiled)
    wrong = b"-----BEGIN CERTIFICATE REQUEST-----\n" + text + b"-----END CERTIFICATE REQUEST-----\n"
    shown = base64.b64encode(wrong).decode()
    ((field, _, message),) = creation_causes(created(obj(CSR, f"spec: {{request: {shown}}}", base())))
    assert field == "spec.request"
    assert message.endswith("x509: signature verification failed")


def test_whoever_asks_is_recorded() -> None:
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


def test_approval_is_for_the_approval_alone() -> None:
    old = created(obj(CSR, "", base()))
    approved = obj(CSR, f"status: {{conditions: [{APPROVED}]}}", base())
    assert change_causes(approved, old, "approval") == []
    assert change_causes(approved, old, "status") == [
        forbidden("status.conditions", 'updates may not add a condition of type "Approved"')
    ]
    assert change_causes(approved, old) == []
    assert rules(CSR).prepare_update(approved, old, Context(NOW)).status == old.status


def test_a_decision_stays_and_is_one() -> None:
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
def test_conditions(condition: str, expected: list[Cause]) -> None:
    old = created(obj(CSR, "", base()))
    new = obj(CSR, f"status: {{conditions: [{condition}]}}", base())
    assert change_causes(new, old, "status") == expected


def test_a_certificate_is_issued_once() -> None:
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


def test_any_name_will_do() -> None:
    assert rules(CSR).name_errors("Jane Doe") == []

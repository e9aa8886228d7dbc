"""Rules of the signers for certificate requests."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest

from podling.api.certificates_v1 import (
    CertificateSigningRequest,
    CertificateSigningRequestCondition,
    CertificateSigningRequestSpec,
    CertificateSigningRequestStatus,
)
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.auth.certificate_rules import NODE as NEW_NODE
from podling.controllers.auth.certificate_rules import SELF_NODE, is_over, recognized, refusal
from podling.machinery.certificate_requests import wanted
from tests.support.certificate_requests import (
    CLIENT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    request_pem,
)

NODE = ("system:node:n1", ["system:nodes"])


CLIENT_USAGES = ["digital signature", "client auth"]


SERVING_USAGES = ["digital signature", "server auth"]


CLIENT_LIST = "[client auth digital signature key encipherment]"


SERVER_LIST = "[digital signature key encipherment server auth]"


N, G = NODE


@pytest.mark.parametrize(
    ("signer", "user", "groups", "names", "usages", "why"),
    [
        (CLIENT, "x", [], [], ["client auth"], ""),
        (CLIENT, "x", [], ["dns:a.example"], [*CLIENT_USAGES, "key encipherment"], ""),
        (
            CLIENT,
            "x",
            [],
            [],
            ["digital signature"],
            "missing required usage for client certificate: client auth",
        ),
        (KUBELET_CLIENT, N, G, [], CLIENT_USAGES, ""),
        (KUBELET_CLIENT, N, G, [], [*CLIENT_USAGES, "key encipherment"], ""),
        (KUBELET_CLIENT, N, [*G, "x"], [], CLIENT_USAGES, "subject organization is not system:nodes"),
        (KUBELET_CLIENT, N, G, ["dns:a.example"], CLIENT_USAGES, "DNS subjectAltNames are not allowed"),
        (KUBELET_CLIENT, N, G, ["email:a@b.example"], CLIENT_USAGES, "Email subjectAltNames are not allowed"),
        (KUBELET_CLIENT, N, G, ["ip:10.0.0.1"], CLIENT_USAGES, "IP subjectAltNames are not allowed"),
        (KUBELET_CLIENT, N, G, ["uri:spiffe://a"], CLIENT_USAGES, "URI subjectAltNames are not allowed"),
        (
            KUBELET_CLIENT,
            "n1",
            G,
            [],
            CLIENT_USAGES,
            "subject common name does not begin with system:node:",
        ),
        (KUBELET_CLIENT, N, G, [], ["client auth"], f"usages did not match {CLIENT_LIST}"),
        (KUBELET_SERVING, N, G, ["dns:n1", "ip:10.0.0.1"], SERVING_USAGES, ""),
        (KUBELET_SERVING, N, [], ["dns:n1"], SERVING_USAGES, "subject organization is not system:nodes"),
        (KUBELET_SERVING, N, G, [], SERVING_USAGES, "DNS or IP subjectAltName is required"),
        (
            KUBELET_SERVING,
            N,
            G,
            ["dns:n1", "email:a@b.example"],
            SERVING_USAGES,
            "Email subjectAltNames are not allowed",
        ),
        (
            KUBELET_SERVING,
            N,
            G,
            ["dns:n1", "uri:spiffe://a"],
            SERVING_USAGES,
            "URI subjectAltNames are not allowed",
        ),
        (KUBELET_SERVING, N, G, ["dns:n1"], CLIENT_USAGES, f"usages did not match {SERVER_LIST}"),
        (
            KUBELET_SERVING,
            "n1",
            G,
            ["dns:n1"],
            SERVING_USAGES,
            "subject common name does not begin with system:node:",
        ),
        ("kubernetes.io/legacy-unknown", "x", [], ["dns:n1"], ["code signing"], ""),
    ],
)
def test_rules_of_signers(
    signer: str, user: str, groups: list[str], names: list[str], usages: list[str], why: str
) -> None:
    assert refusal(signer, wanted(request_pem(user, groups, names)), usages) == why


FULL = ["digital signature", "key encipherment", "client auth"]


@pytest.mark.parametrize(
    ("requestor", "name", "groups", "usages", "as_what"),
    [
        (N, N, G, FULL, (SELF_NODE, NEW_NODE)),
        (N, N, G, CLIENT_USAGES, (SELF_NODE, NEW_NODE)),
        (N, "mike", G, FULL, ()),
        (N, N, [], FULL, ()),
        (N, N, ["system:master"], FULL, ()),
        (N, N, G, [*FULL, "server auth"], ()),
        (N, N, G, [], ()),
        (N, N, G, ["digital signature", "key encipherment"], ()),
        (N, N, G, ["digital signature", "key encipherment", "server auth"], ()),
        ("joe", N, G, FULL, (NEW_NODE,)),
        (N, "system:node:other", G, FULL, (NEW_NODE,)),
    ],
)
def test_request_of_a_kubelet_is_recognized(
    requestor: str, name: str, groups: list[str], usages: list[str], as_what: tuple[object, ...]
) -> None:
    """Cases of sarapprove_test.go."""
    spec = CertificateSigningRequestSpec(
        request="", signer_name=KUBELET_CLIENT, username=requestor, usages=tuple(usages)
    )
    request = CertificateSigningRequest(metadata=ObjectMeta(name="r"), spec=spec)
    assert recognized(request, wanted(request_pem(name, groups, []))) == as_what


NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTES = timedelta(minutes=1)


def certificate_until(end: datetime) -> str:
    """Return a certificate in the form of a request's status."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(end - timedelta(days=30))
        .not_valid_after(end)
        .sign(key, hashes.SHA256())
    )
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


GOOD, EXPIRED = certificate_until(NOW + timedelta(days=1)), certificate_until(NOW - timedelta(days=1))
GARBAGE = base64.b64encode(b"garbage").decode()
# the age of the request, its certificate, its conditions with the minutes since their last update
# (cases of cleaner_test.go)
AGES: list[tuple[int, str, dict[str, int], bool]] = [
    (1, GOOD, {"Approved": 50}, False),
    (1, "", {"Approved": 50}, False),
    (1, "", {"Approved": 120}, False),
    (1, "", {"Approved": 25 * 60}, True),
    (1, GOOD, {"Approved": 120}, True),
    (1, "", {"Denied": 50}, False),
    (1, "", {"Denied": 120}, True),
    (1, "", {"Approved": 120, "Failed": 50}, False),
    (1, "", {"Approved": 120, "Failed": 120}, True),
    (5 * 60, "", {}, False),
    (25 * 60, "", {}, True),
    (1, EXPIRED, {"Approved": 50}, True),
    (1, GARBAGE, {"Approved": 50}, False),
    (1, GARBAGE, {"Approved": 120}, True),
]


@pytest.mark.parametrize(("age", "certificate", "conditions", "over"), AGES)
def test_old_requests_are_over(age: int, certificate: str, conditions: dict[str, int], over: bool) -> None:
    made = tuple(
        CertificateSigningRequestCondition(
            type=type_, status="True", last_update_time=NOW - minutes * MINUTES
        )
        for type_, minutes in conditions.items()
    )
    request = CertificateSigningRequest(
        metadata=ObjectMeta(name="r", creation_timestamp=NOW - age * MINUTES),
        spec=CertificateSigningRequestSpec(request="", signer_name=CLIENT),
        status=CertificateSigningRequestStatus(conditions=made, certificate=certificate),
    )
    assert is_over(request, NOW, NOW) is over

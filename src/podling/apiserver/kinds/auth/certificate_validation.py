"""Validation of CertificateSigningRequests and of the certificates in their status.

Upstream: ``pkg/apis/certificates/validation/validation.go``.
"""

from __future__ import annotations

from podling.api.certificates_v1 import (
    CertificateSigningRequest,
    CertificateSigningRequestCondition,
    CertificateSigningRequestStatus,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.differences import describe
from podling.apiserver.kinds.common.signer_names import signer_name_errors
from podling.machinery import fields
from podling.machinery.certificate_requests import BLOCK, pem_of, request_block
from podling.machinery.fields import Path

SPEC, STATUS = Path("spec"), Path("status")
CONDITIONS = STATUS.child("conditions")
LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
SHORTEST_SECONDS = 600
DECISIONS = ("Approved", "Denied")
LASTING = (*DECISIONS, "Failed")
STATES = ("False", "True", "Unknown")
USAGES = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign",
    "data encipherment", "decipher only", "digital signature", "email protection", "encipher only",
    "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment",
    "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping",
)  # fmt: skip


def request_errors(obj: CertificateSigningRequest) -> Errors:
    spec = obj.spec
    errors: Errors = []
    problem = _request_problem(pem_of(spec.request))
    if problem:
        errors.append(fields.invalid(SPEC.child("request"), spec.request, problem))
    where = SPEC.child("usages")
    errors += [] if spec.usages else [fields.required(where)]
    for position, usage in enumerate(spec.usages):
        errors += [] if usage in USAGES else [fields.not_supported(where.index(position), usage, USAGES)]
    for position, usage in enumerate(spec.usages):
        if usage in spec.usages[:position]:
            errors.append(fields.duplicate(where.index(position), usage))
    errors += _signer_errors(SPEC.child("signerName"), spec.signer_name)
    seconds = spec.expiration_seconds
    if seconds is not None and seconds < SHORTEST_SECONDS:
        text = f"may not specify a duration less than {SHORTEST_SECONDS} seconds (10 minutes)"
        errors.append(fields.invalid(SPEC.child("expirationSeconds"), seconds, text))
    errors += _condition_errors(obj.status)
    problem = _certificate_problem(pem_of(obj.status.certificate))
    if problem:
        errors.append(fields.invalid(STATUS.child("certificate"), "<certificate data>", problem))
    return errors


def _request_problem(pem: bytes) -> str:
    """Return the reason why this is not a certificate request signed with its own key; empty if it is."""
    from cryptography import x509

    try:
        block = request_block(pem)
    except ValueError as error:
        return str(error)
    try:
        request = x509.load_pem_x509_csr(block)
        return "" if request.is_signature_valid else "x509: signature verification failed"
    except ValueError as error:
        return f"asn1: structure error: {error}"


def _certificate_problem(pem: bytes) -> str:
    """Return the reason why these are not certificates; empty if they are, or if there are none yet."""
    from cryptography import x509

    if not pem:
        return ""
    blocks = list(BLOCK.finditer(pem))
    if not blocks:
        return "must contain at least one CERTIFICATE PEM block"
    for block in blocks:
        if block[1] != b"CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{block[1].decode(errors="replace")}"'
        if b":" in block[2]:
            return "no PEM block headers are permitted"
        try:
            x509.load_pem_x509_certificate(block[0])
        except ValueError as error:
            return f"x509: malformed certificate: {error}"
    return ""


def _signer_errors(path: Path, name: str) -> Errors:
    if name == LEGACY_SIGNER:
        return [fields.invalid(path, name, "the legacy signerName is not allowed via this API version")]
    return signer_name_errors(path, name)


def _condition_errors(status: CertificateSigningRequestStatus) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for position, condition in enumerate(status.conditions):
        here, kind = CONDITIONS.index(position), condition.type
        errors += [] if kind else [fields.required(here.child("type"))]
        states = ("True",) if kind in LASTING else STATES
        errors += checks.required_one_of(here.child("status"), condition.status, states)
        if kind in DECISIONS and seen & {*DECISIONS} - {kind}:
            text = "Approved and Denied conditions are mutually exclusive"
            errors.append(fields.invalid(here.child("type"), kind, text))
        errors += [fields.duplicate(here.child("type"), kind)] if kind in seen else []
        seen.add(kind)
    return errors


def change_errors(new: CertificateSigningRequest, old: CertificateSigningRequest, subresource: str) -> Errors:
    """Return errors for changes of decisions or certificates outside of their own subresource."""
    errors: Errors = []
    for kind in LASTING:
        if len(_conditions_of_type(new, kind)) < len(_conditions_of_type(old, kind)):
            text = f'updates may not remove a condition of type "{kind}"'
            errors.append(fields.forbidden(CONDITIONS, text))
    for kind in DECISIONS if subresource != "approval" else ():
        before, after = _conditions_of_type(old, kind), _conditions_of_type(new, kind)
        if len(after) > len(before):
            text = f'updates may not add a condition of type "{kind}"'
            errors.append(fields.forbidden(CONDITIONS, text))
        elif len(after) == len(before) and after != before:
            text = f'updates may not modify a condition of type "{kind}"\n{describe(before, after)}'
            errors.append(fields.forbidden(CONDITIONS, text))
    where = STATUS.child("certificate")
    if (new.status.certificate or "") != (old.status.certificate or ""):
        if subresource != "status":
            errors.append(fields.forbidden(where, "updates may not set certificate content"))
        elif old.status.certificate:
            errors.append(fields.forbidden(where, "updates may not modify existing certificate content"))
    return errors


def _conditions_of_type(
    obj: CertificateSigningRequest, kind: str
) -> list[CertificateSigningRequestCondition]:
    return [each for each in obj.status.conditions if each.type == kind]

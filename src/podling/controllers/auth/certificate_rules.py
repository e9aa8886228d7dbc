"""Rules about requests for certificates: who approves them, who signs them, and when they are swept up. Pure.

Upstream: ``pkg/controller/certificates/{approver,signer,cleaner}`` and ``pkg/apis/certificates/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Struct, structs

from podling.api.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestCondition
from podling.machinery.certificate_requests import Wanted, pem_of
from podling.machinery.tokens.bootstrap_tokens import GROUP as BOOTSTRAPPERS

CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING = "kubernetes.io/kubelet-serving"
LEGACY = "kubernetes.io/legacy-unknown"

APPROVED, DENIED, FAILED = "Approved", "Denied", "Failed"
INVALID = "SignerValidationFailure"
NODES, NODE_PREFIX = ("system:nodes",), "system:node:"

APPROVED_KEPT = timedelta(hours=1)
DENIED_KEPT = timedelta(hours=1)
PENDING_KEPT = timedelta(hours=24)
REGISTRATION = timedelta(seconds=10)
"""A node appears within this time of its request's approval."""


class Recognized(Struct, frozen=True):
    """A request that is approved if who made it may create this subresource of requests."""

    subresource: str
    message: str


SELF_NODE = Recognized(
    "selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."
)
NODE = Recognized("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview.")


def has(request: CertificateSigningRequest, *types: str) -> bool:
    """Return whether the request has a condition of one of these types."""
    return any(each.type in types for each in request.status.conditions)


def with_condition(
    request: CertificateSigningRequest, condition: CertificateSigningRequestCondition
) -> CertificateSigningRequest:
    conditions = (*request.status.conditions, condition)
    return structs.replace(request, status=structs.replace(request.status, conditions=conditions))


def recognized(request: CertificateSigningRequest, wanted: Wanted) -> tuple[Recognized, ...]:
    """As what the request may be approved without a person: first as the node's own renewal."""
    if request.spec.signer_name != KUBELET_CLIENT or _kubelet_client(wanted, request.spec.usages):
        return ()
    return (SELF_NODE, NODE) if request.spec.username == wanted.common_name else (NODE,)


def is_bootstrapping(request: CertificateSigningRequest) -> bool:
    """Return whether the request's user has a bootstrap token and nothing else."""
    return BOOTSTRAPPERS in request.spec.groups


def node_exists(name: str) -> str:
    """Return the message for a request for the name of a node that exists."""
    return (
        f'a node named "{name}" exists in the cluster: delete it first (kubectl delete node {name}), or '
        "choose another name"
    )


def was_just_approved(request: CertificateSigningRequest, now: datetime) -> bool:
    return any(
        each.type == APPROVED and not _is_older(each.last_update_time or now, REGISTRATION, now)
        for each in request.status.conditions
    )


def waits_for_signature(request: CertificateSigningRequest) -> bool:
    """Approved, not denied, not failed, and without a certificate."""
    return has(request, APPROVED) and not has(request, DENIED, FAILED) and not request.status.certificate


def refusal(signer: str, wanted: Wanted, usages: Iterable[str]) -> str:
    """Why the signer will not sign this; empty if it will."""
    return _RULES[signer](wanted, tuple(usages))


def _client(wanted: Wanted, usages: tuple[str, ...]) -> str:
    for usage in usages:
        if usage not in ("digital signature", "key encipherment", "client auth"):
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


def _kubelet_client(wanted: Wanted, usages: tuple[str, ...]) -> str:
    if wanted.organizations != NODES:
        return "subject organization is not system:nodes"
    for kind, names in (
        ("DNS", wanted.dns_names),
        ("Email", wanted.emails),
        ("IP", wanted.addresses),
        ("URI", wanted.uris),
    ):
        if names:
            return f"{kind} subjectAltNames are not allowed"
    return _node_name(wanted) or _usages(usages, "client auth")


def _kubelet_serving(wanted: Wanted, usages: tuple[str, ...]) -> str:
    if wanted.organizations != NODES:
        return "subject organization is not system:nodes"
    if not (wanted.dns_names or wanted.addresses):
        return "DNS or IP subjectAltName is required"
    if wanted.emails or wanted.uris:
        return f"{'Email' if wanted.emails else 'URI'} subjectAltNames are not allowed"
    return _usages(usages, "server auth") or _node_name(wanted)


def _node_name(wanted: Wanted) -> str:
    if wanted.common_name.startswith(NODE_PREFIX):
        return ""
    return "subject common name does not begin with system:node:"


def _usages(usages: tuple[str, ...], purpose: str) -> str:
    """Keys that are not RSA's do without ``key encipherment``."""
    least = {"digital signature", purpose}
    most = sorted({*least, "key encipherment"})
    return "" if set(usages) in (least, set(most)) else f"usages did not match [{' '.join(most)}]"


_RULES: Mapping[str, Callable[[Wanted, tuple[str, ...]], str]] = {
    CLIENT: _client,
    KUBELET_CLIENT: _kubelet_client,
    KUBELET_SERVING: _kubelet_serving,
    LEGACY: lambda wanted, usages: "",
}
SIGNERS = tuple(_RULES)


def is_over(request: CertificateSigningRequest, now: datetime, machine_now: datetime) -> bool:
    """Return whether the request may be deleted: decided an hour ago, pending for a day, or its certificate
    expired. Certificates are good by the machine's time."""
    created = request.metadata.creation_timestamp
    if not request.status.conditions:
        return _is_older(created, PENDING_KEPT, now)
    issued = bool(request.status.certificate)
    for condition in request.status.conditions:
        since = condition.last_update_time
        if condition.type in (DENIED, FAILED) and _is_older(since, DENIED_KEPT, now):
            return True
        if condition.type == APPROVED:
            if _is_older(since, APPROVED_KEPT if issued else PENDING_KEPT, now):
                return True
            if issued and _has_run_out(request, machine_now):
                return True
    return False


def _is_older(moment: datetime | None, age: timedelta, now: datetime) -> bool:
    return moment is not None and now - moment > age


def _has_run_out(request: CertificateSigningRequest, now: datetime) -> bool:
    from cryptography import x509

    try:
        certificate = x509.load_pem_x509_certificate(pem_of(request.status.certificate))
    except ValueError:
        return False
    return now > certificate.not_valid_after_utc

"""Permissions to approve and sign certificate signing requests, and the subject that no request may have.

A user needs the right to write ``certificatesigningrequests/approval`` or ``/status``, and the right to
``approve`` or ``sign`` for the signer: a rule about the virtual resource ``signers``, by the signer's name or
for its whole domain (``example.com/*``).

Source: ``plugin/pkg/admission/certificates/{approval,ctbattest,signing,subjectrestriction}``.
"""

from __future__ import annotations

from msgspec import structs

from podling.api.certificates_v1 import CertificateSigningRequest
from podling.api.certificates_v1beta1 import ClusterTrustBundle
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Server
from podling.apiserver.auth.authz import MASTERS
from podling.apiserver.auth.rbac import Attributes
from podling.machinery.certificate_requests import pem_of, wanted
from podling.machinery.scheme import Resource

GROUP, RESOURCE = "certificates.k8s.io", "certificatesigningrequests"
CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"


def _is_about(resource: Resource) -> bool:
    return (resource.group, resource.plural) == (GROUP, RESOURCE)


class _SignerRights(Plugin):
    """Base of both plugins about signers' rights."""

    subresource: str
    verb: str

    _server: Server

    def initialize(self, server: Server) -> None:
        self._server = server

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return _is_about(resource) and subresource == self.subresource and operation is Operation.UPDATE

    def _demand(self, request: AdmissionRequest, signer: str, what: str = "requests with") -> None:
        domain, _, _ = signer.partition("/")
        for name in (signer, f"{domain}/*"):
            asked = Attributes(self.verb, GROUP, "signers", name=name)
            if self._server.decide(request.user, asked).allowed:
                return
        raise request.forbidden(f'user not permitted to {self.verb} {what} signerName "{signer}"')


def _is_bookkeeping(new: ClusterTrustBundle, old: ClusterTrustBundle) -> bool:
    """Return whether an update changes owners and finalizers at most (``IsOnlyMutatingGCFields``)."""
    after, before = new.metadata, old.metadata
    kept = structs.replace(
        after,
        owner_references=before.owner_references,
        finalizers=before.finalizers,
        managed_fields=before.managed_fields,
    )
    return (new.spec, kept) == (old.spec, before)


class CertificateApproval(_SignerRights):
    name = "CertificateApproval"
    subresource, verb = "approval", "approve"

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        self._demand(request, request.object.spec.signer_name)


class CertificateSigning(_SignerRights):
    name = "CertificateSigning"
    subresource, verb = "status", "sign"

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        new, old = request.object.status, request.old.status
        if new.certificate != old.certificate or new.conditions != old.conditions:
            self._demand(request, request.old.spec.signer_name)


class ClusterTrustBundleAttest(_SignerRights):
    """Requires the right to attest for a bundle's signer, unless the bundle stays as it is."""

    name = "ClusterTrustBundleAttest"
    verb = "attest"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        is_bundle = (resource.group, resource.plural) == (GROUP, "clustertrustbundles")
        return is_bundle and operation in (Operation.CREATE, Operation.UPDATE)

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        signer = request.object.spec.signer_name
        if signer and not (request.old is not None and _is_bookkeeping(request.object, request.old)):
            self._demand(request, signer, "for")


class CertificateSubjectRestriction(Plugin):
    """Refuses certificates for ``system:masters`` from the signer that the API server trusts."""

    name = "CertificateSubjectRestriction"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return _is_about(resource) and not subresource and operation is Operation.CREATE

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        asked: CertificateSigningRequest = request.object
        if asked.spec.signer_name != CLIENT_SIGNER:
            return
        try:
            organizations = wanted(pem_of(asked.spec.request)).organizations
        except ValueError as error:
            raise request.forbidden(f"failed to parse CSR: {error}") from error
        if MASTERS in organizations:
            why = f"use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed"
            raise request.forbidden(why)

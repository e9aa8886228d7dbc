"""Approval of certificate requests with which nodes join the cluster and renew their certificates.

A request for a kubelet's client certificate is approved if its user may create
``certificatesigningrequests/nodeclient``, or ``selfnodeclient`` for a node's own certificate. Rights may be
granted later: until then, the controller retries the request. All others wait for an administrator.

Upstream: ``pkg/controller/certificates/approver``.
"""

from __future__ import annotations

from typing import ClassVar

from podling.api.authorization_v1 import ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec
from podling.api.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestCondition
from podling.client.base import Key
from podling.client.runner import AwaitChange, NotYet
from podling.controllers.auth import certificate_rules as rules
from podling.controllers.auth.certificate_rules import Recognized
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.certificate_requests import pem_of, wanted


class CertificateApprovingController(Controller):
    name: ClassVar[str] = "certificatesigningrequest-approving-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._requests = context.informers.informer(CertificateSigningRequest)
        self._requests.add_handler(self.enqueue, self.enqueue_new)

    async def reconcile(self, key: Key) -> AwaitChange:
        request = self._requests.get(key)
        if request is None or request.status.certificate:
            return AwaitChange()
        if rules.has(request, rules.APPROVED, rules.DENIED):
            return AwaitChange()
        found = rules.recognized(request, wanted(pem_of(request.spec.request)))
        for each in found:
            if await self._may(request, each):
                approval = CertificateSigningRequestCondition(
                    type=rules.APPROVED, status="True", reason="AutoApproved", message=each.message
                )
                await self.client.update(rules.with_condition(request, approval), subresource="approval")
                return AwaitChange()
        if found:
            tried = " ".join(each.subresource for each in found)
            why = "but subject access review was not approved"
            raise NotYet(f'recognized csr "{key.name}" as [{tried}] {why}')
        return AwaitChange()

    async def _may(self, request: CertificateSigningRequest, asked: Recognized) -> bool:
        """Return whether the request's user may create the subresource of its kind."""
        spec = request.spec
        attributes = ResourceAttributes(
            group="certificates.k8s.io",
            resource="certificatesigningrequests",
            subresource=asked.subresource,
            verb="create",
            version="*",
        )
        review = SubjectAccessReviewSpec(
            user=spec.username,
            uid=spec.uid,
            groups=spec.groups,
            extra=spec.extra,
            resource_attributes=attributes,
        )
        return (await self.client.create(SubjectAccessReview(spec=review))).status.allowed

"""Approval of certificate requests with which nodes join the cluster and renew their certificates.

A request for a kubelet's client certificate is approved if its user may create
``certificatesigningrequests/nodeclient``, or ``selfnodeclient`` for a node's own certificate. Rights may be
granted later: until then, the controller retries the request. All others wait for an administrator.

A bootstrap token gets certificates for new nodes only: a request for the name of a node that exists is
denied, so that a stolen token takes no node over. Kubernetes leaves this check to kubeadm.

Upstream: ``pkg/controller/certificates/approver``.
"""

from __future__ import annotations

from typing import ClassVar

from podling import clock
from podling.api.authorization_v1 import ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec
from podling.api.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestCondition
from podling.api.core_v1 import Node
from podling.client.base import Key
from podling.client.runner import AwaitChange, NotYet
from podling.controllers.auth import certificate_rules as rules
from podling.controllers.auth.certificate_rules import Recognized
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.certificate_requests import pem_of, wanted
from podling.machinery.errors import ApiError, is_not_found


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
        names = wanted(pem_of(request.spec.request))
        found = rules.recognized(request, names)
        for each in found:
            if await self._may(request, each):
                if rules.is_bootstrapping(request):
                    node = names.common_name.removeprefix(rules.NODE_PREFIX)
                    if await self._exists(node):
                        await self._deny(request, node)
                        return AwaitChange()
                    self._check_rivals(request, names.common_name)
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

    async def _exists(self, node: str) -> bool:
        try:
            await self.client.get(Node, node)
        except ApiError as error:
            if not is_not_found(error):
                raise
            return False
        return True

    async def _deny(self, request: CertificateSigningRequest, node: str) -> None:
        denial = CertificateSigningRequestCondition(
            type=rules.DENIED, status="True", reason="NodeExists", message=rules.node_exists(node)
        )
        await self.client.update(rules.with_condition(request, denial), subresource="approval")

    def _check_rivals(self, request: CertificateSigningRequest, name: str) -> None:
        """Raise ``NotYet`` while another request for this name was approved whose node may appear."""
        now = clock.now()
        for other in self._requests.values():
            if other.metadata.name == request.metadata.name or not rules.is_bootstrapping(other):
                continue
            if rules.was_just_approved(other, now) and wanted(pem_of(other.spec.request)).common_name == name:
                raise NotYet(f"{other.metadata.name} for the same node was approved a moment ago")

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

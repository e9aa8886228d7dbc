"""Approval of the certificates of kubelets' servers, which Kubernetes leaves to add-ons and to people.

A node's request for its own name and addresses is approved, one for the name or the address of another is
denied, and all others wait for an administrator (``kubectl certificate approve``). Addresses that a node
reports are its own word: the rule is that no two have the same.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar

from podling.api.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestCondition
from podling.api.core_v1 import Endpoints, Node, Service
from podling.client.base import Key
from podling.client.runner import AwaitChange
from podling.controllers.auth import serving_certificate_rules
from podling.controllers.auth.certificate_rules import (
    APPROVED,
    DENIED,
    FAILED,
    KUBELET_SERVING,
    NODE_PREFIX,
    has,
    with_condition,
)
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.certificate_requests import pem_of, wanted
from podling.machinery.errors import ApiError, is_not_found

SERVER = "kubernetes"
"""The Service of the API server, in ``default``."""


class ServingCertificateApprovingController(Controller):
    """The keys are requests."""

    name: ClassVar[str] = "kubelet-serving-certificate-approver"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._requests = context.informers.informer(CertificateSigningRequest)
        self._requests.add_handler(self._look, lambda old, new: self._look(new))

    def _look(self, request: CertificateSigningRequest) -> None:
        if request.spec.signer_name == KUBELET_SERVING and not has(request, APPROVED, DENIED, FAILED):
            self.enqueue(request)

    async def reconcile(self, key: Key) -> AwaitChange:
        request = self._requests.get(key)
        if request is None or has(request, APPROVED, DENIED, FAILED):
            return AwaitChange()
        names = wanted(pem_of(request.spec.request))
        if not serving_certificate_rules.is_own(request.spec, names):
            return AwaitChange()
        node = names.common_name.removeprefix(NODE_PREFIX)
        nodes = (await self.client.list(Node)).items
        taken = serving_certificate_rules.taken_addresses(
            node, nodes, [each async for each in self._servers()]
        )
        why = serving_certificate_rules.denial(names, taken)
        if why:
            await self._decide(request, DENIED, "NotItsOwn", why)
        elif serving_certificate_rules.is_plain(names):
            text = "Auto approving kubelet serving certificate for the node's own name and addresses."
            await self._decide(request, APPROVED, "AutoApproved", text)
        return AwaitChange()

    async def _servers(self) -> AsyncIterator[str]:
        """Yield the addresses of the API server: behind its Service, and of the Service itself."""
        for kind in (Endpoints, Service):
            try:
                found = await self.client.get(kind, SERVER, "default")
            except ApiError as error:
                if not is_not_found(error):
                    raise
                continue
            for address in _addresses(found):
                yield address

    async def _decide(self, request: CertificateSigningRequest, type_: str, reason: str, text: str) -> None:
        condition = CertificateSigningRequestCondition(type=type_, status="True", reason=reason, message=text)
        await self.client.update(with_condition(request, condition), subresource="approval")


def _addresses(found: Any) -> Iterator[str]:
    if isinstance(found, Service):
        yield from found.spec.cluster_ips
    if isinstance(found, Endpoints):
        yield from (address.ip for subset in found.subsets for address in subset.addresses)

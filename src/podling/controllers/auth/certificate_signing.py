"""Signing of approved certificate requests, for the signers that every cluster has.

A request that its signer's rules do not allow gets the condition ``Failed`` and is final. The authority's key
is not here: the ``Signer`` holds it.

Upstream: ``pkg/controller/certificates/signer``.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import ClassVar, Protocol

from msgspec import structs

from podling import clock
from podling.api.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestCondition
from podling.client.base import Key
from podling.client.runner import AwaitChange
from podling.controllers.auth import certificate_rules as rules
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.certificate_requests import pem_of, wanted


class Signer(Protocol):
    """The holder of the authority's key."""

    def sign(self, request: bytes, usages: Sequence[str], seconds: int | None) -> bytes:
        """Return a certificate (PEM) for a request (PEM) for ``seconds``, or for as long as may be.

        Raises ``ValueError`` if there can be none.
        """
        ...


class CertificateSigningController(Controller):
    """The keys are requests.

    Args:
        signer: has the authority's key.
    """

    name: ClassVar[str] = "certificatesigningrequest-signing-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext, signer: Signer) -> None:
        super().__init__(context)
        self._signer = signer
        self._requests = context.informers.informer(CertificateSigningRequest)
        self._requests.add_handler(self._look, lambda old, new: self._look(new))

    def _look(self, request: CertificateSigningRequest) -> None:
        if request.spec.signer_name in rules.SIGNERS and rules.waits_for_signature(request):
            self.enqueue(request)

    async def reconcile(self, key: Key) -> AwaitChange:
        request = self._requests.get(key)
        if request is None or not rules.waits_for_signature(request):
            return AwaitChange()
        spec, pem = request.spec, pem_of(request.spec.request)
        why = rules.refusal(spec.signer_name, wanted(pem), spec.usages)
        if why:
            failure = CertificateSigningRequestCondition(
                type=rules.FAILED,
                status="True",
                reason=rules.INVALID,
                message=why,
                last_update_time=clock.seconds_precision(clock.now()),
            )
            await self.write_status(rules.with_condition(request, failure))
            return AwaitChange()
        signed = self._signer.sign(pem, spec.usages, spec.expiration_seconds)
        status = structs.replace(request.status, certificate=base64.b64encode(signed).decode())
        await self.write_status(structs.replace(request, status=status))
        return AwaitChange()

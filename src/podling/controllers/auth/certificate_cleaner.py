"""Deletion of old certificate requests, once an hour as long as there are any.

Upstream: ``pkg/controller/certificates/cleaner``.
"""

from __future__ import annotations

from typing import ClassVar

from podling import clock
from podling.api.certificates_v1 import CertificateSigningRequest
from podling.client.base import Key
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.auth.certificate_rules import is_over
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.refusals import collected
from podling.machinery.errors import unless_gone

PASS = Key("", "")
PASS_SECONDS = 3600.0


class CertificateCleanerController(Controller):
    """One key: a pass over all requests."""

    name: ClassVar[str] = "certificatesigningrequest-cleaner-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._began = clock.monotonic()
        """The time from which the hours count."""
        self._requests = context.informers.informer(CertificateSigningRequest)
        self._requests.add_handler(self._added)
        self.queue.add(PASS)

    def _added(self, request: CertificateSigningRequest) -> None:
        self.queue.add_after(PASS, self._seconds_to_next_pass())

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        now, machine_now = clock.now(), clock.machine_now()
        failures: list[Exception] = []
        for request in self._requests.values():
            if is_over(request, now, machine_now):
                with collected(failures), unless_gone():
                    await self.client.delete(CertificateSigningRequest, request.metadata.name or "")
        if failures:
            raise failures[0]
        return RequeueAfter(self._seconds_to_next_pass()) if self._requests.values() else AwaitChange()

    def _seconds_to_next_pass(self) -> float:
        return PASS_SECONDS - (clock.monotonic() - self._began) % PASS_SECONDS

"""Deletion of bootstrap tokens that have expired, at the moment when they do.

kube-controller-manager runs this controller only where it is named; kubeadm names it.
Upstream: ``pkg/controller/bootstrap/tokencleaner.go``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from podling import clock
from podling.api.core_v1 import Secret
from podling.client.base import Key
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.auth.bootstrap_signer import is_bootstrap_token
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import ApiError, is_conflict, is_not_found
from podling.machinery.tokens import bootstrap_tokens


class TokenCleanerController(Controller):
    """The keys are Secrets."""

    name: ClassVar[str] = "token-cleaner-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._secrets = context.informers.informer(Secret)
        self._secrets.add_handler(self._changed, lambda old, new: self._changed(new))

    def _changed(self, secret: Secret) -> None:
        if is_bootstrap_token(secret):
            self.enqueue(secret)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        secret = self._secrets.get(key)
        if secret is None or not is_bootstrap_token(secret):
            return AwaitChange()
        left = bootstrap_tokens.remaining(secret, clock.now())
        if left is None:
            return AwaitChange()
        if left > timedelta():
            return RequeueAfter(left.total_seconds())
        try:
            await self.client.delete(Secret, key.name, key.namespace, uid=secret.metadata.uid or "")
        except ApiError as error:
            if not is_not_found(error) and not is_conflict(error):  # another token has the name by now
                raise
        return AwaitChange()

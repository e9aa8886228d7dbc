"""A ServiceAccount called ``default`` in every active namespace: pods that name none run as it.

Upstream: ``pkg/controller/serviceaccount/serviceaccounts_controller.go``.
"""

from __future__ import annotations

from typing import ClassVar

from podling.api.core_v1 import Namespace, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.client.runner import AwaitChange
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.refusals import is_namespace_terminating
from podling.machinery.errors import ApiError, is_already_exists

DEFAULT = "default"


class ServiceAccountController(Controller):
    """The keys are namespaces."""

    name: ClassVar[str] = "serviceaccount-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._namespaces = context.informers.informer(Namespace)
        self._accounts = context.informers.informer(ServiceAccount)
        self._namespaces.add_handler(self.enqueue, self.enqueue_new)
        self._accounts.add_handler(on_delete=self._account_gone)

    def _account_gone(self, account: ServiceAccount) -> None:
        if account.metadata.name == DEFAULT:
            self.queue.add(Key("", account.metadata.namespace or ""))

    async def reconcile(self, key: Key) -> AwaitChange:
        namespace = self._namespaces.get(key)
        if namespace is None or namespace.status.phase != "Active":
            return AwaitChange()
        if self._accounts.get(Key(key.name, DEFAULT)) is None:
            try:
                await self.client.create(
                    ServiceAccount(metadata=ObjectMeta(name=DEFAULT, namespace=key.name))
                )
            except ApiError as error:
                if not is_already_exists(error) and not is_namespace_terminating(error):
                    raise
        return AwaitChange()

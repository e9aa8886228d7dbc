"""The cluster's root certificate in every active namespace: the ConfigMap ``kube-root-ca.crt``.

Pods get it mounted beside their token, to verify the API server. The controller restores its content after
any change. Upstream: ``pkg/controller/certificates/rootcacertpublisher``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec import structs

from podling.api.core_v1 import ConfigMap, Namespace
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.client.runner import AwaitChange
from podling.controllers.auth.sync_metrics import SyncMetrics
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.refusals import is_namespace_terminating
from podling.machinery.errors import ApiError, is_already_exists, is_not_found

CONFIG_MAP = "kube-root-ca.crt"
SYNCS = "[ALPHA] Number of namespace syncs happened in root ca cert publisher."
DESCRIPTION_ANNOTATION = "kubernetes.io/description"
DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints "
    "such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across "
    "distributions of Kubernetes clusters."
)


class RootCAController(Controller):
    """The keys are namespaces.

    Args:
        certificate: the root certificate, PEM.
    """

    name: ClassVar[str] = "root-ca-certificate-publisher-controller"

    def __init__(self, context: ControllerContext, certificate: str) -> None:
        super().__init__(context)
        self._data = {"ca.crt": certificate}
        self._syncs = SyncMetrics("root_ca_cert_publisher", SYNCS, SYNCS)
        self._namespaces = context.informers.informer(Namespace)
        self._maps = context.informers.informer(ConfigMap)
        self._namespaces.add_handler(self.enqueue, self.enqueue_new)
        self._maps.add_handler(on_update=lambda old, new: self._map_changed(new), on_delete=self._map_changed)

    def _map_changed(self, config_map: ConfigMap) -> None:
        if config_map.metadata.name == CONFIG_MAP:
            self.queue.add(Key("", config_map.metadata.namespace or ""))

    async def reconcile(self, key: Key) -> AwaitChange:
        with self._syncs.counted():
            return await self._publish(key)

    def families(self) -> Iterator[Any]:
        yield from self._syncs.families()

    async def _publish(self, key: Key) -> AwaitChange:
        namespace = self._namespaces.get(key)
        if namespace is None or namespace.status.phase != "Active":
            return AwaitChange()
        held = self._maps.get(Key(key.name, CONFIG_MAP))
        if held is None:
            await self._create(key.name)
            return AwaitChange()
        if held.data != self._data or not held.metadata.annotations.get(DESCRIPTION_ANNOTATION):
            annotations = {**held.metadata.annotations, DESCRIPTION_ANNOTATION: DESCRIPTION}
            metadata = structs.replace(held.metadata, annotations=annotations)
            await self.client.update(structs.replace(held, data=self._data, metadata=metadata))
        return AwaitChange()

    async def _create(self, namespace: str) -> None:
        metadata = ObjectMeta(
            name=CONFIG_MAP, namespace=namespace, annotations={DESCRIPTION_ANNOTATION: DESCRIPTION}
        )
        try:
            await self.client.create(ConfigMap(metadata=metadata, data=self._data))
        except ApiError as error:
            expected = is_already_exists(error) or is_not_found(error) or is_namespace_terminating(error)
            if not expected:
                raise

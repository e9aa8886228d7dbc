"""Keeping the endpoint slices of every service that selects pods.

The service proxy and the DNS server read nothing else to know where a service's pods are and which of
them are ready. What a slice holds is decided in ``endpoint_rules``. Slices of a service that is gone
are the garbage collector's. Upstream: ``pkg/controller/endpointslice``.
"""

from __future__ import annotations

from typing import ClassVar

from podling.api.core_v1 import Node, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange
from podling.controllers.base import ControllerContext
from podling.controllers.children import Children
from podling.controllers.endpoints import endpoint_rules as rules
from podling.controllers.endpoints.service_pods import ServicePodsController
from podling.controllers.endpoints.slice_changes import carry_out
from podling.controllers.endpoints.slice_rules import Owner, arrange
from podling.controllers.endpoints.trigger_times import TriggerTimes, with_trigger
from podling.controllers.owner_references import controller_reference
from podling.controllers.pod_index import BY_NODE, index_pods_by_node, pods_with
from podling.controllers.refusals import is_namespace_terminating
from podling.machinery.errors import ApiError


class EndpointSliceController(ServicePodsController):
    """The keys are services."""

    name: ClassVar[str] = "endpointslice-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("endpoint-slice-controller")
        self._nodes = context.informers.informer(Node)
        self._triggers = TriggerTimes()
        slices = context.informers.informer(EndpointSlice)
        index_pods_by_node(self._pods)
        self._services.add_handler(self.enqueue, self.enqueue_new)
        self._children = Children(context.client, self._services, slices, self.queue, lambda service: None)
        self._nodes.add_handler(self._wake_pods, self._node_changed)

    def _node_changed(self, old: Node, new: Node) -> None:
        if old.metadata.labels.get(rules.ZONE) != new.metadata.labels.get(rules.ZONE):
            self._wake_pods(new)

    def _wake_pods(self, node: Node) -> None:
        for pod in self._pods.by_index(BY_NODE, node.metadata.name or ""):
            self._wake(pod)

    async def reconcile(self, key: Key) -> AwaitChange:
        service = self._services.get(key)
        if service is None:
            self._triggers.forget(key)
        if service is None or not rules.has_endpoints(service) or not self._children.settled(key):
            return AwaitChange()
        if service.metadata.deletion_timestamp is not None:
            return AwaitChange()
        pods = pods_with(self._pods, key.namespace, service.spec.selector)
        names = {pod.spec.node_name or "" for pod in pods}
        nodes = {name: node for name in names if (node := self._nodes.get(Key("", name))) is not None}
        trigger = self._triggers.take(key, service, pods)
        changes = arrange(_owner(service), self._slices_of(service), rules.desired(service, pods, nodes))
        changes.create = [with_trigger(each, trigger) for each in changes.create]
        changes.update = [with_trigger(each, trigger) for each in changes.update]
        try:
            await carry_out(self.client, key_of(service), self._children, changes)
        except ApiError as error:
            if is_namespace_terminating(error):
                return AwaitChange()
            message = f"Error updating Endpoint Slices for Service {key}: {error}"
            self._recorder.event(service, "Warning", "FailedToUpdateEndpointSlices", message)
            raise
        return AwaitChange()

    def _slices_of(self, service: Service) -> list[EndpointSlice]:
        """Return the service's slices that are ours and are not being deleted."""
        return [
            each
            for each in self._children.owned(service)
            if each.metadata.labels.get(rules.MANAGED_BY) == rules.MANAGER
            and each.metadata.labels.get(rules.SERVICE_NAME) == service.metadata.name
            and each.metadata.deletion_timestamp is None
        ]


def _owner(service: Service) -> Owner:
    metadata = service.metadata
    return Owner(
        metadata.name or "",
        metadata.namespace or "",
        controller_reference(service),
        rules.labels_of(service),
    )

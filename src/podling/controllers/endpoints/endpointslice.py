"""Keeping the endpoint slices of every service that selects pods.

The service proxy and the DNS server read nothing else to know where a service's pods are and which of
them are ready. ``endpoint_rules`` decides which endpoints there are, ``slice_rules`` which slice holds them,
``traffic_hints`` and ``topology_hints`` which zones and nodes they serve. Slices of a service that is gone
are the garbage collector's. Upstream: ``pkg/controller/endpointslice`` and ``k8s.io/endpointslice``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from podling.api.core_v1 import Node, Pod, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import Key
from podling.client.runner import AwaitChange, NotYet
from podling.controllers.base import ControllerContext
from podling.controllers.children import Children
from podling.controllers.endpoints import endpoint_rules as rules
from podling.controllers.endpoints import traffic_hints
from podling.controllers.endpoints.service_pods import ServicePodsController
from podling.controllers.endpoints.slice_changes import ChangeFailed, ManagedSlices, carry_out
from podling.controllers.endpoints.slice_metrics import SliceMetrics
from podling.controllers.endpoints.slice_rules import Changes, Owner, arrange, recycled
from podling.controllers.endpoints.topology_hints import Notice, TopologyHints, node_is_ready, shares_of
from podling.controllers.endpoints.trigger_times import TriggerTimes, with_trigger
from podling.controllers.owner_references import controller_reference
from podling.controllers.pod_index import BY_NODE, index_pods_by_node, pods_with
from podling.controllers.refusals import is_namespace_terminating

_TOPOLOGY = Key("", "topology")
"""The key of a look at the zones of all nodes; Services have a namespace."""


class EndpointSliceController(ServicePodsController):
    """The keys are services."""

    name: ClassVar[str] = "endpointslice-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("endpoint-slice-controller")
        self._nodes = context.informers.informer(Node)
        self._triggers = TriggerTimes()
        self._topology = TopologyHints()
        self._topology_is_old = True
        self._metrics = SliceMetrics()
        slices = context.informers.informer(EndpointSlice)
        index_pods_by_node(self._pods)
        self._services.add_handler(self.enqueue, self.enqueue_new)
        self._children = Children(context.client, self._services, slices, self.queue, lambda service: None)
        self._slices = ManagedSlices(slices, rules.MANAGER, self.queue)
        self._nodes.add_handler(self._node_appeared, self._node_changed, self._zones_changed)

    def _node_appeared(self, node: Node) -> None:
        self._zones_changed(node)
        self._wake_pods(node)

    def _node_changed(self, old: Node, new: Node) -> None:
        moved = old.metadata.labels.get(rules.ZONE) != new.metadata.labels.get(rules.ZONE)
        if moved:
            self._wake_pods(new)
        if moved or node_is_ready(old) != node_is_ready(new):
            self._zones_changed(new)

    def _zones_changed(self, node: Node) -> None:
        self._topology_is_old = True
        if len(self._topology):
            self.queue.add(_TOPOLOGY)

    def _wake_pods(self, node: Node) -> None:
        for pod in self._pods.by_index(BY_NODE, node.metadata.name or ""):
            self._wake(pod)

    async def reconcile(self, key: Key) -> AwaitChange:
        if key == _TOPOLOGY:
            self._refresh_topology()
            for each in self._topology.overloaded():
                self.queue.add(each)
            return AwaitChange()
        service = self._services.get(key)
        if service is None:
            self._triggers.forget(key)
            self._topology.forget(key)
            self._metrics.forget(key)
        if service is None or not rules.has_endpoints(service) or not self._children.settled(key):
            return AwaitChange()
        try:
            await self._reconcile_service(key, service)
        except Exception:
            self._metrics.record_sync("error")
            raise
        self._metrics.record_sync("success")
        return AwaitChange()

    def families(self) -> Iterator[Any]:
        return self._metrics.families()

    async def _reconcile_service(self, key: Key, service: Service) -> None:
        pods = pods_with(self._pods, key.namespace, service.spec.selector)
        names = {pod.spec.node_name or "" for pod in pods}
        nodes = {name: node for name in names if (node := self._nodes.get(Key("", name))) is not None}
        try:
            await self._write_slices(key, service, pods, nodes)
        except ChangeFailed as failed:
            cause = failed.__cause__
            if cause is None or is_namespace_terminating(cause):
                return
            self._report(key, service, str(failed))
            raise cause from None
        missing = [
            f"skipping Pod {pod.metadata.name} for Service {key}: Node {pod.spec.node_name or ''} Not Found"
            for pod in rules.without_node(service, pods, nodes)
        ]
        if missing:
            text = _joined(missing)
            self._report(key, service, text)
            raise NotYet(text)

    def _report(self, key: Key, service: Service, text: str) -> None:
        message = f"Error updating Endpoint Slices for Service {key}: {text}"
        self._recorder.event(service, "Warning", "FailedToUpdateEndpointSlices", message)

    async def _write_slices(
        self, key: Key, service: Service, pods: Sequence[Pod], nodes: Mapping[str, Node]
    ) -> None:
        """Write the slices of each address type. Raises ``ChangeFailed`` after all of them."""
        trigger = self._triggers.take(key, service, pods)
        owner, types, present = _owner(service), rules.address_types(service), self._slices.of(key)
        failures: list[ChangeFailed] = []
        for type_ in types:
            held = [each for each in present if each.address_type == type_]
            wanted = rules.desired(service, pods, nodes, type_)
            changes = arrange(owner, type_, held, wanted)
            changes, notices = self._hinted(key, service, type_, changes)
            changes = recycled(changes, owner.reference)
            if service.metadata.deletion_timestamp is not None:
                changes.create = []  # the garbage collector would delete them
            changes.create = [with_trigger(each, trigger) for each in changes.create]
            changes.update = [with_trigger(each, trigger) for each in changes.update]
            self._metrics.record_fill(key, service, type_, wanted, changes)
            if not await self._carry_out(key, changes, failures):
                continue
            self._metrics.record_written(service, changes)
            for notice in notices:
                self._recorder.event(service, notice.type, notice.reason, notice.message)
        for each in present:
            if each.address_type not in types:
                self._topology.remove(key, each.address_type)
                await self._carry_out(key, Changes(delete=[each]), failures)
        if failures:
            raise ChangeFailed(_joined([str(each) for each in failures])) from failures[0].__cause__

    async def _carry_out(self, key: Key, changes: Changes, failures: list[ChangeFailed]) -> bool:
        """Return whether the changes were written; note the failure if not."""
        try:
            await carry_out(self.client, key, "Service", self._children, changes)
        except ChangeFailed as failed:
            failures.append(failed)
            return False
        return True

    def _hinted(
        self, key: Key, service: Service, type_: str, changes: Changes
    ) -> tuple[Changes, list[Notice]]:
        if traffic_hints.is_topology_aware(service):
            self._refresh_topology()
            return self._topology.add(key, type_, changes)
        notices = self._topology.drop(key, type_)
        distribution = traffic_hints.distribution_of(service)
        if distribution is None:
            return traffic_hints.without_hints(changes), notices
        return traffic_hints.with_preference(changes, distribution), notices

    def _refresh_topology(self) -> None:
        if self._topology_is_old:
            self._topology.shares = shares_of(self._nodes.values())
            self._topology_is_old = False


def _joined(texts: Sequence[str]) -> str:
    """Return several errors as Go prints them together."""
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _owner(service: Service) -> Owner:
    metadata = service.metadata
    return Owner(
        metadata.name or "",
        metadata.namespace or "",
        controller_reference(service),
        rules.labels_of(service),
    )

"""Giving Services of type LoadBalancer the addresses of the nodes.

The service proxy of each node accepts packets to these addresses on the Service's own ports. The addresses
are decided in ``load_balancer_rules``; this controller writes them into the status, keeps the finalizer and
records the events that a cloud's controller records. Services of another ``loadBalancerClass`` stay as they
are.
Upstream: ``k8s.io/cloud-provider/controllers/service``, ``servicelb.go`` of K3s.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct, structs

from podling import clock
from podling.api.core_v1 import LoadBalancerIngress, LoadBalancerStatus, Node, Pod, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.endpoints import load_balancer_rules as rules
from podling.controllers.endpoints.load_balancer_rules import Placement
from podling.controllers.endpoints.slice_rules import SERVICE_NAME
from podling.machinery.errors import unless_gone

BY_PORT = "load-balancer-port"
BY_SERVICE = "service"
WITH_HOST_PORTS = "host-ports"
ALL = ""
API_SERVERS = "default/kubernetes"
REMINDER_SECONDS = 300.0
"""A Service that waits has the reason in a new event this often: upstream's longest retry delay."""


class _Report(Struct, frozen=True):
    """The failure reported last about a Service, and the monotonic time of its next event."""

    message: str
    due: float


class ServiceLoadBalancerController(Controller):
    """The keys are services. One worker, because addresses are shared between Services."""

    name: ClassVar[str] = "service-lb-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("service-controller")
        self._services = context.informers.informer(Service)
        self._nodes = context.informers.informer(Node)
        self._pods = context.informers.informer(Pod)
        self._slices = context.informers.informer(EndpointSlice)
        self._changed: set[Key] = set()  # Services whose load balancer has to be ensured anew
        self._foreign: set[Key] = set()  # Services whose load balancer another controller made
        self._reports: dict[Key, _Report] = {}
        self._pods.add_indexer(WITH_HOST_PORTS, _host_ports_index)
        self._services.add_indexer(BY_PORT, _ports_index)
        self._slices.add_indexer(BY_SERVICE, _service_index)
        self._services.add_handler(self._service_added, self._service_changed, self._service_gone)
        self._nodes.add_handler(self._node_event, self._node_changed, self._node_event)
        self._pods.add_handler(self._pod_event, self._pod_changed, self._pod_event)
        self._slices.add_handler(self._slice_event, self._slice_changed, self._slice_event)

    def _service_added(self, service: Service) -> None:
        if rules.is_foreign(service):
            self._foreign.add(key_of(service))
        elif rules.is_ours(service) or rules.needs_cleanup(service):
            self.enqueue(service)
        self._wake_users(rules.node_ports_of(service))

    def _service_changed(self, old: Service, new: Service) -> None:
        key = key_of(new)
        if rules.is_foreign(new):
            self._foreign.add(key)
        elif rules.is_ours(new):
            self._foreign.discard(key)
        if rules.is_ours(old) or rules.is_ours(new):
            for reason, message in rules.spec_changes(old, new):
                self._recorder.event(new, "Normal", reason, message)
                self._changed.add(key)
            self._wake_peers(old)
            self._wake_peers(new)
        if rules.node_ports_of(old) != rules.node_ports_of(new):
            self._wake_users(rules.node_ports_of(old) | rules.node_ports_of(new))
        if rules.is_ours(new) or rules.needs_cleanup(new):
            self.enqueue(new)

    def _service_gone(self, service: Service) -> None:
        key = key_of(service)
        self._foreign.discard(key)
        self._changed.discard(key)
        self._reports.pop(key, None)
        self._wake_users(rules.node_ports_of(service))
        if rules.is_ours(service):
            self._wake_peers(service)

    def _wake_peers(self, service: Service) -> None:
        """Requeue the Services that share a port with this one: an address may be free or taken now."""
        self._wake_users(rules.ports_of(service))

    def _wake_users(self, ports: Iterable[rules.Port]) -> None:
        for port in ports:
            for peer in self._services.by_index(BY_PORT, _port_text(port)):
                self.enqueue(peer)

    def _wake_all(self) -> None:
        for service in self._services.by_index(BY_PORT, ALL):
            self.enqueue(service)

    def _node_event(self, node: Node) -> None:
        self._wake_all()

    def _node_changed(self, old: Node, new: Node) -> None:
        if rules.relevant(old) != rules.relevant(new):
            self._wake_all()

    def _pod_event(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self._wake_users(port for _, port in rules.host_ports(pod))

    def _pod_changed(self, old: Pod, new: Pod) -> None:
        before, after = rules.host_ports(old), rules.host_ports(new)
        if before != after or (after and old.spec.node_name != new.spec.node_name):
            self._wake_users(port for _, port in {*before, *after})

    def _slice_event(self, each: EndpointSlice) -> None:
        (name,) = _service_index(each)
        if name == API_SERVERS:
            self._wake_all()
        service = self._services.get(Key(each.metadata.namespace or "", name.partition("/")[2]))
        if service is not None and rules.is_ours(service) and rules.is_local(service):
            self.enqueue(service)
            self._wake_peers(service)

    def _slice_changed(self, old: EndpointSlice, new: EndpointSlice) -> None:
        if old.endpoints != new.endpoints or old.ports != new.ports:
            self._slice_event(new)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        service = self._services.get(key)
        if service is None or rules.is_foreign(service):
            return AwaitChange()
        if rules.needs_cleanup(service) and key not in self._foreign:
            await self._clean_up(service)
        elif rules.wants_addresses(service):
            return await self._ensure(service)
        return AwaitChange()

    async def _clean_up(self, service: Service) -> None:
        key = key_of(service)
        if service.status.load_balancer.ingress:
            self._recorder.event(service, "Normal", "DeletingLoadBalancer", "Deleting load balancer")
            service = await self._write_ingress(service, ())
        finalizers = tuple(each for each in service.metadata.finalizers if each != rules.FINALIZER)
        with unless_gone():
            await self.client.update(_with_finalizers(service, finalizers))
        self._recorder.event(service, "Normal", "DeletedLoadBalancer", "Deleted load balancer")
        self._reports.pop(key, None)
        self._changed.discard(key)

    async def _ensure(self, service: Service) -> RequeueAfter | AwaitChange:
        key, before = key_of(service), service.status.load_balancer.ingress
        placement = self._place(service)
        is_new = rules.FINALIZER not in service.metadata.finalizers
        ensuring = is_new or key in self._changed or bool(placement.addresses and not before)
        if ensuring:
            self._recorder.event(service, "Normal", "EnsuringLoadBalancer", "Ensuring load balancer")
        if is_new:
            finalizers = (*service.metadata.finalizers, rules.FINALIZER)
            service = await self.client.update(_with_finalizers(service, finalizers))
        if before != placement.ingress:
            service = await self._write_ingress(service, placement.ingress)
        self._changed.discard(key)
        if not placement.addresses:
            return self._report(service, placement, again=ensuring)
        self._reports.pop(key, None)
        if ensuring:
            self._recorder.event(service, "Normal", "EnsuredLoadBalancer", "Ensured load balancer")
        elif before != placement.ingress:
            text = "Updated load balancer with new hosts"
            self._recorder.event(service, "Normal", "UpdatedLoadBalancer", text)
        return AwaitChange()

    def _report(self, service: Service, placement: Placement, *, again: bool) -> RequeueAfter:
        """Report why the Service has no address, unless the last report is recent."""
        key, now = key_of(service), clock.monotonic()
        reason, message = "UnAvailableLoadBalancer", rules.NO_NODES
        if placement.obstacle:
            reason = "SyncLoadBalancerFailed"
            message = f"Error syncing load balancer: failed to ensure load balancer: {placement.obstacle}"
        last = self._reports.get(key)
        if last is None or again or last.message != message or now >= last.due:
            self._recorder.event(service, "Warning", reason, message)
            last = self._reports[key] = _Report(message, now + REMINDER_SECONDS)
        return RequeueAfter(last.due - now)

    async def _write_ingress(self, service: Service, ingress: tuple[LoadBalancerIngress, ...]) -> Service:
        balancer = LoadBalancerStatus(ingress=ingress)
        status = structs.replace(service.status, load_balancer=balancer)
        return await self.write_status(structs.replace(service, status=status))

    def _place(self, service: Service) -> Placement:
        nodes = [node for node in self._nodes.values() if rules.serves(node)]
        api_servers = self._slices.by_index(BY_SERVICE, API_SERVERS)
        used: dict[rules.Place, str] = {}
        for node in nodes:
            pods = self._pods.by_index(WITH_HOST_PORTS, node.metadata.name or "")
            used |= rules.used_places(node, pods, api_servers)
        points = [point for node in nodes for point in rules.points_of(node)]
        peers = self._peers(service)
        used |= rules.node_port_places(self._node_port_users(peers), points)
        local = {
            each.metadata.uid or "": rules.ready_nodes(self._slices_of(each))
            for each in peers
            if rules.is_local(each)
        }
        return rules.place(peers, local, points, used)[service.metadata.uid or ""]

    def _node_port_users(self, services: Iterable[Service]) -> list[Service]:
        """Return the Services whose node ports are ports of these ones."""
        ports = {port for each in services for port in rules.ports_of(each)}
        return [
            user for port in sorted(ports) for user in self._services.by_index(BY_PORT, _node_port_text(port))
        ]

    def _slices_of(self, service: Service) -> tuple[EndpointSlice, ...]:
        name = f"{service.metadata.namespace}/{service.metadata.name}"
        return self._slices.by_index(BY_SERVICE, name)

    def _peers(self, service: Service) -> list[Service]:
        """Return the Services that share ports with this one, directly or by way of others, and itself."""
        found = {key_of(service): service}
        waiting = [service]
        while waiting:
            for port in rules.ports_of(waiting.pop()):
                for peer in self._services.by_index(BY_PORT, _port_text(port)):
                    if key_of(peer) not in found:
                        found[key_of(peer)] = peer
                        waiting.append(peer)
        return list(found.values())


def _with_finalizers(service: Service, finalizers: tuple[str, ...]) -> Service:
    return structs.replace(service, metadata=structs.replace(service.metadata, finalizers=finalizers))


def _port_text(port: rules.Port) -> str:
    protocol, number = port
    return f"{protocol}/{number}"


def _node_port_text(port: rules.Port) -> str:
    return f"node port {_port_text(port)}"


def _ports_index(service: Service) -> list[str]:
    """File the Services that want addresses by port and under ``ALL``, and every one by its node ports."""
    found = [_node_port_text(port) for port in rules.node_ports_of(service)]
    if not rules.wants_addresses(service):
        return found
    return [ALL, *map(_port_text, rules.ports_of(service)), *found]


def _service_index(each: EndpointSlice) -> tuple[str]:
    return (f"{each.metadata.namespace}/{each.metadata.labels.get(SERVICE_NAME, '')}",)


def _host_ports_index(pod: Pod) -> tuple[str, ...]:
    """File the pods that take ports of their node by the node's name."""
    return (pod.spec.node_name,) if pod.spec.node_name and rules.host_ports(pod) else ()

"""The Service ``kube-dns``, and one EndpointSlice for the DNS server of each node.

Nodes state in an annotation where their server listens. Pods query the server of their own node:
``internalTrafficPolicy`` is Local. A cluster whose own nodes have servers makes the Service at its start
(``make_service``), before a node is Ready; otherwise it is made as soon as one node has a server, and a
cluster of simulated nodes has none. It is made again when it is deleted. Its labels are those by which
``kubectl cluster-info`` finds it.
"""

from __future__ import annotations

import logging
from ipaddress import ip_address, ip_network
from typing import ClassVar

import msgspec
from msgspec import structs

from podling.api.core_v1 import Node, Service, ServicePort, ServiceSpec
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import Client, Key
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.cluster_dns import ANNOTATION, NAMESPACE, SERVICE, DnsPlace, dns_service_address
from podling.machinery.errors import ApiError, is_already_exists, is_not_found

logger = logging.getLogger(__name__)

MANAGER = "cluster-dns-controller.podling.dev"
METRICS_PORT = 9153
LABELS = {
    "k8s-app": SERVICE,
    "kubernetes.io/cluster-service": "true",
    "kubernetes.io/name": "CoreDNS",
}
SLICE_LABELS = {
    "k8s-app": SERVICE,
    "kubernetes.io/service-name": SERVICE,
    "endpointslice.kubernetes.io/managed-by": MANAGER,
}
RETRY_SECONDS = 5.0
_KUBERNETES = Key("default", "kubernetes")
_SERVICE = Key(NAMESPACE, SERVICE)


class ClusterDnsController(Controller):
    """The keys are nodes."""

    name: ClassVar[str] = "cluster-dns-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._nodes = context.informers.informer(Node)
        self._services = context.informers.informer(Service)
        self._slices = context.informers.informer(EndpointSlice)
        self._nodes.add_handler(self.enqueue, self._node_changed, self.enqueue)
        self._services.add_handler(None, None, self._service_gone)
        self._slices.add_handler(None, lambda old, new: self._slice_changed(new), self._slice_changed)

    def _node_changed(self, old: Node, new: Node) -> None:
        if _stated(old) != _stated(new) or old.spec.pod_cidrs != new.spec.pod_cidrs:
            self.enqueue(new)

    def _service_gone(self, service: Service) -> None:
        if Key(service.metadata.namespace or "", service.metadata.name or "") == _SERVICE:
            for node in self._nodes.values():
                self.enqueue(node)

    def _slice_changed(self, found: EndpointSlice) -> None:
        for node in _nodes_of(found):
            self.queue.add(Key("", node))

    async def reconcile(self, key: Key) -> AwaitChange | RequeueAfter:
        node = self._nodes.get(key)
        place = None if node is None else place_of(node)
        wanted = {} if node is None or place is None else slices_for(node, place)
        if wanted and self._services.get(_SERVICE) is None:
            first = self._services.get(_KUBERNETES)
            if first is None:
                return RequeueAfter(RETRY_SECONDS)
            await _create(self.client, service_at(dns_service_address(first.spec.cluster_ip)))
        for held in self._slices.values():
            if key.name in _nodes_of(held) and held.metadata.name not in wanted:
                await self._delete(held)
        for name, each in wanted.items():
            await self._write(name, each)
        return AwaitChange()

    async def _write(self, name: str, wanted: EndpointSlice) -> None:
        held = self._slices.get(Key(NAMESPACE, name))
        if held is None:
            await _create(self.client, wanted)
        elif (held.endpoints, held.ports) != (wanted.endpoints, wanted.ports):
            await self.client.update(structs.replace(held, endpoints=wanted.endpoints, ports=wanted.ports))

    async def _delete(self, held: EndpointSlice) -> None:
        try:
            await self.client.delete(EndpointSlice, held.metadata.name or "", NAMESPACE)
        except ApiError as error:
            if not is_not_found(error):
                raise


async def make_service(client: Client) -> None:
    """Make the Service ``kube-dns`` of a new cluster, so that it is there before the first node is Ready.

    A failure, such as an address that another Service has, is left to the controller, which tries again.
    """
    try:
        first = await client.get(Service, _KUBERNETES.name, _KUBERNETES.namespace)
        await _create(client, service_at(dns_service_address(first.spec.cluster_ip)))
    except (ApiError, ValueError) as error:
        logger.info("the Service %s cannot be made yet: %s", _SERVICE, error)


async def _create(client: Client, wanted: Service | EndpointSlice) -> None:
    try:
        await client.create(wanted)
    except ApiError as error:
        if not is_already_exists(error):
            raise


def _stated(node: Node) -> str:
    return node.metadata.annotations.get(ANNOTATION, "")


def _nodes_of(held: EndpointSlice) -> list[str]:
    """Return the node that a slice of ours belongs to; none for slices of others."""
    if held.metadata.labels.get("endpointslice.kubernetes.io/managed-by") != MANAGER:
        return []
    return [owner.name for owner in held.metadata.owner_references if owner.kind == "Node"]


def place_of(node: Node) -> DnsPlace | None:
    """Return where a node's DNS server is; None if it has none, or states an address that is not its own.

    A node owns the addresses of its pods' ranges; one without ranges may state any.
    """
    try:
        place = msgspec.json.decode(_stated(node) or "null", type=DnsPlace | None)
        if place is None:
            return None
        ranges = [ip_network(each) for each in node.spec.pod_cidrs]
        own = [ip for ip in place.addresses if not ranges or any(ip_address(ip) in each for each in ranges)]
    except (msgspec.MsgspecError, ValueError):
        return None
    valid = all(0 < port < 65536 for port in (place.port, place.metrics_port))
    return DnsPlace(tuple(own), place.port, place.metrics_port) if own and valid else None


def service_at(cluster_ip: str) -> Service:
    """Return the Service ``kube-dns``, as kubeadm makes it, for the servers of nodes.

    As in kubeadm's manifest (``phases/addons/dns``), it has one address, of the default family, in dual-stack
    clusters, too: the resolver of a pod needs no second one, and answers have the records of both families.
    """
    return Service(
        metadata=ObjectMeta(name=SERVICE, namespace=NAMESPACE, labels=LABELS),
        spec=ServiceSpec(
            type="ClusterIP",
            cluster_ip=cluster_ip,
            internal_traffic_policy="Local",
            ports=(
                ServicePort(name="dns", port=53, protocol="UDP", target_port=53),
                ServicePort(name="dns-tcp", port=53, protocol="TCP", target_port=53),
                ServicePort(name="metrics", port=METRICS_PORT, protocol="TCP", target_port=METRICS_PORT),
            ),
        ),
    )


def slices_for(node: Node, place: DnsPlace) -> dict[str, EndpointSlice]:
    """Return the slices of a node's server by name, one for each family of addresses."""
    name = node.metadata.name or ""
    owner = OwnerReference(api_version="v1", kind="Node", name=name, uid=node.metadata.uid or "")
    ports = (
        EndpointPort(name="dns", port=place.port, protocol="UDP"),
        EndpointPort(name="dns-tcp", port=place.port, protocol="TCP"),
        EndpointPort(name="metrics", port=place.metrics_port, protocol="TCP"),
    )
    found = {}
    for version, suffix in ((4, ""), (6, "-ipv6")):
        addresses = [ip for ip in place.addresses if ip_address(ip).version == version]
        if not addresses:
            continue
        ready = EndpointConditions(ready=True, serving=True, terminating=False)
        found[f"{SERVICE}-{name}{suffix}"] = EndpointSlice(
            metadata=ObjectMeta(
                name=f"{SERVICE}-{name}{suffix}",
                namespace=NAMESPACE,
                labels=SLICE_LABELS,
                owner_references=(owner,),
            ),
            address_type=f"IPv{version}",
            endpoints=tuple(Endpoint(addresses=(ip,), conditions=ready, node_name=name) for ip in addresses),
            ports=ports,
        )
    return found

"""The addresses of Services of type LoadBalancer in the class of the nodes. Pure.

A Service gets the addresses of the nodes that may serve it, as K3s' ServiceLB gives them: external ones if
any such node has one, else internal ones. ``ipMode`` is ``VIP``, because the service proxy of each node takes
the packets to these addresses itself, on the Service's own ports, and sees their source addresses; with
``Proxy`` it would leave them alone and nothing else would answer.

An address and a port belong to one Service. Services that have an address keep it, and older ones come first
among the others. Upstream: ``k8s.io/cloud-provider/controllers/service``, ``servicelb.go`` of K3s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from podling.api.core_v1 import LoadBalancerIngress, Node, Pod, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.machinery.conditions import find
from podling.machinery.pods import is_terminal

LOAD_BALANCER_CLASS = "podling.local/nodes"
FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
EXCLUDE_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"
TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"
"""The taint of nodes that the cluster autoscaler is about to delete."""

NO_NODES = "There are no available nodes for LoadBalancer"
IP_MODE = "VIP"
_LAST = datetime.max.replace(tzinfo=UTC)

Port = tuple[str, int]
"""Protocol and number."""
ANY_ADDRESS = ("", "0.0.0.0", "::")


Place = tuple[str, Port]
"""An address and a port of it."""


class Point(Struct, frozen=True):
    """One address of a node that may receive the traffic of Services."""

    node: str
    address: str
    external: bool = False


class Placement(Struct, frozen=True):
    """The addresses of a Service; if it has none, ``obstacle`` says why, or is empty for lack of nodes."""

    addresses: tuple[str, ...] = ()
    obstacle: str = ""

    @property
    def ingress(self) -> tuple[LoadBalancerIngress, ...]:
        return tuple(LoadBalancerIngress(ip=address, ip_mode=IP_MODE) for address in self.addresses)


def is_ours(service: Service) -> bool:
    """Return whether the Service is of type LoadBalancer, without a class or with ours."""
    spec = service.spec
    return spec.type == "LoadBalancer" and spec.load_balancer_class in (None, LOAD_BALANCER_CLASS)


def is_foreign(service: Service) -> bool:
    """Return whether another controller makes this Service's load balancer."""
    return service.spec.type == "LoadBalancer" and not is_ours(service)


def wants_addresses(service: Service) -> bool:
    return is_ours(service) and service.metadata.deletion_timestamp is None


def needs_cleanup(service: Service) -> bool:
    """Return whether a load balancer of ours has to end: the Service is deleted, or of another type now."""
    return FINALIZER in service.metadata.finalizers and not wants_addresses(service)


def is_local(service: Service) -> bool:
    """Return whether the Service's outside traffic stays on the node that received it."""
    return service.spec.external_traffic_policy == "Local"


def spec_changes(old: Service, new: Service) -> list[tuple[str, str]]:
    """Return the changes after which a load balancer is ensured anew: reason and message of an event each."""
    a, b = old.spec, new.spec
    if is_ours(old) != is_ours(new):
        return [("Type", f"{a.type} -> {b.type}")]
    before, after = _go_list(a.load_balancer_source_ranges), _go_list(b.load_balancer_source_ranges)
    pairs = (
        ("LoadBalancerSourceRanges", before, after),
        ("LoadbalancerIP", a.load_balancer_ip, b.load_balancer_ip),
        ("ExternalTrafficPolicy", a.external_traffic_policy, b.external_traffic_policy),
        ("HealthCheckNodePort", str(a.health_check_node_port), str(b.health_check_node_port)),
    )
    return [(reason, f"{before} -> {after}") for reason, before, after in pairs if before != after]


def _go_list(items: Sequence[str]) -> str:
    return f"[{' '.join(items)}]"


def ports_of(service: Service) -> frozenset[Port]:
    return frozenset((port.protocol or "TCP", port.port) for port in service.spec.ports)


def node_ports_of(service: Service) -> frozenset[Port]:
    """Return the Service's ports on every address of every node."""
    return frozenset(
        (port.protocol or "TCP", port.node_port) for port in service.spec.ports if port.node_port
    )


def node_port_places(services: Iterable[Service], points: Iterable[Point]) -> dict[Place, str]:
    """Return the places that node ports of these Services use, and by which of them."""
    addresses = [point.address for point in points]
    return {
        (address, port): _node_port_user(service)
        for service in services
        for port in node_ports_of(service)
        for address in addresses
    }


def _node_port_user(service: Service) -> str:
    return f"the node port of Service {service.metadata.namespace}/{service.metadata.name}"


def serves(node: Node) -> bool:
    """Return whether the node may receive traffic of load balancers: Ready, and not excluded."""
    if EXCLUDE_LABEL in node.metadata.labels or node.metadata.deletion_timestamp is not None:
        return False
    if any(taint.key == TO_BE_DELETED for taint in node.spec.taints):
        return False
    ready = find(node.status.conditions, "Ready")
    return ready is not None and ready.status == "True"


def relevant(node: Node) -> tuple[object, ...]:
    """Return the facts of a node that addresses of Services depend on."""
    status = node.status
    return serves(node), status.addresses, status.daemon_endpoints.kubelet_endpoint.port


def host_ports(pod: Pod) -> tuple[tuple[str, Port], ...]:
    """Return the ports of its node that the pod takes, each with the address; none for a pod that ended."""
    if is_terminal(pod):
        return ()
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    ports = (port for container in containers for port in container.ports if port.host_port)
    return tuple((port.host_ip or "", (port.protocol or "TCP", port.host_port or 0)) for port in ports)


def points_of(node: Node) -> list[Point]:
    name = node.metadata.name or ""
    external = {"InternalIP": False, "ExternalIP": True}
    return [
        Point(name, each.address, external[each.type])
        for each in node.status.addresses
        if each.type in external
    ]


def used_places(node: Node, pods: Iterable[Pod], api_servers: Iterable[EndpointSlice]) -> dict[Place, str]:
    """Return the places that the node's kubelet, its pods and API servers use, and by which of them.

    Args:
        pods: the pods of this node.
        api_servers: the slices of the Service ``default/kubernetes``.
    """
    addresses = {point.address for point in points_of(node)}
    kubelet = ("TCP", node.status.daemon_endpoints.kubelet_endpoint.port)
    used: dict[Place, str] = {(address, kubelet): "the kubelet" for address in addresses}
    for pod in pods:
        user = f"Pod {pod.metadata.namespace}/{pod.metadata.name}"
        for host, port in host_ports(pod):
            used |= {(each, port): user for each in addresses if host in (*ANY_ADDRESS, each)}
    for slice_ in api_servers:
        ports = [(port.protocol or "TCP", port.port or 0) for port in slice_.ports]
        here = {each for endpoint in slice_.endpoints for each in endpoint.addresses} & addresses
        used |= {(each, port): "the API server" for each in here for port in ports}
    return used


def ready_nodes(slices: Iterable[EndpointSlice]) -> frozenset[str]:
    """Return the nodes with Ready endpoints: those that serve under ``externalTrafficPolicy: Local``."""
    endpoints = (endpoint for each in slices for endpoint in each.endpoints)
    return frozenset(each.node_name or "" for each in endpoints if each.conditions.ready is not False) - {""}


def by_precedence(services: Iterable[Service]) -> list[Service]:
    """Return the Services in the order in which they choose: those with addresses, then the older ones."""

    def order(service: Service) -> tuple[bool, datetime, str, str]:
        metadata = service.metadata
        created = metadata.creation_timestamp or _LAST
        has_none = not service.status.load_balancer.ingress
        return has_none, created, metadata.namespace or "", metadata.name or ""

    return sorted(services, key=order)


def place(
    services: Iterable[Service],
    local: Mapping[str, frozenset[str]],
    points: Sequence[Point],
    used: Mapping[Place, str],
) -> dict[str, Placement]:
    """Return the placement of each Service by UID.

    Args:
        services: those that share ports with each other, directly or by way of others.
        local: the nodes with Ready endpoints, by UID, of Services whose traffic stays on its node.
        points: the addresses of every node that serves.
        used: what those addresses are used for, besides Services.
    """
    taken = dict(used)
    placements: dict[str, Placement] = {}
    for service in by_precedence(services):
        uid = service.metadata.uid or ""
        placement = _place_one(service, _eligible(service, local.get(uid), points), taken)
        placements[uid] = placement
        name = f"Service {service.metadata.namespace}/{service.metadata.name}"
        taken |= {(address, port): name for address in placement.addresses for port in ports_of(service)}
    return placements


def _eligible(service: Service, local: frozenset[str] | None, points: Iterable[Point]) -> list[str]:
    """Return addresses of the Service's families, of nodes that have an endpoint where one is needed."""
    wanted = service.spec.load_balancer_ip
    families = service.spec.ip_families or ("IPv4",)
    found = [
        point
        for point in points
        if (local is None or point.node in local)
        and (not wanted or point.address == wanted)
        and _family(point.address) in families
    ]
    chosen = {point.address for point in found if point.external} or {point.address for point in found}
    return sorted(chosen, key=lambda address: (families.index(_family(address)), address))


def _family(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def _place_one(service: Service, addresses: Sequence[str], taken: Mapping[Place, str]) -> Placement:
    ports, own = sorted(ports_of(service)), _node_port_user(service)
    free, obstacles = [], []
    for address in addresses:
        users = ((port, taken.get((address, port), own)) for port in ports)
        user = next((each for each in users if each[1] != own), None)
        if user is None:
            free.append(address)
        else:
            (protocol, number), name = user
            obstacles.append(f"port {number}/{protocol} of {address} is used by {name}")
    wanted = service.spec.load_balancer_ip
    if wanted and not addresses:
        obstacles.append(f"no available node has the address {wanted} of spec.loadBalancerIP")
    return Placement(tuple(free), "" if free else next(iter(obstacles), ""))

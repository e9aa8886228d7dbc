"""The part of Services that the proxy needs, as small records. Pure.

Upstream: ``newBaseServiceInfo`` in ``pkg/proxy/serviceport.go``, ``ShouldSkipService`` in ``pkg/proxy/util``.
"""

from __future__ import annotations

from msgspec import Struct

from podling.api.core_v1 import LoadBalancerIngress, Service
from podling.client.base import Key
from podling.network.services import addresses

PROXY_NAME = "service.kubernetes.io/service-proxy-name"
HEADLESS = "service.kubernetes.io/headless"
_AFFINITY_SECONDS = 10800
"""The API's default of ``clientIP.timeoutSeconds``."""


class PortRecord(Struct, frozen=True, gc=False):
    """One port of a Service in one family."""

    name: str
    protocol: str
    port: int
    node_port: int


class FamilyRecord(Struct, frozen=True):
    """A Service's addresses in one family."""

    family: str
    cluster_ip: bytes
    external_ips: tuple[bytes, ...] = ()
    load_balancer_vips: tuple[bytes, ...] = ()
    source_ranges: tuple[str, ...] = ()

    def is_external(self, port: PortRecord) -> bool:
        """Return whether more than the cluster's own address leads to the port."""
        return bool(port.node_port or self.load_balancer_vips or self.external_ips)


class ServiceRecord(Struct, frozen=True):
    """A Service that is proxied."""

    key: Key
    ports: tuple[PortRecord, ...]
    families: tuple[FamilyRecord, ...]
    affinity_seconds: int = 0
    """The time that a client stays with its endpoint; 0 without affinity."""
    external_local: bool = False
    internal_local: bool = False
    health_check_port: int = 0
    """The port on which load balancers check this node; 0 for Services that need no check."""

    def uses_cluster_endpoints(self, addresses: FamilyRecord, port: PortRecord) -> bool:
        """Return whether traffic ever goes to endpoints anywhere. That includes external policy ``Local``:
        what this node and its pods send to external addresses may go anywhere."""
        return not self.internal_local or addresses.is_external(port)

    def uses_local_endpoints(self, addresses: FamilyRecord, port: PortRecord) -> bool:
        return self.internal_local or (self.external_local and addresses.is_external(port))


def record_of(service: Service) -> ServiceRecord | None:
    """Return the record of a Service; None if it is not to be proxied.

    Headless Services and those of type ExternalName have no address that could be; a label gives a Service to
    another proxy.
    """
    metadata, spec = service.metadata, service.spec
    if PROXY_NAME in metadata.labels or HEADLESS in metadata.labels:
        return None
    if spec.cluster_ip in ("", "None") or spec.type == "ExternalName":
        return None
    external = spec.type in ("LoadBalancer", "NodePort") or bool(spec.external_ips)
    balanced = spec.type == "LoadBalancer"
    external_local = external and spec.external_traffic_policy == "Local"
    return ServiceRecord(
        key=Key(metadata.namespace or "", metadata.name or ""),
        ports=tuple(PortRecord(port.name, port.protocol, port.port, port.node_port) for port in spec.ports),
        families=tuple(filter(None, (_family(service, family) for family in addresses.FAMILIES))),
        affinity_seconds=_affinity_seconds(service),
        external_local=external_local,
        internal_local=spec.internal_traffic_policy == "Local",
        health_check_port=spec.health_check_node_port if external_local and balanced else 0,
    )


def _affinity_seconds(service: Service) -> int:
    if service.spec.session_affinity != "ClientIP":
        return 0
    config = service.spec.session_affinity_config
    client = config.client_ip if config else None
    return (client.timeout_seconds if client else None) or _AFFINITY_SECONDS


def _family(service: Service, family: str) -> FamilyRecord | None:
    """Return the addresses of one family; None if the Service has no cluster IP of it."""
    spec = service.spec
    own = [addresses.packed(each, family) for each in spec.cluster_ips or (spec.cluster_ip,)]
    cluster_ip = next(filter(None, own), None)
    if cluster_ip is None:
        return None
    ingress = [each.ip for each in service.status.load_balancer.ingress if _is_vip(each)]
    ranges = [addresses.network(each, family) for each in spec.load_balancer_source_ranges]
    return FamilyRecord(
        family=family,
        cluster_ip=cluster_ip,
        external_ips=_of_family(spec.external_ips, family),
        load_balancer_vips=_of_family(ingress, family),
        source_ranges=tuple(str(each) for each in ranges if each is not None),
    )


def _is_vip(ingress: LoadBalancerIngress) -> bool:
    """Return whether packets for the address are proxied here; those of mode ``Proxy`` go out to it."""
    return bool(ingress.ip) and ingress.ip_mode in (None, "VIP")


def _of_family(texts: tuple[str, ...] | list[str], family: str) -> tuple[bytes, ...]:
    return tuple(filter(None, (addresses.packed(each, family) for each in texts)))

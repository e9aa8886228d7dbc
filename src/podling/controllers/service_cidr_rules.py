"""The deletion and the condition of a ServiceCIDR. Pure.

Upstream: ``pkg/controller/servicecidrs``, ``pkg/api/servicecidr``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from msgspec import structs

from podling.api.meta_v1 import Condition
from podling.api.networking_v1 import IPAddress, ServiceCIDR
from podling.machinery import conditions
from podling.machinery.network_ranges import Network

FINALIZER = "networking.k8s.io/service-cidr-finalizer"
MANAGED_BY = "ipaddress.kubernetes.io/managed-by"
MANAGER = "ipallocator.k8s.io"
DELETION_GRACE_SECONDS = 10.0
"""The least time between a deletion and its end. An address that was taken before has its IPAddress then."""

_READY = Condition(type="Ready", status="True", message="Kubernetes Service CIDR is ready")
_TERMINATING = Condition(
    type="Ready",
    status="False",
    reason="Terminating",
    message="There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new "
    "ServiceCIDR",
)


def networks(obj: ServiceCIDR) -> tuple[Network, ...]:
    return tuple(ip_network(cidr) for cidr in obj.spec.cidrs)


def overlapping(obj: ServiceCIDR, others: Iterable[ServiceCIDR]) -> list[ServiceCIDR]:
    """Return the ServiceCIDRs that have addresses in common with ``obj``."""
    own = networks(obj)
    return [
        other
        for other in others
        if any(one.version == two.version and one.overlaps(two) for one in own for two in networks(other))
    ]


def containing(address: IPAddress, known: Iterable[ServiceCIDR]) -> list[ServiceCIDR]:
    """Return the ServiceCIDRs that a Service's address is of."""
    if address.metadata.labels.get(MANAGED_BY) != MANAGER:
        return []
    found = ip_address(address.metadata.name or "")
    return [each for each in known if _contains(each, found)]


def _contains(obj: ServiceCIDR, address: IPv4Address | IPv6Address) -> bool:
    """Return whether a Service can have ``address`` of a ServiceCIDR: the network's own and its broadcast
    address are no Service's."""
    for network in networks(obj):
        if address.version == network.version and address in network:
            edges = {network.network_address} | (
                {network.broadcast_address} if network.version == 4 else set()
            )
            if address not in edges:
                return True
    return False


def can_end(obj: ServiceCIDR, known: Sequence[ServiceCIDR], addresses: Iterable[IPAddress]) -> bool:
    """Return whether a ServiceCIDR may go: others contain its ranges, or no Service needs it."""
    others = [each for each in known if each.metadata.name != obj.metadata.name]
    if all(_has_parent(network, others) for network in networks(obj)):
        return True
    for address in addresses:
        holders = containing(address, known)
        if [each.metadata.name for each in holders] == [obj.metadata.name]:
            return False
    return True


def _has_parent(network: Network, others: Iterable[ServiceCIDR]) -> bool:
    """Return whether another ServiceCIDR has a range that contains ``network``, or the same."""
    return any(
        other.version == network.version and network.subnet_of(other)  # type: ignore[arg-type]
        for each in others
        for other in networks(each)
    )


def with_ready(obj: ServiceCIDR, now: datetime) -> ServiceCIDR:
    """Return ``obj`` with its condition; the same object if it has it."""
    return _with(obj, _READY, now)


def with_terminating(obj: ServiceCIDR, now: datetime) -> ServiceCIDR:
    """Return ``obj`` with the condition of one that Services still need; the same object if it has it."""
    return _with(obj, _TERMINATING, now)


def _with(obj: ServiceCIDR, condition: Condition, now: datetime) -> ServiceCIDR:
    new = conditions.with_condition(obj.status.conditions, condition, now)
    if new is obj.status.conditions:
        return obj
    return structs.replace(obj, status=structs.replace(obj.status, conditions=new))


def remaining_seconds(obj: ServiceCIDR, now: datetime) -> float:
    """Return the seconds until a ServiceCIDR that is being deleted may end."""
    since = obj.metadata.deletion_timestamp
    return DELETION_GRACE_SECONDS - (now - since).total_seconds() if since is not None else 0.0

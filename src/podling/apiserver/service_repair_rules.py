"""The IPAddress that each address of a Service should have, and the numbers that Services cannot have. Pure.

Upstream: ``pkg/registry/core/service/ipallocator/controller/repairip.go``,
``pkg/registry/core/service/portallocator/controller/repair.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address

from msgspec import Struct

from podling.api.core_v1 import Service
from podling.api.meta_v1 import ObjectMeta
from podling.api.networking_v1 import IPAddress, IPAddressSpec, ParentReference
from podling.apiserver.registry.service_numbers import MANAGED_BY, MANAGER, ports_of

FAMILY = "ipaddress.kubernetes.io/ip-family"


class Notice(Struct, frozen=True):
    """An event to record, of type Warning."""

    regarding: Service | IPAddress
    reason: str
    message: str


class AddressPlan(Struct, frozen=True):
    """The steps for one address, in this order: delete, create, record."""

    delete: IPAddress | None = None
    create: IPAddress | None = None
    notices: tuple[Notice, ...] = ()


def plan_address(
    text: str,
    owners: Sequence[Service],
    found: IPAddress | None,
    *,
    in_range: bool,
    deleted: bool = False,
) -> AddressPlan:
    """Return the steps that make the IPAddress ``text`` agree with the Services that have the address.

    Args:
        owners: the Services with the address, in any order.
        found: the IPAddress of this name.
        in_range: whether a ServiceCIDR contains the address.
        deleted: whether the IPAddress was deleted although a Service has the address.
    """
    family = f"IPv{ip_address(text).version}"
    if not owners:
        return _plan_without_owner(text, found)
    if not in_range:
        where = "is not within any configured Service CIDR"
        message = f"Cluster IP [{family}]: {text} {where}; please recreate service"
        return AddressPlan(notices=tuple(Notice(each, "ClusterIPOutOfRange", message) for each in owners))
    owner = _owner(owners, found)
    message = f"Cluster IP [{family}]:{text} was assigned to multiple services; please recreate service"
    notices = [Notice(each, "ClusterIPAlreadyAllocated", message) for each in owners if each is not owner]
    wanted = address_of(text, owner)
    if found is None:
        message = f"Cluster IP [{family}]: {text} is not allocated; repairing"
        notices += [Notice(owner, "ClusterIPNotAllocated", message)] if deleted else []
        return AddressPlan(create=wanted, notices=tuple(notices))
    if not _is_of_service(found):
        metadata = owner.metadata
        message = (
            f"the ClusterIP [{family}]: {text} for Service {metadata.namespace}/{metadata.name} has a wrong "
            "reference; repairing"
        )
        notices.append(Notice(owner, "ClusterIPNotAllocated", message))
    elif found.spec == wanted.spec and wanted.metadata.labels.items() <= found.metadata.labels.items():
        return AddressPlan(notices=tuple(notices))
    return AddressPlan(delete=found, create=wanted, notices=tuple(notices))


def _plan_without_owner(text: str, found: IPAddress | None) -> AddressPlan:
    """Delete an IPAddress of ours that stands for no address of a Service; leave those of other managers."""
    if found is None or found.metadata.labels.get(MANAGED_BY) != MANAGER:
        return AddressPlan()
    if _is_of_service(found):
        return AddressPlan(delete=found)
    parent = found.spec.parent_ref
    shown = f"&{{{parent.group or ''} {parent.resource} {parent.namespace or ''} {parent.name}}}"
    message = (
        f"IPAddress {text} appears to have been modified, not referencing a Service {shown}: cleaning up"
    )
    return AddressPlan(delete=found, notices=(Notice(found, "IPAddressNotAllocated", message),))


def _owner(owners: Sequence[Service], found: IPAddress | None) -> Service:
    """Return the Service that keeps an address of several: the one the IPAddress names, else the oldest."""
    parent = found.spec.parent_ref if found is not None and _is_of_service(found) else ParentReference()
    for each in owners:
        if (each.metadata.namespace, each.metadata.name) == (parent.namespace, parent.name):
            return each
    return min(owners, key=lambda each: (str(each.metadata.creation_timestamp), each.metadata.uid or ""))


def _is_of_service(obj: IPAddress) -> bool:
    parent = obj.spec.parent_ref
    return (parent.group or "", parent.resource) == ("", "services")


def address_of(text: str, owner: Service) -> IPAddress:
    """Return the IPAddress of a Service's address."""
    labels = {FAMILY: f"IPv{ip_address(text).version}", MANAGED_BY: MANAGER}
    parent = ParentReference(
        resource="services", namespace=owner.metadata.namespace, name=owner.metadata.name
    )
    return IPAddress(metadata=ObjectMeta(name=text, labels=labels), spec=IPAddressSpec(parent_ref=parent))


def port_notices(services: Iterable[Service], ports: range) -> Iterator[Notice]:
    """Yield the notices about node ports outside of the range, and those that two Services have; the first
    Service, in the order given, keeps the port."""
    taken: set[int] = set()
    for service in services:
        own = set(ports_of(service.spec))
        for port in sorted(own):
            if port in taken:
                text = f"Port {port} was assigned to multiple services; please recreate service"
                yield Notice(service, "PortAlreadyAllocated", text)
            elif port not in ports:
                shown = f"{ports[0]}-{ports[-1]}"
                text = f"Port {port} is not within the port range {shown}; please recreate service"
                yield Notice(service, "PortOutOfRange", text)
        taken |= own

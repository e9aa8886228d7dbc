"""The slices that mirror an Endpoints object: one for each subset's ports and address type. Pure.

Upstream: ``pkg/controller/endpointslicemirroring`` (``reconciler.go``, ``utils.go``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podling.api.core_v1 import EndpointAddress, Endpoints, EndpointSubset, Service
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.controllers.endpoints.slice_rules import (
    MANAGED_BY,
    SERVICE_NAME,
    Changes,
    Identity,
    Owner,
    Ports,
    identity,
    in_place_of,
    is_owned_by,
    is_same,
    new_slice,
    ports_key,
    without,
)
from podling.controllers.endpoints.subset_rules import repacked
from podling.controllers.endpoints.trigger_times import ANNOTATION as TRIGGER_TIME
from podling.controllers.owner_references import controller_reference

MANAGER = "endpointslicemirroring-controller.k8s.io"
SKIP = "endpointslice.kubernetes.io/skip-mirror"
LEADER = "control-plane.alpha.kubernetes.io/leader"
ADDRESSES_MAX = 1000
"""Of so many addresses of a subset there are endpoints."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

Group = tuple[str, Ports]
Desired = dict[Group, dict[Identity, Endpoint]]


def should_mirror(endpoints: Endpoints, service: Service | None) -> bool:
    metadata = endpoints.metadata
    if metadata.labels.get(SKIP) == "true" or LEADER in metadata.annotations:
        return False
    return service is not None and not service.spec.selector


def desired(endpoints: Endpoints) -> tuple[Desired, int]:
    """Return the endpoints by address type and ports, and the number of addresses that are left out."""
    groups: Desired = {}
    skipped = 0
    for subset in repacked(endpoints.subsets):
        ports = _ports(subset)
        ready = [(each, True) for each in subset.addresses]
        every = [*ready, *((each, False) for each in subset.not_ready_addresses)]
        skipped += max(0, len(every) - ADDRESSES_MAX)
        for address, is_ready in every[:ADDRESSES_MAX]:
            type_ = "IPv6" if ":" in address.ip else "IPv4"
            endpoint = _endpoint(address, ready=is_ready)
            groups.setdefault((type_, ports), {})[identity(endpoint)] = endpoint
    return groups, skipped


def _ports(subset: EndpointSubset) -> Ports:
    ports = (
        EndpointPort(
            name=each.name or "",
            port=each.port,
            protocol=each.protocol or "TCP",
            app_protocol=each.app_protocol,
        )
        for each in subset.ports
    )
    return ports_key(tuple(ports))


def _endpoint(address: EndpointAddress, *, ready: bool) -> Endpoint:
    return Endpoint(
        addresses=(address.ip,),
        conditions=EndpointConditions(ready=ready),
        hostname=address.hostname or None,
        node_name=address.node_name or None,
        target_ref=address.target_ref,
    )


def owner_of(endpoints: Endpoints) -> Owner:
    metadata = endpoints.metadata
    name = metadata.name or ""
    kept = without(metadata.annotations, (LAST_APPLIED, TRIGGER_TIME))
    labels = {**metadata.labels, SERVICE_NAME: name, MANAGED_BY: MANAGER}
    return Owner(name, metadata.namespace or "", controller_reference(endpoints), labels, kept)


def arrange_mirrors(owner: Owner, slices: Sequence[EndpointSlice], wanted: Desired) -> Changes:
    """Return the changes after which one slice of each group has its desired endpoints."""
    changes = Changes()
    by_group: dict[Group, list[EndpointSlice]] = {}
    for each in slices:
        by_group.setdefault((each.address_type, ports_key(each.ports)), []).append(each)
    for (type_, ports), endpoints in wanted.items():
        present = by_group.pop((type_, ports), [])
        new = new_slice(owner, type_, ports, tuple(endpoints.values())[:ADDRESSES_MAX])
        if not present:
            changes.create.append(new)
        elif not _mirrors(present[0], new):
            changes.update.append(in_place_of(present[0], new))
        changes.delete.extend(present[1:])
    for present in by_group.values():
        changes.delete.extend(present)
    return _recycled(changes)


def _mirrors(held: EndpointSlice, new: EndpointSlice) -> bool:
    return (
        any(is_owned_by(held, each) for each in new.metadata.owner_references)
        and held.metadata.labels == new.metadata.labels
        and held.metadata.annotations == new.metadata.annotations
        and _have_same(held.endpoints, new.endpoints)
    )


def _have_same(held: Iterable[Endpoint], wanted: Iterable[Endpoint]) -> bool:
    before, after = {identity(each): each for each in held}, {identity(each): each for each in wanted}
    return before.keys() == after.keys() and all(is_same(each, after[key]) for key, each in before.items())


def _recycled(changes: Changes) -> Changes:
    """Return changes in which new slices take the place of those that would be deleted."""
    create, delete = [], list(changes.delete)
    for new in changes.create:
        spare = next((each for each in delete if each.address_type == new.address_type), None)
        if spare is None:
            create.append(new)
        else:
            delete.remove(spare)
            changes.update.append(in_place_of(spare, new))
    return Changes(create, changes.update, delete)

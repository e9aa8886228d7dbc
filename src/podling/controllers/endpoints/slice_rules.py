"""The distribution of a Service's endpoints of one address type over slices. Pure.

Endpoints stay in the slice they are in, so that a change touches as few slices as it can: those no longer
wanted leave, changed ones are replaced in place. New ones fill slices that change anyway, then one unchanged
slice if all that are left fit into it, then new slices of at most 100. A slice that would be deleted while
another is made becomes the other. Upstream: ``reconcileByAddressType``, ``reconcileByPortMapping`` and
``finalize`` in ``k8s.io/endpointslice/reconciler.go``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct, structs

from podling.api.core_v1 import ObjectReference
from podling.api.discovery_v1 import Endpoint, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta, OwnerReference

ENDPOINTS_MAX = 100
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
HEADLESS = "service.kubernetes.io/headless"
RESERVED = (SERVICE_NAME, MANAGED_BY, HEADLESS)
"""Labels that a slice does not take over from its owner."""

Ports = tuple[EndpointPort, ...]
Identity = tuple[tuple[str, ...], str, str, str]
"""An endpoint's addresses, host name, and the namespace and name of its pod."""
Desired = Mapping[Ports, Mapping[Identity, Endpoint]]
"""The endpoints of one address type by the ports that their slices have."""


class Owner(Struct, frozen=True):
    """The owner of slices: the name, labels and owner reference of new ones."""

    name: str
    namespace: str
    reference: OwnerReference
    labels: dict[str, str]
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


def identity(endpoint: Endpoint) -> Identity:
    ref = endpoint.target_ref or ObjectReference()
    return tuple(sorted(endpoint.addresses)), endpoint.hostname or "", ref.namespace or "", ref.name or ""


def is_same(one: Endpoint, other: Endpoint) -> bool:
    """Return whether endpoints of one identity are equal but for hints and the pod's revision."""
    return (
        one.conditions == other.conditions
        and (one.node_name, one.zone) == (other.node_name, other.zone)
        and _without_revision(one.target_ref) == _without_revision(other.target_ref)
    )


def _without_revision(ref: ObjectReference | None) -> ObjectReference | None:
    return ref if ref is None else structs.replace(ref, resource_version="")


def ports_key(ports: Ports) -> Ports:
    """Return ports in an order that does not depend on that of the Service."""
    return tuple(sorted(ports, key=repr))


@dataclass(slots=True)
class Changes:
    """The changes of the slices of one address type, and the numbers of endpoints added and removed."""

    create: list[EndpointSlice] = field(default_factory=list)
    update: list[EndpointSlice] = field(default_factory=list)
    delete: list[EndpointSlice] = field(default_factory=list)
    unchanged: list[EndpointSlice] = field(default_factory=list)
    added: int = 0
    removed: int = 0


def is_owned_by(each: EndpointSlice, reference: OwnerReference) -> bool:
    return any(
        (ref.uid, ref.kind, ref.api_version) == (reference.uid, reference.kind, reference.api_version)
        for ref in each.metadata.owner_references
    )


def arrange(owner: Owner, type_: str, slices: Sequence[EndpointSlice], wanted: Desired) -> Changes:
    """Return the changes that bring the ``slices`` of one address type to the desired endpoints.

    The result is not recycled yet, so that hints can be given to it; see ``recycled``.
    """
    changes = Changes()
    by_ports: dict[Ports, list[EndpointSlice]] = {}
    for each in slices:
        if is_owned_by(each, owner.reference):
            by_ports.setdefault(ports_key(each.ports), []).append(each)
        else:
            changes.delete.append(each)
    for ports, endpoints in wanted.items():
        present = by_ports.pop(ports_key(ports), [])
        _arrange_ports(owner, type_, ports, present, endpoints, changes)
    for present in by_ports.values():
        changes.delete.extend(present)
    if len(changes.delete) == len(slices) and not changes.create:
        _add_placeholder(owner, type_, changes)
    return changes


def _add_placeholder(owner: Owner, type_: str, changes: Changes) -> None:
    """Keep or make the empty slice that says that the controller looked and found no endpoints."""
    wanted = new_slice(owner, type_, (), ())
    if len(changes.delete) == 1 and _is_placeholder(changes.delete[0], wanted):
        changes.unchanged.append(changes.delete.pop())
    else:
        changes.create.append(wanted)


def _is_placeholder(each: EndpointSlice, wanted: EndpointSlice) -> bool:
    held, new = each.metadata, wanted.metadata
    return (
        (each.address_type, each.ports, each.endpoints) == (wanted.address_type, (), ())
        and (held.labels, held.owner_references) == (new.labels, new.owner_references)
    )  # fmt: skip


def _arrange_ports(
    owner: Owner,
    type_: str,
    ports: Ports,
    slices: Sequence[EndpointSlice],
    endpoints: Mapping[Identity, Endpoint],
    changes: Changes,
) -> None:
    left = dict(endpoints)
    updated: list[tuple[EndpointSlice, list[Endpoint]]] = []
    unchanged: list[EndpointSlice] = []
    for each in slices:
        held = [(old, new) for old in each.endpoints if (new := left.pop(identity(old), None)) is not None]
        is_changed = len(held) != len(each.endpoints) or not all(is_same(*pair) for pair in held)
        changes.removed += len(each.endpoints) - len(held)
        if is_changed and not held:
            changes.delete.append(each)
        elif is_changed or not _has_labels(each, owner.labels):
            updated.append((each, [new for _, new in held]))
        else:
            unchanged.append(each)
    waiting = list(left.values())
    changes.added += len(waiting)
    for _, held_now in sorted(updated, key=lambda pair: -len(pair[1])):
        _fill(held_now, waiting)
    while waiting:
        target = _slice_to_fill(unchanged, len(waiting))
        if target is None:
            changes.create.append(new_slice(owner, type_, ports, waiting[:ENDPOINTS_MAX]))
            del waiting[:ENDPOINTS_MAX]
        else:
            unchanged.remove(target)
            updated.append((target, [*target.endpoints, *waiting]))
            waiting.clear()
    changes.unchanged.extend(unchanged)
    for each, endpoints_now in updated:
        metadata = structs.replace(each.metadata, labels=owner.labels)
        changes.update.append(structs.replace(each, endpoints=tuple(endpoints_now), metadata=metadata))


def _has_labels(each: EndpointSlice, wanted: Mapping[str, str]) -> bool:
    return without(each.metadata.labels, RESERVED) == without(wanted, RESERVED)


def without(labels: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Return labels or annotations but those with certain names."""
    return {name: text for name, text in labels.items() if name not in names}


def _fill(held: list[Endpoint], waiting: list[Endpoint]) -> None:
    capacity = max(0, ENDPOINTS_MAX - len(held))
    held.extend(waiting[:capacity])
    del waiting[:capacity]


def _slice_to_fill(slices: Sequence[EndpointSlice], count: int) -> EndpointSlice | None:
    """Return the slice that is closest to full with ``count`` more endpoints; None if none can hold them."""
    fitting = [each for each in slices if count + len(each.endpoints) <= ENDPOINTS_MAX]
    if not fitting or count >= ENDPOINTS_MAX:
        return None
    return max(fitting, key=lambda each: len(each.endpoints))


def recycled(changes: Changes, reference: OwnerReference) -> Changes:
    """Return changes in which new slices take the place of owned ones that would be deleted."""
    create, update, delete = list(changes.create), list(changes.update), []
    for each in changes.delete:
        if create and is_owned_by(each, reference):
            update.append(in_place_of(each, create.pop()))
        else:
            delete.append(each)
    return Changes(create, update, delete, changes.unchanged, changes.added, changes.removed)


def in_place_of(held: EndpointSlice, new: EndpointSlice) -> EndpointSlice:
    """Return ``new`` under the name of a slice that exists."""
    wanted = new.metadata
    metadata = structs.replace(
        held.metadata,
        labels=wanted.labels,
        annotations=wanted.annotations,
        owner_references=wanted.owner_references,
    )
    return structs.replace(new, metadata=metadata)


def new_slice(owner: Owner, type_: str, ports: Ports, endpoints: Sequence[Endpoint]) -> EndpointSlice:
    """Return a slice to be created."""
    return EndpointSlice(
        metadata=ObjectMeta(
            generate_name=f"{owner.name}-",
            namespace=owner.namespace,
            labels=owner.labels,
            annotations=owner.annotations,
            owner_references=(owner.reference,),
        ),
        address_type=type_,
        endpoints=tuple(endpoints),
        ports=ports,
    )

"""The distribution of endpoints over slices. Pure.

Endpoints stay in the slice they are in, so that a change touches as few slices as it can: those no longer
wanted leave, changed ones are replaced in place, new ones fill slices that change anyway, then others with
free capacity, then new slices of at most 100. Upstream: ``k8s.io/endpointslice``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct, structs

from podling.api.discovery_v1 import Endpoint, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta, OwnerReference

ENDPOINTS_MAX = 100

Ports = tuple[EndpointPort, ...]
Group = tuple[str, Ports]
"""Address type and ports: what all endpoints of one slice have in common."""
Identity = tuple[tuple[str, ...], str]
"""An endpoint's addresses and the UID of its pod."""


class Owner(Struct, frozen=True):
    """The owner of slices: the name, labels and owner reference of new ones."""

    name: str
    namespace: str
    reference: OwnerReference
    labels: dict[str, str]
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


Desired = dict[Group, dict[Identity, Endpoint]]


def identity(endpoint: Endpoint) -> Identity:
    ref = endpoint.target_ref
    return tuple(endpoint.addresses), (ref.uid or "") if ref is not None else ""


@dataclass(slots=True)
class Changes:
    create: list[EndpointSlice] = field(default_factory=list)
    update: list[EndpointSlice] = field(default_factory=list)
    delete: list[EndpointSlice] = field(default_factory=list)


def arrange(owner: Owner, slices: Sequence[EndpointSlice], wanted: Desired) -> Changes:
    """Return the changes that bring ``slices`` to the desired endpoints."""
    changes = Changes()
    by_group: dict[Group, list[EndpointSlice]] = {}
    for each in slices:
        by_group.setdefault((each.address_type, each.ports), []).append(each)
    for group, present in by_group.items():
        if group not in wanted:
            changes.delete.extend(present)
    for group, endpoints in wanted.items():
        _arrange_group(owner, group, by_group.get(group, []), endpoints, changes)
    return changes


def _arrange_group(
    owner: Owner,
    group: Group,
    slices: list[EndpointSlice],
    endpoints: dict[Identity, Endpoint],
    changes: Changes,
) -> None:
    left = dict(endpoints)
    kept: list[tuple[EndpointSlice, list[Endpoint]]] = []
    for each in slices:
        held = [left.pop(key) for old in each.endpoints if (key := identity(old)) in left]
        kept.append((each, held))
    labels = owner.labels
    waiting = list(left.values())
    # Slices that change anyway come first, then the fullest of the others.
    kept.sort(key=lambda pair: (not _differs(pair[0], pair[1], labels), -len(pair[1])))
    for _, held in kept:
        room = max(0, ENDPOINTS_MAX - len(held))
        held.extend(waiting[:room])
        del waiting[:room]
    surviving = [pair for pair in kept if pair[1]] or kept[:1]
    changes.delete.extend(each for each, _ in kept if all(each is not one for one, _ in surviving))
    for each, held in surviving:
        if _differs(each, held, labels):
            metadata = structs.replace(each.metadata, labels=labels)
            changes.update.append(structs.replace(each, endpoints=tuple(held), metadata=metadata))
    while waiting or not kept:
        changes.create.append(_new_slice(owner, group, waiting[:ENDPOINTS_MAX]))
        del waiting[:ENDPOINTS_MAX]
        if not waiting:
            break


def _differs(each: EndpointSlice, held: list[Endpoint], labels: dict[str, str]) -> bool:
    return list(each.endpoints) != held or each.metadata.labels != labels


def _new_slice(owner: Owner, group: Group, endpoints: Sequence[Endpoint]) -> EndpointSlice:
    type_, ports = group
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

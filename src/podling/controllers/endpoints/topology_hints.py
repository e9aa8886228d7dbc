"""Hints that give each zone a share of a Service's endpoints like its share of the cluster's CPUs. Pure.

The annotation ``service.kubernetes.io/topology-mode: Auto`` requests them. There are none if zones or CPUs of
nodes are unknown, or if there are too few endpoints to stay below the threshold of overload.
Upstream: ``k8s.io/endpointslice/topologycache``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, structs

from podling.api.core_v1 import Node
from podling.api.discovery_v1 import Endpoint, EndpointHints, EndpointSlice, ForZone
from podling.client.base import Key
from podling.controllers.endpoints.endpoint_rules import ZONE
from podling.controllers.endpoints.slice_rules import Changes
from podling.controllers.endpoints.traffic_hints import is_ready, without_hints
from podling.machinery import quantity
from podling.machinery.conditions import find

OVERLOAD_THRESHOLD = 0.2
"""By so much an endpoint may get more traffic than its share."""
EXCLUDED = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
ENABLED, DISABLED = "TopologyAwareHintsEnabled", "TopologyAwareHintsDisabled"
NO_ZONE = "One or more endpoints do not have a zone specified"
NO_HINTS = "No hints allocated for zones"
HINTS_ENABLED = "Topology Aware Hints has been enabled"
HINTS_DISABLED = "Topology Aware Hints has been disabled"
NO_NODE_INFO = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
ONE_ZONE = "Nodes only ready in one zone"
TOO_FEW = "Insufficient number of endpoints"
OVERLOADED = "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold"

Shares = Mapping[str, float]
"""The part of the CPUs that each zone has."""


class Notice(Struct, frozen=True):
    """An event about a Service."""

    type: str
    reason: str
    message: str


class Allocation(Struct, frozen=True):
    """The number of endpoints that a zone should get."""

    desired: float
    minimum: int = 0
    maximum: int = 0


def node_is_ready(node: Node) -> bool:
    ready = find(node.status.conditions, "Ready")
    return ready is not None and ready.status == "True"


def shares_of(nodes: Iterable[Node]) -> dict[str, float] | None:
    """Return the zones' shares; None with fewer than two zones, or if a node lacks a zone or CPUs."""
    cpus: dict[str, int] = {}
    for node in nodes:
        if any(label in node.metadata.labels for label in EXCLUDED) or not node_is_ready(node):
            continue
        zone = node.metadata.labels.get(ZONE)
        cpu = quantity.parse(node.status.allocatable.get("cpu", "0")).milli_value
        if not zone or not cpu:
            return None
        cpus[zone] = cpus.get(zone, 0) + cpu
    total = sum(cpus.values())
    return {zone: cpu / total for zone, cpu in cpus.items()} if len(cpus) > 1 else None


def allocations_of(shares: Shares | None, count: int) -> dict[str, Allocation] | str:
    """Return how many of ``count`` endpoints each zone should get, or why there are no hints."""
    if shares is None:
        return NO_NODE_INFO
    if len(shares) < 2:
        return ONE_ZONE
    numbers = f"({count} endpoints, {len(shares)} zones)"
    if len(shares) > count:
        return f"{TOO_FEW} {numbers}"
    minima = {zone: math.ceil(share * count / (1 + OVERLOAD_THRESHOLD)) for zone, share in shares.items()}
    spare = count - sum(minima.values())
    if spare < 0:
        return f"{OVERLOADED} {numbers}"
    return {
        zone: Allocation(max(shares[zone] * count, minimum), minimum, minimum + spare)
        for zone, minimum in minima.items()
    }


def is_overloaded(endpoints: Mapping[str, int], shares: Shares | None) -> bool:
    """Return whether a zone has too few endpoints for its share."""
    if not endpoints or not shares:
        return bool(endpoints)
    total = sum(endpoints.values())
    return any(
        zone not in endpoints or endpoints[zone] < math.ceil(total * share / (1 + OVERLOAD_THRESHOLD))
        for zone, share in shares.items()
    )


def hints_by_zone(
    found: EndpointSlice, allocated: Mapping[str, int], allocations: Mapping[str, Allocation]
) -> dict[str, int] | None:
    """Return how many endpoints of an unchanged slice have hints for each zone.

    None if the slice has to change: a ready endpoint without a hint, a hint for a zone that needs none, or
    more for a zone than leave enough for the others.
    """
    zones: dict[str, int] = {}
    for endpoint in found.endpoints:
        if not is_ready(endpoint):
            continue
        if endpoint.hints is None or not endpoint.hints.for_zones:
            return None
        for hint in endpoint.hints.for_zones:
            if hint.name not in allocations:
                return None
            zones[hint.name] = zones.get(hint.name, 0) + 1
    for zone, number in zones.items():
        if number + allocated.get(zone, 0) > allocations[zone].maximum:
            return None
    return zones


def transfers(
    allocations: Mapping[str, Allocation], allocated: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many endpoints each zone gives to others, and how many it gets from others."""
    extra = {zone: allocated.get(zone, 0) - each.desired for zone, each in allocations.items()}
    surplus = {zone: number for zone, number in extra.items() if number > 0}
    lack = {zone: -number for zone, number in extra.items() if number < 0}
    giving: dict[str, int] = {}
    receiving: dict[str, int] = {}
    while surplus and lack:
        giver, taker = max(surplus, key=lambda zone: surplus[zone]), max(lack, key=lambda zone: lack[zone])
        if min(surplus[giver], lack[taker]) < 0.5 or max(surplus[giver], lack[taker]) < 1.0:
            break
        for zone, numbers, rest in ((giver, giving, surplus), (taker, receiving, lack)):
            numbers[zone] = numbers.get(zone, 0) + 1
            rest[zone] -= 1
    return giving, receiving


def redistributed(
    slices: Sequence[EndpointSlice], giving: Mapping[str, int], receiving: Mapping[str, int]
) -> tuple[list[EndpointSlice], dict[str, int]]:
    """Return slices with hints moved from giving to receiving zones, and each zone's change."""
    give, get = dict(giving), [zone for zone, number in receiving.items() for _ in range(number)]
    change: dict[str, int] = {}

    def hinted(endpoint: Endpoint) -> Endpoint:
        zone = endpoint.zone or ""
        if not is_ready(endpoint) or not get or give.get(zone, 0) <= 0:
            return endpoint
        give[zone] -= 1
        taker = get.pop(0)
        change[taker] = change.get(taker, 0) + 1
        change[zone] = change.get(zone, 0) - 1
        return _with_zone(endpoint, taker)

    found = [structs.replace(each, endpoints=tuple(map(hinted, each.endpoints))) for each in slices]
    return found, change


def _with_zone(endpoint: Endpoint, zone: str) -> Endpoint:
    return structs.replace(endpoint, hints=EndpointHints(for_zones=(ForZone(name=zone),)))


class TopologyHints:
    """Gives hints, and knows how many endpoints the zones of each Service have."""

    def __init__(self) -> None:
        self.shares: dict[str, float] | None = None
        self._endpoints: dict[Key, dict[str, dict[str, int]]] = {}  # by service, address type and zone
        self._hinted: set[Key] = set()

    def __len__(self) -> int:
        """Return the number of Services with hints."""
        return len(self._endpoints)

    def endpoints_of(self, key: Key) -> Mapping[str, Mapping[str, int]]:
        """Return the number of endpoints of a Service by address type and zone."""
        return self._endpoints.get(key, {})

    def overloaded(self) -> list[Key]:
        """Return the Services of which a zone has too few endpoints by now."""
        return [
            key
            for key, types in self._endpoints.items()
            if any(is_overloaded(zones, self.shares) for zones in types.values())
        ]

    def remove(self, key: Key, type_: str) -> None:
        """Forget the hints of a Service for one address type."""
        types = self._endpoints.get(key, {})
        types.pop(type_, None)
        if not types:
            self._endpoints.pop(key, None)
        self._hinted.discard(key)

    def forget(self, key: Key) -> None:
        """Forget a Service that is gone."""
        self._endpoints.pop(key, None)
        self._hinted.discard(key)

    def add(self, key: Key, type_: str, changes: Changes) -> tuple[Changes, list[Notice]]:
        """Return changes with hints, or without any if they are impossible; and events about the Service."""
        every = (*changes.create, *changes.update, *changes.unchanged)
        count = sum(is_ready(endpoint) for each in every for endpoint in each.endpoints)
        allocations = allocations_of(self.shares, count)
        if isinstance(allocations, str):
            return self._disabled(key, type_, changes, allocations)
        changes, allocated = _kept(changes, allocations)
        slices = [*changes.create, *changes.update]
        zones = [endpoint.zone for each in slices for endpoint in each.endpoints if is_ready(endpoint)]
        if not all(zones):
            return self._disabled(key, type_, changes, NO_ZONE)
        for zone in zones:
            allocated[zone or ""] = allocated.get(zone or "", 0) + 1
        slices, moved = redistributed(
            [_in_own_zone(each) for each in slices], *transfers(allocations, allocated)
        )
        for zone, number in moved.items():
            allocated[zone] = allocated.get(zone, 0) + number
        if not allocated:
            return self._disabled(key, type_, changes, NO_HINTS)
        notices = [] if key in self._hinted else [_notice("Normal", ENABLED, HINTS_ENABLED, type_)]
        self._endpoints.setdefault(key, {})[type_] = allocated
        self._hinted.add(key)
        made = len(changes.create)
        changed = Changes(
            slices[:made], slices[made:], changes.delete, changes.unchanged, changes.added, changes.removed
        )
        return changed, notices

    def _disabled(self, key: Key, type_: str, changes: Changes, message: str) -> tuple[Changes, list[Notice]]:
        self.remove(key, type_)
        return without_hints(changes), [_notice("Warning", DISABLED, message, type_)]

    def drop(self, key: Key, type_: str) -> list[Notice]:
        """Forget the hints of a Service that does not request them (any more); returns events about it."""
        had = key in self._hinted
        self.remove(key, type_)
        return [_notice("Warning", DISABLED, HINTS_DISABLED, type_)] if had else []


def _notice(type_: str, reason: str, message: str, address_type: str) -> Notice:
    return Notice(type_, reason, f"{message}, addressType: {address_type}")


def _in_own_zone(found: EndpointSlice) -> EndpointSlice:
    """Return a slice in which each ready endpoint has a hint for its own zone, and others have none."""
    endpoints = (
        _with_zone(each, each.zone or "") if is_ready(each) else structs.replace(each, hints=None)
        for each in found.endpoints
    )
    return structs.replace(found, endpoints=tuple(endpoints))


def _kept(changes: Changes, allocations: Mapping[str, Allocation]) -> tuple[Changes, dict[str, int]]:
    """Return changes that update slices with wrong hints, too, and the hints that stay by zone."""
    allocated: dict[str, int] = {}
    update, unchanged = list(changes.update), []
    for each in changes.unchanged:
        zones = hints_by_zone(each, allocated, allocations)
        if zones is None:
            update.append(each)
            continue
        unchanged.append(each)
        for zone, number in zones.items():
            allocated[zone] = allocated.get(zone, 0) + number
    kept = Changes(changes.create, update, changes.delete, unchanged, changes.added, changes.removed)
    return kept, allocated

"""Hints of endpoints for ``trafficDistribution``, and their removal. Pure.

Upstream: ``k8s.io/endpointslice/trafficdist``, ``RemoveHintsFromSlices`` and ``hintsEnabled``.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import structs

from podling.api.core_v1 import Service
from podling.api.discovery_v1 import Endpoint, EndpointHints, EndpointSlice, ForNode, ForZone
from podling.controllers.endpoints.slice_rules import Changes

TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
DEPRECATED_MODE = "service.kubernetes.io/topology-aware-hints"
PREFERENCES = ("PreferClose", "PreferSameZone", "PreferSameNode")


def is_topology_aware(service: Service) -> bool:
    """Return whether an annotation requests hints by the CPUs of zones; the older name has precedence."""
    annotations = service.metadata.annotations
    mode = annotations.get(DEPRECATED_MODE, annotations.get(TOPOLOGY_MODE))
    return mode in ("Auto", "auto")


def distribution_of(service: Service) -> str | None:
    """Return the ``trafficDistribution`` that hints follow; None if there is none to follow."""
    wanted = service.spec.traffic_distribution
    return wanted if wanted in PREFERENCES and not is_topology_aware(service) else None


def is_ready(endpoint: Endpoint) -> bool:
    return endpoint.conditions.ready is True


def without_hints(changes: Changes) -> Changes:
    """Return changes after which no slice has hints."""
    return _rewritten(changes, lambda endpoint: structs.replace(endpoint, hints=None))


def with_preference(changes: Changes, distribution: str) -> Changes:
    """Return changes after which each ready endpoint has the hints of ``trafficDistribution``."""

    def hinted(endpoint: Endpoint) -> Endpoint:
        return (
            structs.replace(endpoint, hints=_hints(endpoint, distribution))
            if is_ready(endpoint)
            else endpoint
        )

    return _rewritten(changes, hinted)


def _hints(endpoint: Endpoint, distribution: str) -> EndpointHints | None:
    zones = (ForZone(name=endpoint.zone),) if endpoint.zone else ()
    by_node = distribution == "PreferSameNode" and endpoint.node_name
    nodes = (ForNode(name=endpoint.node_name or ""),) if by_node else ()
    return EndpointHints(for_zones=zones, for_nodes=nodes) if zones or nodes else None


def _rewritten(changes: Changes, change: Callable[[Endpoint], Endpoint]) -> Changes:
    """Return the changes with all endpoints rewritten; unchanged slices that differ then are updated, too."""

    def rewrite(found: EndpointSlice) -> EndpointSlice:
        return structs.replace(found, endpoints=tuple(change(each) for each in found.endpoints))

    update, unchanged = [rewrite(each) for each in changes.update], []
    for each in changes.unchanged:
        new = rewrite(each)
        if new == each:
            unchanged.append(each)
        else:
            update.append(new)
    create = [rewrite(each) for each in changes.create]
    return Changes(create, update, changes.delete, unchanged, changes.added, changes.removed)

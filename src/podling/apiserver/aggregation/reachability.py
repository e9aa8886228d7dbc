"""Reachability of the server behind an APIService: its service, the port, the endpoints. Pure.

Upstream: ``kube-aggregator/pkg/controllers/status/remote/remote_available_controller.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

from podling.api.apiregistration_v1 import ServiceReference
from podling.api.core_v1 import Service
from podling.api.discovery_v1 import EndpointSlice

SERVICE_NAME = "kubernetes.io/service-name"
DEFAULT_PORT = 443


def unreachable(
    ref: ServiceReference, service: Service | None, slices: Iterable[EndpointSlice]
) -> tuple[str, str] | None:
    """Return reason and message when no endpoint is reachable; None when one is.

    ``slices``: those of the namespace.
    """
    what = f'service/{ref.name} in "{ref.namespace}"'
    if service is None:
        return "ServiceNotFound", f"{what} is not present"
    if (service.spec.type or "ClusterIP") != "ClusterIP":
        return None  # where its name leads to is nothing that could be looked at
    port = ref.port or DEFAULT_PORT
    names = [each.name or "" for each in service.spec.ports if each.port == port]
    if not names:
        return "ServicePortError", f"{what} is not listening on port {port}"
    own = [each for each in slices if each.metadata.labels.get(SERVICE_NAME) == ref.name]
    if not own:
        return "EndpointsNotFound", f"cannot find endpointslices for {what}"
    if not any(_available(each, names[0]) for each in own):
        return "MissingEndpoints", f'endpointslices for {what} have no addresses with port name "{names[0]}"'
    return None


def _available(found: EndpointSlice, port: str) -> bool:
    ready = any(each.conditions.ready is not False for each in found.endpoints)
    return ready and any((each.name or "") == port and each.port is not None for each in found.ports)

"""The facts about a Service for ``podling why``, and words for them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from podling.api.core_v1 import Event, Node, Pod, Service, ServicePort
from podling.api.discovery_v1 import Endpoint, EndpointSlice
from podling.api.networking_v1 import NetworkPolicy
from podling.cli.evidence import Explanation
from podling.controllers.endpoints.endpoint_rules import may_serve, port_number
from podling.machinery.pods import is_ready

CONNECTED, REFUSED, LOOPBACK, SILENT = "connected", "refused", "loopback", "silent"


class PortProbe(Struct, frozen=True):
    """One connection to a pod's port: ``connected``, ``refused``, ``loopback`` or ``silent``.

    ``loopback``: refused at the pod's address, accepted at 127.0.0.1 inside the pod.
    """

    pod: str
    address: str
    port: int
    outcome: str


class ServiceEvidence(Struct, frozen=True):
    """All that is known about a Service.

    Args:
        slices: its EndpointSlices.
        selected: the pods that its selector matches, each with its explanation.
        pods: the pods of every namespace.
        makers: workloads without pods whose pods it would select, each with its explanation.
        policies: the NetworkPolicies of its namespace.
        probes: connections to the ports of its pods; empty where none could be made.
        ranges: the ranges of cluster IPs, as CIDR.
        services: the other Services, by namespace and name.
    """

    service: Service
    now: datetime
    slices: Sequence[EndpointSlice] = ()
    selected: Sequence[tuple[Pod, Explanation]] = ()
    pods: Sequence[Pod] = ()
    makers: Sequence[tuple[Any, Explanation]] = ()
    events: Sequence[Event] = ()
    nodes: Sequence[Node] = ()
    policies: Sequence[NetworkPolicy] = ()
    probes: Sequence[PortProbe] = ()
    ranges: Sequence[str] = ()
    services: Mapping[tuple[str, str], Service] = {}

    @property
    def name(self) -> str:
        return f"Service {self.service.metadata.name}"

    @property
    def namespace(self) -> str:
        return self.service.metadata.namespace or ""

    @property
    def arguments(self) -> str:
        """The Service's arguments for kubectl."""
        suffix = f" -n {self.namespace}" if self.namespace not in ("", "default") else ""
        return f"{self.service.metadata.name}{suffix}"

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return tuple(endpoint for each in self.slices for endpoint in each.endpoints)

    @property
    def ready_endpoints(self) -> tuple[Endpoint, ...]:
        return tuple(each for each in self.endpoints if each.conditions.ready is not False)

    def serving_pods(self) -> list[Pod]:
        """Return the selected pods that are Ready and have an address."""
        return [pod for pod, _ in self.selected if may_serve(pod) and is_ready(pod)]

    def last_event(self, *reasons: str) -> Event | None:
        return next((event for event in reversed(self.events) if event.reason in reasons), None)


def labels_text(labels: Mapping[str, str]) -> str:
    return ",".join(f"{name}={text}" for name, text in sorted(labels.items()))


def port_text(port: ServicePort) -> str:
    """Return a Service's port as ``80/TCP``, with its name if it has one: ``http 80/TCP``."""
    return f"{f'{port.name} ' if port.name else ''}{port.port}/{port.protocol or 'TCP'}"


def target_of(port: ServicePort, pod: Pod) -> int | None:
    """Return the pod's port behind a Service's port; None for a name that the pod does not have."""
    return port_number(port, pod)

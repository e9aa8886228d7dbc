"""Node ports of Services: those that are named are checked, the others are drawn.

Upstream: ``initNodePorts``, ``updateNodePorts`` and ``allocHealthCheckNodePort`` in
``pkg/registry/core/service/storage/alloc.go``, ``pkg/registry/core/service/portallocator``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from podling.api.core_v1 import ServicePort, ServiceSpec
from podling.apiserver.admission.base import AdmissionRequest
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.networking.service_validation import needs_health_check
from podling.apiserver.registry.allocator_metrics import DYNAMIC, STATIC, AllocatorMetrics
from podling.apiserver.registry.number_pool import NumberPool, static_band
from podling.apiserver.registry.service_numbers import ports_of
from podling.machinery import errors, fields
from podling.machinery.fields import Path

_PORTS = Path("spec").child("ports")
IsUsed = Callable[[int], bool]
"""Return whether another stored Service has the port."""


class NodePortAllocator:
    """Gives Services the ports of one range."""

    def __init__(self, ports: range, metrics: AllocatorMetrics) -> None:
        self._metrics = metrics
        self._pool = NumberPool(ports, static_band(len(ports), step=32, most=128))

    def release(self, holder: Hashable) -> None:
        """Free the ports of a request whose Service is stored, or never will be."""
        self._pool.release(holder)

    def with_ports(
        self, request: AdmissionRequest, spec: ServiceSpec, old: ServiceSpec, is_used: IsUsed
    ) -> ServiceSpec:
        """Return ``spec`` with its node ports; a new Service that has one port under several protocols gets
        one node port for all of them. Raises 422 or 500."""
        own = set(ports_of(old))
        shared = {port.port: port.node_port for port in reversed(spec.ports) if port.node_port}
        wanted = spec.type == "NodePort" or (
            spec.type == "LoadBalancer" and spec.allocate_load_balancer_node_ports is not False
        )
        named = {port.node_port for port in spec.ports if port.node_port}

        def is_taken(port: int) -> bool:
            return port in named or is_used(port)

        ports: list[ServicePort] = []
        for position, port in enumerate(spec.ports):
            if port.node_port and port.node_port not in own:
                self._check(request, _PORTS.index(position).child("nodePort"), port.node_port, is_used)
            elif wanted and not port.node_port:
                found = shared.get(port.port) if request.old is None else None
                found = shared[port.port] = found or self._drawn(request, is_taken)
                port = change(port, node_port=found)
            ports.append(port)
        spec = change(spec, ports=tuple(ports)) if tuple(ports) != spec.ports else spec
        return self._with_health_check(request, spec, old, (is_used, is_taken))

    def _with_health_check(
        self, request: AdmissionRequest, spec: ServiceSpec, old: ServiceSpec, used: tuple[IsUsed, IsUsed]
    ) -> ServiceSpec:
        if not needs_health_check(spec):
            return spec
        is_used, is_taken = used
        health = spec.health_check_node_port
        if not health:
            what = "HealthCheck NodePort 0"
            return change(spec, health_check_node_port=self._drawn(request, is_taken, what))
        problem = self._problem(request, health, is_used) if not needs_health_check(old) else ""
        if problem:
            raise errors.internal(f"failed to allocate requested HealthCheck NodePort {health}: {problem}")
        return spec

    def _drawn(self, request: AdmissionRequest, is_used: IsUsed, what: str = "nodePort") -> int:
        found = self._pool.draw(request.rounds, is_used)
        self._metrics.count_port(DYNAMIC, failed=found is None)
        if found is None:
            raise errors.internal(f"failed to allocate a {what}: range is full")
        return found

    def _check(self, request: AdmissionRequest, path: Path, port: int, is_used: IsUsed) -> None:
        problem = self._problem(request, port, is_used)
        if problem:
            raise errors.invalid("Service", "", request.name, [fields.invalid(path, port, problem)])

    def _problem(self, request: AdmissionRequest, port: int, is_used: IsUsed) -> str:
        """Reserve a port that the request names; return why that is impossible, or an empty text."""
        if port not in self._pool.range:
            self._metrics.count_port(STATIC, failed=True)
            low, high = self._pool.range[0], self._pool.range[-1]
            return f"provided port is not in the valid range. The range of valid ports is {low}-{high}"
        taken = self._pool.take(request.rounds, port, is_used)
        self._metrics.count_port(STATIC, failed=not taken)
        return "" if taken else "provided port is already allocated"

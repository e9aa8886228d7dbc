"""Addresses and node ports of Services: what the writer leaves open is chosen here, what it names is checked.

Kubernetes does this in the Service's own storage, after admission; here it is the last mutating step, which
comes to the same. Each request reserves its numbers until its Service is stored, or will not be: two requests
at the same time never get the same number, and a request that fails leaves nothing behind. A dry run checks
and chooses like any other request, and lets go of its numbers at its end.

Upstream: ``pkg/registry/core/service/storage/alloc.go``, ``pkg/registry/core/service/ipallocator``.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any, NamedTuple

from podling.api.core_v1 import Service, ServicePort, ServiceSpec
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Rounds
from podling.apiserver.kinds.common.filling import change, fill_empty
from podling.apiserver.kinds.networking.service_addresses import is_headless
from podling.apiserver.kinds.networking.service_families import with_families
from podling.apiserver.kinds.networking.service_updates import clear_unused_fields, with_allocated
from podling.apiserver.kinds.networking.service_validation import needs_health_check
from podling.apiserver.registry.number_pool import NumberPool, static_band
from podling.machinery import errors, fields, names
from podling.machinery.fields import FieldError, Path
from podling.machinery.scheme import Resource

CLUSTER_CIDR = "10.96.0.0/12"
CONFIGURED = ("IPv4",)
"""The families of addresses that Services can have."""

NODE_PORTS = range(30000, 32768)
SPEC = Path("spec")


def first_address(cluster_cidr: str = CLUSTER_CIDR) -> str:
    """Return the address that the Service ``kubernetes`` has in a range (upstream: ``ServiceIPRange``)."""
    return str(ipaddress.ip_network(cluster_cidr)[1])


class ServiceAllocation(Plugin):
    """Fills in ``clusterIP``, ``nodePort`` and ``healthCheckNodePort``.

    Args:
        cluster_cidr: where Services' addresses come from (IPv4).
        node_ports: where node ports come from.
    """

    name = "ServiceAllocation"

    def __init__(self, cluster_cidr: str = CLUSTER_CIDR, node_ports: range = NODE_PORTS) -> None:
        self._network = ipaddress.IPv4Network(cluster_cidr)
        addresses = range(int(self._network[1]), int(self._network[-1]))
        static = static_band(self._network.num_addresses - 2, step=16, most=256)
        self._addresses = NumberPool(addresses, static)
        self._allocating = asyncio.Lock()
        self._ports = NumberPool(node_ports, static_band(len(node_ports), step=32, most=128))

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        services = (resource.group, resource.plural) == ("", "services")
        return services and not subresource and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        service: Service = request.object
        spec, old = service.spec, request.old.spec if request.old is not None else ServiceSpec()
        if request.old is not None:
            spec = clear_unused_fields(with_allocated(spec, old), old)
        spec, problems = with_families(spec, None if request.old is None else old, CONFIGURED)
        if problems:
            raise _invalid(request, *problems)
        if spec.type == "ExternalName":
            return change(service, spec=spec)
        if request.rounds.needed and not request.rounds.again:
            return change(service, spec=spec)  # the plugins before may still change it
        request.releases.append(partial(self._release, request.rounds))
        async with self._allocating:
            used = await self._used(request, objects)
            spec = self._with_address(request, spec, old, used)
            return change(service, spec=self._with_ports(request, spec, old, used.ports))

    async def _used(self, request: AdmissionRequest, objects: Objects) -> _Used:
        """Collect what other Services have. Reservations are read before the stored Services, so that a
        Service that is stored and released in between is in one of them."""
        addresses = self._addresses.held_by_others(request.rounds)
        ports = self._ports.held_by_others(request.rounds)
        for each in await objects.list(Service):
            if (each.metadata.namespace, each.metadata.name) == (request.namespace, request.name):
                continue
            if _is_ipv4(each.spec.cluster_ip):
                addresses.add(int(ipaddress.IPv4Address(each.spec.cluster_ip or "")))
            ports.update(_node_ports(each.spec))
        return _Used(addresses, ports)

    def _release(self, holder: Rounds) -> None:
        self._addresses.release(holder)
        self._ports.release(holder)

    def _with_address(
        self, request: AdmissionRequest, spec: ServiceSpec, old: ServiceSpec, used: _Used
    ) -> ServiceSpec:
        if is_headless(spec):
            return spec
        wanted = spec.cluster_ip or ""
        if wanted and wanted != old.cluster_ip:
            self._check_address(request, spec, wanted, used.addresses)
        elif not wanted:
            number = self._addresses.draw(request.rounds, used.addresses)
            if number is None:
                raise errors.internal("failed to allocate a serviceIP: range is full")
            wanted = str(ipaddress.IPv4Address(number))
        return fill_empty(spec, cluster_ip=wanted, cluster_ips=(wanted,))

    def _check_address(
        self, request: AdmissionRequest, spec: ServiceSpec, wanted: str, taken: Collection[int]
    ) -> None:
        if not _is_ipv4(wanted):
            return  # validation says what is wrong with it
        address = ipaddress.IPv4Address(wanted)
        if address not in self._network:
            why = "the provided network does not match the current range"
        elif int(address) not in self._addresses.range:
            why = (
                f"the provided IP ({wanted}) is not in the valid range. "
                f"The range of valid IPs is {self._network}"
            )
        elif not self._addresses.take(request.rounds, int(address), taken):
            why = "provided IP is already allocated"
        else:
            return
        text = f"failed to allocate IP {wanted}: {why}"
        raise _invalid(request, fields.invalid(SPEC.child("clusterIPs"), spec.cluster_ips, text))

    def _with_ports(
        self, request: AdmissionRequest, spec: ServiceSpec, old: ServiceSpec, used: Collection[int]
    ) -> ServiceSpec:
        """Return ``spec`` with its node ports; a new Service that has one port under several protocols gets
        one node port for all of them."""
        own = set(_node_ports(old))
        shared = {port.port: port.node_port for port in reversed(spec.ports) if port.node_port}
        wanted = spec.type == "NodePort" or (
            spec.type == "LoadBalancer" and spec.allocate_load_balancer_node_ports is not False
        )
        taken = {*used, *(port.node_port for port in spec.ports if port.node_port)}
        ports: list[ServicePort] = []
        for position, port in enumerate(spec.ports):
            where = SPEC.child("ports").index(position).child("nodePort")
            if port.node_port and port.node_port not in own:
                self._check_port(request, where, port.node_port, used)
            elif wanted and not port.node_port:
                found = shared.get(port.port) if request.old is None else None
                found = shared[port.port] = found or self._draw_port(request, taken)
                port = change(port, node_port=found)
            ports.append(port)
        spec = change(spec, ports=tuple(ports)) if tuple(ports) != spec.ports else spec
        if not needs_health_check(spec):
            return spec
        health = spec.health_check_node_port
        if not health:
            return change(spec, health_check_node_port=self._draw_port(request, taken))
        problem = self._port_problem(request, health, used) if not needs_health_check(old) else ""
        if problem:
            raise errors.internal(f"failed to allocate requested HealthCheck NodePort {health}: {problem}")
        return spec

    def _draw_port(self, request: AdmissionRequest, used: Collection[int]) -> int:
        found = self._ports.draw(request.rounds, used)
        if found is None:
            raise errors.internal("failed to allocate a nodePort: range is full")
        return found

    def _check_port(self, request: AdmissionRequest, path: Path, port: int, used: Collection[int]) -> None:
        problem = self._port_problem(request, port, used)
        if problem:
            raise _invalid(request, fields.invalid(path, port, problem))

    def _port_problem(self, request: AdmissionRequest, port: int, used: Collection[int]) -> str:
        """Reserve a port that the request names; return why that is impossible, or an empty text."""
        if port not in self._ports.range:
            low, high = self._ports.range[0], self._ports.range[-1]
            return f"provided port is not in the valid range. The range of valid ports is {low}-{high}"
        taken = not self._ports.take(request.rounds, port, used)
        return "provided port is already allocated" if taken else ""


class _Used(NamedTuple):
    """The addresses and node ports of all other Services, stored or about to be."""

    addresses: set[int]
    ports: set[int]


def _is_ipv4(address: str | None) -> bool:
    return isinstance(names.parse_ip(address or ""), ipaddress.IPv4Address)


def _node_ports(spec: ServiceSpec) -> Iterator[int]:
    yield from (port.node_port for port in spec.ports if port.node_port)
    if spec.health_check_node_port:
        yield spec.health_check_node_port


def _invalid(request: AdmissionRequest, *problems: FieldError) -> errors.ApiError:
    return errors.invalid("Service", "", request.name, list(problems))

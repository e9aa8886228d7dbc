"""Addresses and node ports of Services: what the writer leaves open is chosen here, what it names is checked.

Kubernetes does this in the Service's own storage, after admission; here it is the last mutating step, which
comes to the same. Two Services created at once must not get the same address although neither is stored
yet: what was handed out is remembered for a while.

Upstream: ``pkg/registry/core/service/storage/alloc.go``, ``pkg/registry/core/service/ipallocator``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator
from typing import Any

from podling import clock, ids
from podling.api.core_v1 import Service, ServicePort, ServiceSpec
from podling.apiserver.admission.base import Objects, Operation, Plugin, Request
from podling.apiserver.kinds.filling import change, fill_empty
from podling.apiserver.kinds.service_addresses import is_headless
from podling.apiserver.kinds.service_families import with_families
from podling.apiserver.kinds.service_updates import with_allocated, without_leftovers
from podling.apiserver.kinds.service_validation import needs_health_check
from podling.machinery import errors, fields, names
from podling.machinery.fields import FieldError, Path
from podling.machinery.scheme import Resource

CLUSTER_CIDR = "10.96.0.0/12"
CONFIGURED = ("IPv4",)
"""The families of addresses that Services can have."""

NODE_PORTS = range(30000, 32768)
REMEMBERED_SECONDS = 30.0
"""How long something handed out counts as taken though no stored Service shows it."""

RANDOM_TRIES = 64
SPEC = Path("spec")


class ServiceAllocation(Plugin):
    """Fills in ``clusterIP``, ``nodePort`` and ``healthCheckNodePort``.

    Args:
        cluster_cidr: where Services' addresses come from (IPv4).
        node_ports: where node ports come from.
    """

    name = "ServiceAllocation"

    def __init__(self, cluster_cidr: str = CLUSTER_CIDR, node_ports: range = NODE_PORTS) -> None:
        self._network = ipaddress.IPv4Network(cluster_cidr)
        self._addresses = _Pool(range(int(self._network[1]), int(self._network[-1])))
        self._ports = _Pool(node_ports)

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        services = (resource.group, resource.plural) == ("", "services")
        return services and not subresource and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, request: Request, objects: Objects) -> Any:
        service: Service = request.object
        spec, old = service.spec, request.old.spec if request.old is not None else ServiceSpec()
        if request.old is not None:
            spec = without_leftovers(with_allocated(spec, old), old)
        spec, problems = with_families(spec, None if request.old is None else old, CONFIGURED)
        if problems:
            raise _invalid(request, *problems)
        if spec.type == "ExternalName":
            return change(service, spec=spec)
        others = [
            each.spec
            for each in await objects.list(Service)
            if (each.metadata.namespace, each.metadata.name) != (request.namespace, request.name)
        ]
        spec = self._with_address(request, spec, old, {each.cluster_ip for each in others})
        taken = {port for each in others for port in _node_ports(each)}
        spec = self._with_ports(request, spec, old, taken)
        return change(service, spec=spec)

    def _with_address(
        self, request: Request, spec: ServiceSpec, old: ServiceSpec, taken: Collection[str | None]
    ) -> ServiceSpec:
        if is_headless(spec):
            return spec
        wanted = spec.cluster_ip or ""
        numbers = {int(ipaddress.IPv4Address(each)) for each in taken if _is_ipv4(each)}
        if wanted and wanted != old.cluster_ip:
            self._check_address(request, spec, wanted, numbers)
        elif not wanted:
            number = self._addresses.draw(numbers)
            if number is None:
                raise errors.internal("failed to allocate a serviceIP: range is full")
            wanted = str(ipaddress.IPv4Address(number))
        return fill_empty(spec, cluster_ip=wanted, cluster_ips=(wanted,))

    def _check_address(
        self, request: Request, spec: ServiceSpec, wanted: str, taken: Collection[int]
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
        elif not self._addresses.take(int(address), taken):
            why = "provided IP is already allocated"
        else:
            return
        text = f"failed to allocate IP {wanted}: {why}"
        raise _invalid(request, fields.invalid(SPEC.child("clusterIPs"), spec.cluster_ips, text))

    def _with_ports(
        self, request: Request, spec: ServiceSpec, old: ServiceSpec, taken: set[int]
    ) -> ServiceSpec:
        """A new Service that has one port under several protocols gets one node port for all of them."""
        own = set(_node_ports(old))
        shared = {port.port: port.node_port for port in reversed(spec.ports) if port.node_port}
        wanted = spec.type == "NodePort" or (
            spec.type == "LoadBalancer" and spec.allocate_load_balancer_node_ports is not False
        )
        others = frozenset(taken)
        taken = taken | {port.node_port for port in spec.ports if port.node_port}
        ports: list[ServicePort] = []
        for position, port in enumerate(spec.ports):
            where = SPEC.child("ports").index(position).child("nodePort")
            if port.node_port and port.node_port not in own:
                self._check_port(request, where, port.node_port, others)
            elif wanted and not port.node_port:
                found = shared.get(port.port) if request.old is None else None
                found = shared[port.port] = found or self._draw_port(taken)
                taken.add(found)
                port = change(port, node_port=found)
            ports.append(port)
        spec = change(spec, ports=tuple(ports)) if tuple(ports) != spec.ports else spec
        if not needs_health_check(spec):
            return spec
        health = spec.health_check_node_port
        if not health:
            return change(spec, health_check_node_port=self._draw_port(taken))
        problem = self._port_problem(health, others) if not needs_health_check(old) else ""
        if problem:
            raise errors.internal(f"failed to allocate requested HealthCheck NodePort {health}: {problem}")
        return spec

    def _draw_port(self, taken: Collection[int]) -> int:
        found = self._ports.draw(taken)
        if found is None:
            raise errors.internal("failed to allocate a nodePort: range is full")
        return found

    def _check_port(self, request: Request, path: Path, port: int, taken: Collection[int]) -> None:
        problem = self._port_problem(port, taken)
        if problem:
            raise _invalid(request, fields.invalid(path, port, problem))

    def _port_problem(self, port: int, taken: Collection[int]) -> str:
        """Why a port cannot be had; empty if it was handed out."""
        if port not in self._ports.range:
            low, high = self._ports.range[0], self._ports.range[-1]
            return f"provided port is not in the valid range. The range of valid ports is {low}-{high}"
        return "" if self._ports.take(port, taken) else "provided port is already allocated"


class _Pool:
    """Numbers to hand out, each to one Service."""

    def __init__(self, numbers: range) -> None:
        self.range = numbers
        self._handed_out: dict[int, float] = {}

    def draw(self, taken: Collection[int]) -> int | None:
        """A number that is free: a random one, or the first if they are scarce."""
        self._forget()
        for _ in range(RANDOM_TRIES):
            number = self.range[int(ids.uniform(0, len(self.range) - 1))]
            if self._free(number, taken):
                return self._hand_out(number)
        found = next((number for number in self.range if self._free(number, taken)), None)
        return None if found is None else self._hand_out(found)

    def take(self, number: int, taken: Collection[int]) -> bool:
        """Hand out just this number; False if somebody has it."""
        if number in taken:
            return False
        self._hand_out(number)
        return True

    def _free(self, number: int, taken: Collection[int]) -> bool:
        return number not in taken and number not in self._handed_out

    def _hand_out(self, number: int) -> int:
        self._handed_out[number] = clock.monotonic()
        return number

    def _forget(self) -> None:
        limit = clock.monotonic() - REMEMBERED_SECONDS
        self._handed_out = {number: at for number, at in self._handed_out.items() if at > limit}


def _is_ipv4(address: str | None) -> bool:
    return isinstance(names.parse_ip(address or ""), ipaddress.IPv4Address)


def _node_ports(spec: ServiceSpec) -> Iterator[int]:
    yield from (port.node_port for port in spec.ports if port.node_port)
    if spec.health_check_node_port:
        yield spec.health_check_node_port


def _invalid(request: Request, *problems: FieldError) -> errors.ApiError:
    return errors.invalid("Service", "", request.name, list(problems))

"""Addresses and node ports of Services: what the writer leaves open is chosen here, what it names is checked.

Kubernetes does this in the Service's own storage, after admission; here it is the last mutating step, which
comes to the same. Each request reserves its numbers until its Service is stored, or will not be: two requests
at the same time never get the same number, and a request that fails leaves nothing behind. A dry run checks
and chooses like any other request, and lets go of its numbers at its end.

The stored Services say which numbers are in use; the IPAddresses of Services follow them
(``service_addresses_repair``). An IPAddress that stands for anything else is in use as well, and none is
created for the address of a Service.

Upstream: ``pkg/registry/core/service/storage/alloc.go``, ``pkg/registry/core/service/ipallocator``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from podling.api.core_v1 import Service, ServiceSpec
from podling.api.networking_v1 import IPAddress
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Server
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.networking.service_addresses import EXTERNAL_NAME, is_headless
from podling.apiserver.kinds.networking.service_families import is_unchanged_preference, with_families
from podling.apiserver.kinds.networking.service_updates import clear_unused_fields, with_allocated
from podling.apiserver.registry.address_pool import Address, AddressPool, can_have, parse_address
from podling.apiserver.registry.allocator_metrics import DYNAMIC, STATIC, AllocatorMetrics
from podling.apiserver.registry.node_ports import NodePortAllocator
from podling.apiserver.registry.service_numbers import MANAGED_BY, MANAGER, ServiceNumbers
from podling.machinery import errors, fields, names
from podling.machinery.fields import FieldError, Path
from podling.machinery.network_ranges import DEFAULT_RANGES, NetworkRanges
from podling.machinery.scheme import Resource

CLUSTER_IPS = Path("spec").child("clusterIPs")
_VERSIONS = {"IPv4": 4, "IPv6": 6}


def first_address(network: IPv4Network | IPv6Network = DEFAULT_RANGES.services[0]) -> str:
    """Return the address that the Service ``kubernetes`` has in a range (upstream: ``ServiceIPRange``)."""
    return str(network[1])


class ServiceAllocation(Plugin):
    """Fills in ``clusterIPs``, ``nodePort`` and ``healthCheckNodePort``.

    Args:
        ranges: the families of Services, the default first, and where node ports come from. Addresses come
            from the ServiceCIDRs.
    """

    name = "ServiceAllocation"

    def __init__(self, ranges: NetworkRanges = DEFAULT_RANGES) -> None:
        self._families = ranges.families
        self._addresses = AddressPool()
        self._metrics = AllocatorMetrics()
        self._ports = NodePortAllocator(ranges.node_ports, self._metrics)
        self._node_ports = ranges.node_ports
        self._numbers: ServiceNumbers

    def initialize(self, server: Server) -> None:
        self._numbers = ServiceNumbers(server.store)

    def close(self) -> None:
        self._numbers.close()

    def collect(self) -> Iterator[Any]:
        """Yield the counts of allocations; none in a process that allocates nothing."""
        if self._numbers.is_current():
            yield from self._metrics.collect(self._numbers, self._node_ports)

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        if subresource:
            return False
        if (resource.group, resource.plural) == ("", "services"):
            return operation in (Operation.CREATE, Operation.UPDATE)
        is_address = (resource.group, resource.plural) == ("networking.k8s.io", "ipaddresses")
        return is_address and operation is Operation.CREATE

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        if request.resource.plural == "ipaddresses":
            await self._admit_address(request)
            return request.object
        service: Service = request.object
        spec, old = service.spec, request.old.spec if request.old is not None else ServiceSpec()
        before = None if request.old is None else old
        if before is not None:
            spec = clear_unused_fields(with_allocated(spec, old), old)
        spec, problems = with_families(spec, before, self._families)
        if problems:
            raise _invalid(request, *problems)
        if spec.type == EXTERNAL_NAME:
            return change(service, spec=spec)
        if request.rounds.needed and not request.rounds.again:
            return change(service, spec=spec)  # the plugins before may still change it
        await self._numbers.catch_up()  # nothing waits between this look and the reservations
        request.releases.append(partial(self._addresses.release, request.rounds))
        spec = self._with_addresses(request, spec, before)
        request.releases.append(partial(self._ports.release, request.rounds))
        return change(service, spec=self._ports.with_ports(request, spec, old, self._has_port(request)))

    def _with_addresses(
        self, request: AdmissionRequest, spec: ServiceSpec, old: ServiceSpec | None
    ) -> ServiceSpec:
        """Return ``spec`` with an address of each of its families.

        An update takes addresses only when the Service was an ExternalName before, or gets a second family
        (``updateClusterIPs``); validation refuses the other changes.
        """
        if is_headless(spec) or is_unchanged_preference(spec, old):
            return spec
        kept = 0
        if old is not None and old.type != EXTERNAL_NAME:
            if is_headless(old) or not len(old.ip_families) == 1 < len(spec.ip_families):
                return spec
            kept = 1
        wanted = list(spec.cluster_ips)
        for position, family in enumerate(spec.ip_families):
            if position >= len(wanted):
                wanted.append(self._drawn(request, family))
            elif position >= kept:
                self._take(request, spec, wanted[position])
        return change(spec, cluster_ip=wanted[0], cluster_ips=tuple(wanted))

    def _drawn(self, request: AdmissionRequest, family: str) -> str:
        is_used = self._has_address(request)
        for network in self._numbers.ranges(_VERSIONS[family]):
            found = self._addresses.draw(request.rounds, network, is_used)
            self._metrics.count_address(network, DYNAMIC, failed=found is None)
            if found is not None:
                return str(found)
        raise errors.internal("failed to allocate a serviceIP: range is full")

    def _take(self, request: AdmissionRequest, spec: ServiceSpec, wanted: str) -> None:
        """Reserve an address that the request names. Raises 422."""
        address = names.parse_ip(wanted)
        if address is None:
            return  # validation says what is wrong with it
        ranges = self._numbers.ranges(address.version)
        network = next((each for each in ranges if can_have(each, address)), None)
        if network is None:
            why = "the provided network does not match the current range"
        else:
            taken = self._addresses.take(request.rounds, address, self._has_address(request))
            self._metrics.count_address(network, STATIC, failed=not taken)
            if taken:
                return
            why = "provided IP is already allocated"
        text = f"failed to allocate IP {wanted}: {why}"
        raise _invalid(request, fields.invalid(CLUSTER_IPS, spec.cluster_ips, text))

    async def _admit_address(self, request: AdmissionRequest) -> None:
        """Refuse an IPAddress whose address a Service has or is about to get, unless it stands for that.

        One with the allocator's label takes no address away: the repair deletes it if no Service has it.
        """
        obj: IPAddress = request.object
        address = parse_address(obj.metadata.name)
        if address is None or obj.metadata.labels.get(MANAGED_BY) == MANAGER:
            return
        await self._numbers.catch_up()
        request.releases.append(partial(self._addresses.release, request.rounds))
        if not self._addresses.take(request.rounds, address, self._numbers.has_address):
            raise errors.already_exists("ipaddresses", "networking.k8s.io", obj.metadata.name or "")

    def _has_address(self, request: AdmissionRequest) -> Any:
        own = _own_key(request)

        def is_used(address: Address) -> bool:
            return self._numbers.has_address(address, own)

        return is_used

    def _has_port(self, request: AdmissionRequest) -> Any:
        own = _own_key(request)

        def is_used(port: int) -> bool:
            return self._numbers.has_port(port, own)

        return is_used


def _own_key(request: AdmissionRequest) -> str:
    """Return the key of the request's Service. A creation under a name that is taken is refused for that."""
    return request.resource.key(request.namespace, request.name) if request.name else ""


def _invalid(request: AdmissionRequest, *problems: FieldError) -> errors.ApiError:
    return errors.invalid("Service", "", request.name, list(problems))

"""Counts of the addresses and node ports of Services, under Kubernetes' names.

Source of names, labels and texts: ``pkg/registry/core/service/ipallocator/metrics.go`` and
``pkg/registry/core/service/portallocator/metrics.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from podling.apiserver.registry.address_pool import bands
from podling.apiserver.registry.service_numbers import ServiceNumbers
from podling.machinery.histograms import counters, gauges
from podling.machinery.network_ranges import Network

STATIC, DYNAMIC = "static", "dynamic"
"""The scope of an allocation: a number that the Service names, or one that is chosen."""
_IPS, _PORTS = "kube_apiserver_clusterip_allocator", "kube_apiserver_nodeport_allocator"


class AllocatorMetrics:
    """The counts since the start of the process."""

    def __init__(self) -> None:
        self._addresses: Counter[tuple[str, str]] = Counter()
        self._address_errors: Counter[tuple[str, str]] = Counter()
        self._ports: Counter[tuple[str]] = Counter()
        self._port_errors: Counter[tuple[str]] = Counter()

    def count_address(self, network: Network, scope: str, *, failed: bool = False) -> None:
        (self._address_errors if failed else self._addresses)[str(network), scope] += 1

    def count_port(self, scope: str, *, failed: bool = False) -> None:
        (self._port_errors if failed else self._ports)[scope,] += 1

    def collect(self, numbers: ServiceNumbers, ports: range) -> Iterator[Any]:
        """Yield the families, as ``prometheus_client`` collectors give them."""
        cidr, scoped = ("cidr",), ("cidr", "scope")
        ranges = [network for version in (4, 6) for network in numbers.ranges(version)]
        held = {(str(network),): numbers.count_in(network) for network in ranges}
        free = {
            (str(network),): sum(count for _, count in bands(network)) - held[str(network),]
            for network in ranges
        }
        text = "[ALPHA] Gauge measuring the number of allocated IPs for Services"
        yield gauges(f"{_IPS}_allocated_ips", text, cidr, held)
        text = "[ALPHA] Gauge measuring the number of available IPs for Services"
        yield gauges(f"{_IPS}_available_ips", text, cidr, free)
        text = "[ALPHA] Number of Cluster IPs allocations"
        yield counters(f"{_IPS}_allocation", text, scoped, self._addresses)
        text = "[ALPHA] Number of errors trying to allocate Cluster IPs"
        yield counters(f"{_IPS}_allocation_errors", text, scoped, self._address_errors)
        used = numbers.count_ports(ports)
        text = "[ALPHA] Gauge measuring the number of allocated NodePorts for Services"
        yield gauges(f"{_PORTS}_allocated_ports", text, (), {(): used})
        text = "[ALPHA] Gauge measuring the number of available NodePorts for Services"
        yield gauges(f"{_PORTS}_available_ports", text, (), {(): len(ports) - used})
        text = "[ALPHA] Number of NodePort allocations"
        yield counters(f"{_PORTS}_allocation", text, ("scope",), self._ports)
        text = "[ALPHA] Number of errors trying to allocate NodePort"
        yield counters(f"{_PORTS}_allocation_errors", text, ("scope",), self._port_errors)

"""Counts of addresses and node ports, as a server shows them."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Service
from podling.machinery.errors import ApiError
from podling.machinery.network_ranges import network_ranges
from podling.testing import ControlPlane, memory_cluster
from tests.support.counts import samples
from tests.support.manifests import obj

IPS, PORTS = "kube_apiserver_clusterip_allocator", "kube_apiserver_nodeport_allocator"
PLAIN: dict[str, Any] = {"metadata": {"namespace": "default"}, "spec": {"ports": [{"port": 80}]}}


async def create(cluster: ControlPlane, name: str, spec: str = "{}") -> None:
    await cluster.client.create(obj(Service, f"metadata: {{name: {name}}}\nspec: {spec}", PLAIN))


async def test_addresses_are_counted_by_range_and_scope() -> None:
    ranges = network_ranges(services="10.96.0.0/28,fd00:96::/124")
    async with memory_cluster(ranges=ranges) as cluster:
        collectors = cluster.server.collectors
        await create(cluster, "drawn", "{ipFamilyPolicy: RequireDualStack}")
        await create(cluster, "named", "{clusterIP: 10.96.0.7}")
        with pytest.raises(ApiError):
            await create(cluster, "late", "{clusterIP: 10.96.0.7}")
        assert samples(collectors, f"{IPS}_allocated_ips") == {("10.96.0.0/28",): 3, ("fd00:96::/124",): 1}
        assert samples(collectors, f"{IPS}_available_ips") == {("10.96.0.0/28",): 11, ("fd00:96::/124",): 14}
        totals = samples(collectors, f"{IPS}_allocation_total")
        assert totals["10.96.0.0/28", "dynamic"] == totals["fd00:96::/124", "dynamic"] == 1
        assert totals["10.96.0.0/28", "static"] == 2, "the Service kubernetes is one of them"
        errors = samples(collectors, f"{IPS}_allocation_errors_total")
        assert errors == {("10.96.0.0/28", "static"): 1}


async def test_full_range_counts_an_error() -> None:
    async with memory_cluster(ranges=network_ranges(services="10.96.0.0/28")) as cluster:
        for number in range(13):
            await create(cluster, f"web-{number}")
        with pytest.raises(ApiError):
            await create(cluster, "late")
        errors = samples(cluster.server.collectors, f"{IPS}_allocation_errors_total")
        assert errors == {("10.96.0.0/28", "dynamic"): 1}


async def test_node_ports_are_counted_by_scope() -> None:
    async with memory_cluster(ranges=network_ranges(node_ports="30000-30009")) as cluster:
        await create(cluster, "drawn", "{type: NodePort}")
        named = "{type: NodePort, ports: [{port: 80, nodePort: %s}]}"
        with pytest.raises(ApiError):
            await create(cluster, "outside", named % 80)
        taken = (await cluster.client.get(Service, "drawn", "default")).spec.ports[0].node_port
        free = next(port for port in range(30000, 30010) if port != taken)
        await create(cluster, "named", named % free)
        collectors = cluster.server.collectors
        assert samples(collectors, f"{PORTS}_allocated_ports") == {(): 2}
        assert samples(collectors, f"{PORTS}_available_ports") == {(): 8}
        assert samples(collectors, f"{PORTS}_allocation_total") == {("dynamic",): 1, ("static",): 1}
        assert samples(collectors, f"{PORTS}_allocation_errors_total") == {("static",): 1}

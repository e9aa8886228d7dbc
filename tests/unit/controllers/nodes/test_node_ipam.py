"""Nodes get blocks of pod addresses, which no two of them share."""

from __future__ import annotations

from functools import partial
from ipaddress import ip_network

from podling.api.core_v1 import Node
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client
from podling.controllers.nodes.node_ipam import NodeIpamController
from podling.controllers.nodes.pod_blocks import PREFERRED_ANNOTATION
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, running, told
from tests.support.counts import samples

small = partial(NodeIpamController, ranges=(ip_network("10.88.0.0/23"),))


async def add(client: Client, name: str, preferred: str = "") -> None:
    annotations = {PREFERRED_ANNOTATION: preferred} if preferred else {}
    await client.create(Node(metadata=ObjectMeta(name=name, annotations=annotations)))


async def block(client: Client, name: str) -> str:
    spec = (await client.get(Node, name)).spec
    assert spec.pod_cidr == (spec.pod_cidrs or ("",))[0]
    return ",".join(spec.pod_cidrs)


async def test_nodes_get_blocks_and_the_preferred_ones_that_are_free(cluster: ControlPlane) -> None:
    async with running(cluster.client, NodeIpamController):
        await add(cluster.client, "first", "10.88.7.0/24")
        await add(cluster.client, "second", "10.88.7.0/24")
        await add_node(cluster.client, "third")
        await cluster.advance(seconds=1)
        blocks = [await block(cluster.client, name) for name in ("first", "second", "third")]
    assert blocks == ["10.88.7.0/24", "10.88.0.0/24", "10.88.1.0/24"]


async def test_nodes_of_a_cluster_with_two_families_get_two_blocks(cluster: ControlPlane) -> None:
    ranges = (ip_network("fd00:88::/48"), ip_network("10.88.0.0/16"))
    async with running(cluster.client, partial(NodeIpamController, ranges=ranges)):
        await add(cluster.client, "first", "10.88.3.0/24,fd00:88:0:3::/64")
        await add(cluster.client, "second", "10.88.3.0/24")
        await cluster.advance(seconds=1)
        assert await block(cluster.client, "first") == "fd00:88:0:3::/64,10.88.3.0/24"
        assert await block(cluster.client, "second") == "fd00:88::/64,10.88.0.0/24"


async def test_blocks_have_the_size_that_options_name(cluster: ControlPlane) -> None:
    ranges = (ip_network("10.88.0.0/16"), ip_network("fd00:88::/112"))
    sized = partial(NodeIpamController, ranges=ranges, prefixes={4: 26, 6: 120})
    async with running(cluster.client, sized):
        await add(cluster.client, "first", "10.88.3.0/24,fd00:88::300/120")
        await add(cluster.client, "second")
        await cluster.advance(seconds=1)
        assert await block(cluster.client, "first") == "10.88.0.0/26,fd00:88::300/120"
        assert await block(cluster.client, "second") == "10.88.0.64/26,fd00:88::/120"


async def test_existing_blocks_are_kept_and_not_given_again_after_a_restart(cluster: ControlPlane) -> None:
    async with running(cluster.client, NodeIpamController):
        for name in ("a", "b", "c"):
            await add(cluster.client, name)
        await cluster.advance(seconds=1)
    before = [await block(cluster.client, name) for name in ("a", "b", "c")]
    await cluster.client.delete(Node, "b")
    for restart in range(2):
        await add(cluster.client, f"new-{restart}")
        async with running(cluster.client, NodeIpamController):
            await cluster.advance(seconds=1)
    assert [await block(cluster.client, name) for name in ("a", "c")] == [before[0], before[2]]
    added = [await block(cluster.client, f"new-{restart}") for restart in range(2)]
    assert added == [before[1], "10.88.3.0/24"]


async def test_block_that_another_client_assigned_is_taken(cluster: ControlPlane) -> None:
    async with running(cluster.client, NodeIpamController):
        node = Node(metadata=ObjectMeta(name="manual"))
        await cluster.client.create(node)
        await cluster.client.patch(Node, "manual", {"spec": {"podCIDR": "10.88.0.0/24"}})
        await cluster.advance(seconds=1)
        await add(cluster.client, "next")
        await cluster.advance(seconds=1)
        assert await block(cluster.client, "manual") == "10.88.0.0/24"
        assert await block(cluster.client, "next") != "10.88.0.0/24"


async def test_node_waits_with_an_event_until_a_block_is_free(cluster: ControlPlane) -> None:
    async with running(cluster.client, small):
        for name in ("a", "b", "c"):
            await add(cluster.client, name)
        await cluster.advance(seconds=20)
        assert await block(cluster.client, "c") == ""
        assert "Normal CIDRNotAvailable c: Node c status is now: CIDRNotAvailable" in await told(
            cluster.client
        )
        freed = await block(cluster.client, "a")
        await cluster.client.delete(Node, "a")
        await cluster.advance(seconds=1)
        assert await block(cluster.client, "c") == freed


async def test_blocks_in_use_are_counted(cluster: ControlPlane) -> None:
    prefix = "node_ipam_controller"

    def read(name: str) -> float:
        return samples([manager], f"{prefix}_{name}")[("10.88.0.0/23",)]

    async with running(cluster.client, small) as manager:
        assert (read("cirdset_max_cidrs"), read("cidrset_usage_cidrs")) == (2, 0)
        for name in ("a", "b"):
            await add(cluster.client, name)
        await cluster.advance(seconds=1)
        assert read("cidrset_usage_cidrs") == 1
        await cluster.client.delete(Node, "a")
        await cluster.advance(seconds=1)
        assert read("cidrset_usage_cidrs") == 0.5
        assert read("cidrset_cidrs_allocations_total") == 2
        assert read("cidrset_cidrs_releases_total") == 1
        assert read("cidrset_allocation_tries_per_request_count") == 2


async def test_node_that_is_created_again_gets_its_block_by_preference(cluster: ControlPlane) -> None:
    async with running(cluster.client, NodeIpamController):
        await add(cluster.client, "a", "10.88.9.0/24")
        await cluster.advance(seconds=1)
        await cluster.client.delete(Node, "a")
        await add(cluster.client, "a", "10.88.9.0/24")
        await cluster.advance(seconds=1)
        assert await block(cluster.client, "a") == "10.88.9.0/24"


async def test_many_nodes_at_once_get_distinct_blocks(cluster: ControlPlane) -> None:
    async with running(cluster.client, NodeIpamController):
        for number in range(256):
            await add(cluster.client, f"n{number}")
        await cluster.advance(seconds=5)
        nodes = (await cluster.client.list(Node)).items
    assert len({node.spec.pod_cidr for node in nodes} - {""}) == 256

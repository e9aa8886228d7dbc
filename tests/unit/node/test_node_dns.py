"""The annotation by which a node states where its DNS server is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from podling.api.core_v1 import Node
from podling.api.meta_v1 import ObjectMeta
from podling.client.informer_factory import InformerFactory
from podling.machinery.cluster_dns import ANNOTATION, DnsPlace
from podling.network.dns.listening import Listening, bind
from podling.network.pod_network import BridgeNetwork
from podling.node.node_dns import NodeDns
from podling.node.runtimes import NodePlan
from podling.supervisor import Supervisor
from podling.testing import ControlPlane


@pytest.fixture
async def dns(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[NodeDns]:
    plan = NodePlan(
        name="here", index=0, runtime="oci", root=tmp_path, cluster_id="test", address="192.0.2.1"
    )
    informers = InformerFactory(cluster.client)
    network = BridgeNetwork(tmp_path, "test-0")
    dns = NodeDns(plan, cluster.client, network, informers, lambda reason, text: None)
    async with Supervisor() as tasks:
        tasks.keep_running("informers", informers.run)
        tasks.keep_running("place", dns.announce)
        await cluster.advance(seconds=1)
        yield dns
        await tasks.close()


@pytest.fixture
def listening() -> Iterator[Listening]:
    found = bind(("127.0.53.81",))
    yield found
    found.close()


async def stated(cluster: ControlPlane) -> DnsPlace | None:
    await cluster.advance(seconds=2)
    text = (await cluster.client.get(Node, "here")).metadata.annotations.get(ANNOTATION)
    return msgspec.json.decode(text, type=DnsPlace) if text else None


async def test_place_is_stated_once_the_node_exists(
    cluster: ControlPlane, dns: NodeDns, listening: Listening
) -> None:
    dns.announce_place(listening)
    await cluster.advance(seconds=1)
    await cluster.client.create(Node(metadata=ObjectMeta(name="here")))
    wanted = DnsPlace(("127.0.53.81",), listening.port("udp"), listening.port("status"))
    assert await stated(cluster) == wanted
    patch = {"metadata": {"annotations": {ANNOTATION: "something else"}}}
    await cluster.client.patch(Node, "here", patch)
    assert await stated(cluster) == wanted
    await cluster.client.delete(Node, "here")
    await cluster.client.create(Node(metadata=ObjectMeta(name="here")))
    assert await stated(cluster) == wanted, "also for a node that registers anew"


async def test_nothing_is_stated_before_a_server_runs(cluster: ControlPlane, dns: NodeDns) -> None:
    await cluster.client.create(Node(metadata=ObjectMeta(name="here")))
    assert await stated(cluster) is None

"""Objects of the API become messages: all of them first, then every change, within a tenth of a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from podling.api.core_v1 import Namespace, Service, ServicePort, ServiceSpec
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.client.informer_factory import InformerFactory
from podling.network.dns.messages import Begin, Complete, Namespaces, Services, ToServer
from podling.network.dns.record_feed import RecordFeed
from podling.supervisor import Supervisor
from podling.testing import ControlPlane
from tests.support.dns_records import ServiceRecords, decode_records


class Reader:
    """Reads everything that a feed sends."""

    def __init__(self, feed: RecordFeed) -> None:
        self.feed = feed
        self.messages: list[ToServer] = []
        self.services: dict[str, ServiceRecords] = {}

    async def run(self) -> None:
        async for message in self.feed.messages():
            self.messages.append(message)
            if isinstance(message, Services):
                for data in message.changed:
                    records = decode_records(data)
                    self.services[records.key] = records
                for key in message.gone:
                    self.services.pop(key, None)

    def ips(self, key: str) -> list[str]:
        """Return the addresses of a Service's endpoints."""
        return [address.ip for group in self.services[key].endpoints for address in group.addresses]


@pytest.fixture
async def reader(cluster: ControlPlane) -> AsyncIterator[Reader]:
    informers = InformerFactory(cluster.client)
    reader = Reader(RecordFeed(cluster.client, informers))
    await make_service(cluster, "first")
    async with Supervisor() as tasks:
        for name, work in (
            ("informers", informers.run),
            ("slices", reader.feed.slices.run),
            ("reader", reader.run),
        ):
            tasks.keep_running(name, work)
        await cluster.advance(seconds=1)
        yield reader
        await tasks.close()


async def make_service(cluster: ControlPlane, name: str, **spec: object) -> None:
    ports = (ServicePort(name="http", port=80),)
    service = Service(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=ServiceSpec(ports=ports, **spec),  # type: ignore[arg-type]
    )
    await cluster.client.create(service)


def slice_of(*ips: str) -> EndpointSlice:
    ready = EndpointConditions(ready=True)
    return EndpointSlice(
        metadata=ObjectMeta(name="web-1", namespace="default", labels={"kubernetes.io/service-name": "web"}),
        address_type="IPv4",
        endpoints=tuple(Endpoint(addresses=(ip,), conditions=ready) for ip in ips),
    )


async def test_everything_comes_first(reader: Reader) -> None:
    begin, namespaces, *services, complete = reader.messages
    assert (begin, complete) == (Begin(), Complete())
    assert isinstance(namespaces, Namespaces)
    assert {"default", "kube-system"} <= set(namespaces.names)
    assert all(isinstance(each, Services) for each in services)
    assert {"default/first", "default/kubernetes"} <= reader.services.keys()


async def test_endpoint_comes_within_a_tenth_of_a_second(cluster: ControlPlane, reader: Reader) -> None:
    await make_service(cluster, "web", cluster_ip="None")
    await cluster.advance(seconds=1)
    assert reader.ips("default/web") == []
    await cluster.client.create(slice_of("10.0.0.1"))
    await cluster.advance(seconds=0.1)
    assert reader.ips("default/web") == ["10.0.0.1"]
    held = await cluster.client.get(EndpointSlice, "web-1", "default")
    await cluster.client.delete(EndpointSlice, held.metadata.name or "", "default")
    await cluster.advance(seconds=0.1)
    assert reader.ips("default/web") == []


async def test_deleted_service_is_gone(cluster: ControlPlane, reader: Reader) -> None:
    await cluster.client.delete(Service, "first", "default")
    await cluster.advance(seconds=0.1)
    assert "default/first" not in reader.services


async def test_new_namespace_is_sent(cluster: ControlPlane, reader: Reader) -> None:
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="shop")))
    await cluster.advance(seconds=0.1)
    last = [each for each in reader.messages if isinstance(each, Namespaces)][-1]
    assert "shop" in last.names


async def test_changes_at_the_same_time_are_one_message(cluster: ControlPlane, reader: Reader) -> None:
    before = len(reader.messages)
    await asyncio.gather(*(make_service(cluster, f"web-{number}") for number in range(10)))
    await cluster.advance(seconds=1)
    assert len(reader.messages) - before <= 2
    assert len(reader.services) >= 12

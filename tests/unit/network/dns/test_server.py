"""The server on real sockets: UDP, TCP, and floods of nonsense."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from podling import clock
from podling.network.dns.answers import FORMERR, NXDOMAIN, REFUSED
from podling.network.dns.forwarder import Forwarder
from podling.network.dns.metrics import Metrics
from podling.network.dns.records import Address, Endpoints
from podling.network.dns.resolver import Resolver
from podling.network.dns.server import CONNECTIONS_OF_ONE_MAX, DnsServer
from podling.network.dns.settings import Server, Settings
from podling.network.dns.sources import Sources
from podling.network.dns.zone import Zone
from podling.supervisor import Supervisor
from tests.support.dns_messages import StandIn, answers, both_sockets, question, read, reply
from tests.support.dns_records import HTTP, SERVICES, headless, index_of

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

WEB = "svc1.testns.svc.cluster.local"
MANY = headless("many", Endpoints((HTTP,), tuple(Address(f"10.1.{number}.1") for number in range(200))))


class Served:
    """A server on a port of loopback."""

    def __init__(self, tasks: Supervisor, networks: tuple[str, ...]) -> None:
        self.metrics = Metrics()
        forwarder = Forwarder(tasks, self.metrics, lambda reason, text: None)
        self.index = index_of(*SERVICES, MANY)
        self.resolver = Resolver(Zone(self.index, "cluster.local"), forwarder, ())
        self.sources = Sources(networks)
        self.server = DnsServer(self.resolver, forwarder, self.metrics, self.sources, tasks)
        self.datagrams, self._listener = both_sockets()
        self.port: int = self.datagrams.getsockname()[1]

    async def start(self) -> None:
        self.server.serve_datagrams(self.datagrams)
        await self.server.serve_connections(self._listener)

    def close(self) -> None:
        self.server.close()
        self.datagrams.close()

    async def udp(self, *messages: bytes) -> list[bytes]:
        """Send messages, then read as many responses within half a second."""
        loop = asyncio.get_running_loop()
        found: list[bytes] = []
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.setblocking(False)
            client.connect(("127.0.0.1", self.port))
            for each in messages:
                client.send(each)
            try:
                async with asyncio.timeout(0.5):
                    while len(found) < len(messages):
                        found.append(await loop.sock_recv(client, 65536))
            except TimeoutError:
                pass
        return found

    async def tcp(self, *messages: bytes) -> list[bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        found = []
        try:
            for each in messages:
                writer.write(len(each).to_bytes(2, "big") + each)
            for _ in messages:
                length = int.from_bytes(await reader.readexactly(2), "big")
                found.append(await reader.readexactly(length))
        finally:
            writer.close()
            await writer.wait_closed()
        return found


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with asyncio.timeout(60):
        tasks = Supervisor()
        served = Served(tasks, ("127.0.0.0/8",))
        await served.start()
        yield served
        served.close()
        await tasks.close()
        await clock.sleep(0)


async def test_questions_are_answered_over_both_protocols(served: Served) -> None:
    for data in (*await served.udp(question(WEB, number=5)), *await served.tcp(question(WEB, number=5))):
        assert answers(data) == [f"{WEB}. 30 A 10.0.0.1"]
        assert read(data).header.id == 5


async def test_large_answer_is_whole_over_tcp_only(served: Served) -> None:
    name = "many.testns.svc.cluster.local"
    for payload, most in ((0, 512), (4096, 1232)):
        (data,) = await served.udp(question(name, payload=payload))
        assert read(data).header.tc
        assert len(data) <= most
    (data,) = await served.tcp(question(name))
    assert len(answers(data)) == 200
    assert not read(data).header.tc


async def test_one_connection_carries_several_questions(served: Served) -> None:
    found = await served.tcp(*(question(WEB, number=number) for number in range(20)))
    assert [read(data).header.id for data in found] == list(range(20))


async def test_every_answer_is_counted_once(served: Served) -> None:
    await served.udp(*(question(WEB, number=number) for number in range(10)))
    await served.udp(question("no.testns.svc.cluster.local"))
    served.metrics.count_hits(served.server.replies.replies.values())
    assert served.metrics.requests["udp", "1", "A"] == 11
    assert served.metrics.responses["NOERROR", "cache"] == 9
    assert served.metrics.responses["NXDOMAIN", "kubernetes"] == 1
    assert served.metrics.durations.count == 11


async def test_nonsense_is_answered_briefly_or_not_at_all(served: Served) -> None:
    plain = question(WEB)
    for nonsense in (b"", b"x", b"\0" * 11, b"\xff" * 40, plain[:20], b"\0" * 600, plain[:-1] + b"\3"):
        for response in await served.udp(nonsense):
            assert len(response) <= max(12, len(nonsense))
            assert response[3] & 0x0F in (FORMERR, REFUSED)
    assert answers((await served.udp(plain))[0]), "the server goes on"
    assert served.metrics.panics == 0


async def test_answer_of_another_server_comes_later(served: Served) -> None:
    def slow(data: bytes) -> list[bytes]:
        return (
            [reply(data, "www.example. 60 IN A 1.2.3.4")] if b"www" in data else [reply(data, rcode=NXDOMAIN)]
        )

    async with StandIn(slow) as upstream:
        served.resolver.use(Settings(), [Server("127.0.0.1", upstream.port)])
        (data,) = await served.udp(question("www.example"))
        assert answers(data) == ["www.example. 30 A 1.2.3.4"]
        asked = list(upstream.queries)  # more than once if the machine was slow
        (data,) = await served.tcp(question("www.example"))
        assert answers(data)
        assert upstream.queries == asked, "the second answer comes from the cache"


async def test_one_client_cannot_take_every_connection(served: Served) -> None:
    opened = [
        await asyncio.open_connection("127.0.0.1", served.port) for _ in range(CONNECTIONS_OF_ONE_MAX + 1)
    ]
    reader, _ = opened[-1]
    assert await reader.read() == b"", "one too many is closed"
    for _, writer in opened:
        writer.close()
        await writer.wait_closed()

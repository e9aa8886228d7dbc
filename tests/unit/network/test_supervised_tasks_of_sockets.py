"""Each background task that serves sockets of the network fails, and service goes on.

The others are in ``tests/unit/test_supervised_tasks.py``. Here everything runs in this process, on real
sockets.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from podling import clock
from podling.api.core_v1 import Service, ServicePort, ServiceSpec
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.client.events import EventRecorder
from podling.network.dns.control import Control
from podling.network.dns.forwarder import Forwarder
from podling.network.dns.link import Link, NoServer, connect
from podling.network.dns.messages import Hello, Ping, Pong
from podling.network.dns.metrics import Metrics
from podling.network.dns.resolver import Resolver
from podling.network.dns.server import DnsServer
from podling.network.dns.settings import Server, Settings
from podling.network.dns.sources import Sources
from podling.network.dns.zone import Zone
from podling.network.loopback.added_addresses import AddedAddresses
from podling.node.loopback_networking import LoopbackNetworking
from podling.node.runtimes import NodePlan
from podling.supervisor import Supervisor
from podling.testing import ControlPlane
from tests.support.dns_messages import StandIn, both_sockets, question, read, reply
from tests.support.dns_records import SERVICES, index_of
from tests.support.failing_tasks import FailingTasks, sites
from tests.unit.test_supervised_tasks import NEEDS_SOCKETS

pytestmark = [
    pytest.mark.usefixtures("failures_expected"),
    pytest.mark.slow,
    pytest.mark.asyncio(loop_factories=["real"]),
]

FAULTS = [RecursionError("maximum recursion depth exceeded"), OSError(errno.EMFILE, "Too many open files")]
SECONDS = 30.0
CONNECTION = "network/loopback/connection"
LOOPBACK, ENDPOINT = "127.0.0.1", "10.254.53.1"


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(SECONDS):
        while not await condition():
            await clock.sleep(0.05)


class DnsParts:
    """The parts of the DNS process that serve sockets, in this process."""

    def __init__(self, directory: Path) -> None:
        self.path = directory
        self.tasks = Supervisor()
        self.taken: list[bytes] = []
        self.pings: list[Ping] = []
        self.notices: list[str] = []
        metrics = Metrics()
        self.forwarder = Forwarder(self.tasks, metrics, lambda reason, text: self.notices.append(reason))
        self.resolver = Resolver(Zone(index_of(*SERVICES), "cluster.local"), self.forwarder, ())
        self.server = DnsServer(self.resolver, self.forwarder, metrics, Sources(()), self.tasks)
        self.datagrams, self.listener = both_sockets()
        self.place = Server("127.0.0.1", self.datagrams.getsockname()[1])
        self.descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        hello = Hello(os.getpid(), "x", ())
        self.control = Control(self.descriptor, hello, (), self.take, self.pings.append, self.tasks)

    async def take(self, data: bytes) -> None:
        self.taken.append(data)

    def use(self, *servers: Server) -> None:
        self.resolver.use(Settings(upstreams=servers), ())

    async def close(self) -> None:
        self.server.close()
        await self.tasks.close()
        self.control.close()
        self.datagrams.close()
        self.listener.close()
        os.close(self.descriptor)

    async def rcode(self, name: str) -> int:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.setblocking(False)
            client.connect((self.place.ip, self.place.port))
            client.send(question(name))
            async with asyncio.timeout(SECONDS):
                return int(read(await asyncio.get_running_loop().sock_recv(client, 4096)).header.rcode)

    async def answers(self) -> bool:
        return await self.rcode("www.example") == 0

    async def pongs(self) -> bool:
        """Return whether a new connection to the control socket is served."""
        try:
            link = await connect(self.path)
        except NoServer:
            return False
        try:
            return await self._is_served(link)
        except OSError:
            return False
        finally:
            link.close()
            link.listening.close()

    async def _is_served(self, link: Link) -> bool:
        await link.send(Ping(1))
        async with asyncio.timeout(SECONDS):
            return await link.receive() == [Pong(1)]


@asynccontextmanager
async def dns_parts() -> AsyncIterator[DnsParts]:
    with tempfile.TemporaryDirectory(prefix="dns-") as folder:  # a short path, as sockets need
        parts = DnsParts(Path(folder))
        parts.server.serve_datagrams(parts.datagrams)
        parts.control.listen()
        parts.control.serve()
        try:
            yield parts
        finally:
            await parts.close()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_every_task_of_cluster_dns_may_fail(fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = FailingTasks(monkeypatch, fault)
    async with dns_parts() as parts, StandIn(answer) as upstream:
        parts.use(Server("127.0.0.1", upstream.port), parts.place)
        await until(parts.pongs)
        await until(parts.answers)
        async with asyncio.timeout(SECONDS):
            while not parts.notices or not any(LOOP_TEST in query for query in upstream.queries):
                await clock.sleep(0.05)
        assert parts.notices == ["DNSLoop"], "the server leads back to us, which is found out once"
        running = {task for task in tasks.long_lived() if task[0] in ("dns/control", "dns/loop")}
        assert len(running) == 2
        for name, subject in running:
            tasks.fail(name, subject)
        await until(parts.pongs)
        await until(parts.answers)
        assert running <= tasks.long_lived(), "both run again"
        await find_server_again(parts, tasks)
    assert {
        "dns/control",
        "dns/connection",
        "dns/answer",
        "dns/forward",
        "dns/loop",
        "dns/probe",
    } <= tasks.failed
    assert_tried(tasks, "network/dns/")


LOOP_TEST = b"\0\x0d\0\x01"
"""The type and class at the end of a question that tests for loops."""


def answer(data: bytes) -> list[bytes]:
    return [reply(data, "www.example. 0 IN A 1.2.3.4")] if b"www" in data else [reply(data)]


async def find_server_again(parts: DnsParts, tasks: FailingTasks) -> None:
    """A server is silent, then answers: the task that waits for it has failed once, and finds it."""
    datagrams, listener = both_sockets()
    listener.close()
    place = Server("127.0.0.1", datagrams.getsockname()[1])
    datagrams.close()  # nothing listens there any more
    parts.use(place)
    async with asyncio.timeout(SECONDS):
        while "dns/probe" not in tasks.failed:
            assert await parts.rcode("www.example") != 0
    async with StandIn(answer, place.port) as upstream:
        async with asyncio.timeout(SECONDS):
            while not upstream.queries:  # probes only: no question is sent
                await clock.sleep(0.05)
        await until(parts.answers)


def assert_tried(tasks: FailingTasks, folder: str) -> None:
    wanted = {site for site in sites() if site[0] in NEEDS_SOCKETS and site[0].startswith(folder)}
    assert wanted - tasks.sites == set(), "these tasks are not run here, so their failure is not tried"


# ---- Services on loopback


@pytest.mark.root
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_every_task_of_services_on_loopback_may_fail(
    fault: Exception, cluster: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = FailingTasks(monkeypatch, fault)
    async with echoing(tmp_path) as port, networking(cluster, tmp_path):
        await make_service(cluster, "first", 30801, port)
        await until(lambda: echoes(30801))
        for name, subject in {task for task in tasks.long_lived() if task[0] != CONNECTION}:
            tasks.fail(name, subject)
        await until(lambda: echoes(30801))
        await make_service(cluster, "second", 30802, port)
        await until(lambda: echoes(30802))
        await lose_connection(tasks)
        assert await echoes(30801)
    assert {"network/informers", "network/loopback", CONNECTION} <= tasks.failed
    assert_tried(tasks, "network/loopback/")
    assert_tried(tasks, "node/loopback_networking.py")


@asynccontextmanager
async def networking(cluster: ControlPlane, root: Path) -> AsyncIterator[None]:
    plan = NodePlan(
        name="node-1", index=0, runtime="process", root=root, cluster_id="test", address="127.0.53.86"
    )
    recorder = EventRecorder(cluster.client, "kubelet", "node-1")
    found = LoopbackNetworking(plan, cluster.client, recorder, None)
    found.start()
    try:
        yield
    finally:
        await found.close()


@asynccontextmanager
async def echoing(root: Path) -> AsyncIterator[int]:
    """Serve at an address that endpoints may have; the test's network is its own."""
    own = AddedAddresses(root / "endpoint")
    own.hold([ENDPOINT])

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(100):
                writer.write(data)
        writer.close()

    server = await asyncio.start_server(serve, ENDPOINT, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        own.remove()


async def make_service(cluster: ControlPlane, name: str, port: int, target: int) -> None:
    ports = (ServicePort(name="x", port=80, node_port=port, protocol="TCP"),)
    spec = ServiceSpec(type="NodePort", ports=ports)
    service = Service(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)
    await cluster.client.create(service)
    endpoints = EndpointSlice(
        metadata=ObjectMeta(name=name, namespace="default", labels={"kubernetes.io/service-name": name}),
        address_type="IPv4",
        endpoints=(Endpoint(addresses=(ENDPOINT,), conditions=EndpointConditions(ready=True)),),
        ports=(EndpointPort(name="x", port=target, protocol="TCP"),),
    )
    await cluster.client.create(endpoints)


async def echoes(port: int) -> bool:
    """Return whether a new connection to the Service carries bytes both ways."""
    try:
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            writer.write(b"hello")
            found = await reader.read(100)
            writer.close()
            return found == b"hello"
    except OSError:
        return False


async def lose_connection(tasks: FailingTasks) -> None:
    """The task of a connection fails, and the client does not take what came so far for the whole."""
    reader, writer = await asyncio.open_connection(LOOPBACK, 30801)
    writer.write(b"hello")
    assert await reader.readexactly(5) == b"hello"
    for name, subject in tasks.long_lived():
        if name == CONNECTION:
            tasks.fail(name, subject)
    with pytest.raises(ConnectionResetError):
        async with asyncio.timeout(SECONDS):
            await reader.read(100)
    writer.close()

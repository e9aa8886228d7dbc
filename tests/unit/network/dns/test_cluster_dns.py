"""A real DNS process is started, informed, adopted and replaced by the node's half."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from podling import clock
from podling.api.core_v1 import ConfigMap, Service, ServicePort, ServiceSpec
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client, Unreachable
from podling.client.informer_factory import InformerFactory
from podling.files.locks import is_alive
from podling.network.dns.answers import NOERROR, SERVFAIL
from podling.network.dns.cluster_dns import ClusterDns, DnsPlan
from podling.network.dns.link import NoServer, connect, end_server
from podling.network.dns.listening import Listening
from podling.network.dns.messages import DATAGRAMS, STATUS
from podling.network.dns.record_feed import RecordFeed
from podling.supervisor import Supervisor
from podling.testing import ControlPlane
from tests.support.dns_messages import answers, question, read

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

WEB = "web.default.svc.cluster.local"


class NodeProcess:
    """The part of a node's process that keeps cluster DNS."""

    def __init__(self, client: Client, plan: DnsPlan) -> None:
        self.plan = plan
        self.port = 0
        self.notices: list[str] = []
        self._informers = InformerFactory(client)
        feed = RecordFeed(client, self._informers)
        self.dropped = 0
        self._dns = ClusterDns(
            lambda: self.plan,
            lambda: self.plan.ips,
            client,
            feed,
            self._announced,
            self._noticed,
            lambda: self.dropped,
        )
        self._tasks = Supervisor()

    def _announced(self, listening: Listening) -> None:
        self.port = listening.port(DATAGRAMS)

    def _noticed(self, reason: str, text: str) -> None:
        self.notices.append(f"{reason}: {text}")

    def start(self) -> None:
        self._tasks.keep_running("informers", self._informers.run)
        self._tasks.keep_running("dns", self._dns.run)

    async def stop(self) -> None:
        await self._tasks.close()

    async def ask(self, name: str, seconds: float = 60.0) -> list[str]:
        """Return the addresses in the first answer to one question, which is sent once."""
        return [each.split()[-1] for each in answers(await self.send(question(name), seconds))]

    async def send(self, data: bytes, seconds: float = 60.0) -> bytes:
        """Return the first answer to a packet, which is sent once."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.setblocking(False)
            client.connect((self.plan.ips[0], self.port))
            client.send(data)
            async with asyncio.timeout(seconds):
                return await asyncio.get_running_loop().sock_recv(client, 4096)

    async def pid(self) -> int:
        link = await connect(self.plan.directory)
        link.close()
        link.listening.close()
        return link.hello.pid

    async def pid_or_none(self) -> int | None:
        try:
            return await self.pid()
        except NoServer:
            return None


async def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await clock.sleep(0.02)


@pytest.fixture
async def plan() -> AsyncIterator[DnsPlan]:
    with tempfile.TemporaryDirectory(prefix="dns-") as folder:  # a short path, as sockets need
        plan = DnsPlan(
            directory=Path(folder),
            domain="cluster.local",
            ips=("127.0.53.79",),
            networks=(),
            resolv_conf="",
        )
        yield plan
        end_server(plan.directory)


@pytest.fixture
async def node(cluster: ControlPlane, plan: DnsPlan) -> AsyncIterator[NodeProcess]:
    await put_service(cluster.client, "10.96.0.7")
    node = NodeProcess(cluster.client, plan)
    node.start()
    await until(lambda: node.port)
    await until_answer(node, ["10.96.0.7"])
    yield node
    await node.stop()


async def put_service(client: Client, ip: str, name: str = "web") -> None:
    spec = ServiceSpec(cluster_ip=ip, cluster_ips=(ip,), ports=(ServicePort(name="http", port=80),))
    await client.create(Service(metadata=ObjectMeta(name=name, namespace="default"), spec=spec))


async def until_answer(node: NodeProcess, wanted: list[str], name: str = WEB) -> None:
    async with asyncio.timeout(60):
        while await node.ask(name) != wanted:
            await clock.sleep(0.01)


async def test_new_service_has_a_name(cluster: ControlPlane, node: NodeProcess) -> None:
    await put_service(cluster.client, "10.96.0.8", "fresh")
    await until_answer(node, ["10.96.0.8"], "fresh.default.svc.cluster.local")


async def test_process_goes_on_without_the_node_and_is_adopted(
    cluster: ControlPlane, node: NodeProcess, plan: DnsPlan
) -> None:
    before = await node.pid()
    await node.stop()
    assert await node.ask(WEB) == ["10.96.0.7"]
    await put_service(cluster.client, "10.96.0.8", "fresh")
    second = NodeProcess(cluster.client, plan)
    second.start()
    await until(lambda: second.port)
    await until_answer(second, ["10.96.0.8"], "fresh.default.svc.cluster.local")
    assert await second.pid() == before
    await second.stop()


async def test_killed_process_is_replaced_without_losing_a_question(node: NodeProcess) -> None:
    before = await node.pid()
    os.kill(before, signal.SIGKILL)
    assert await node.ask(WEB) == ["10.96.0.7"], "it waits in the socket for the next process"
    assert await node.pid() != before


async def test_process_of_another_build_is_replaced(cluster: ControlPlane, node: NodeProcess) -> None:
    before = await node.pid()
    await node.stop()
    second = NodeProcess(cluster.client, replace(node.plan, networks=("10.88.0.0/24",)))
    second.start()
    await until(lambda: second.port)
    async with asyncio.timeout(60):
        while await node.pid() == before:
            assert await node.ask(WEB) == ["10.96.0.7"]
    await until(lambda: not is_alive(before))
    assert await second.ask(WEB) == ["10.96.0.7"]
    await second.stop()


class AbsentServer:
    """A client whose server does not answer."""

    async def list(self, *kind: object, **options: object) -> object:
        raise Unreachable("there is no API server")


async def test_process_starts_from_its_journal_without_the_api_server(
    node: NodeProcess, plan: DnsPlan
) -> None:
    await node.stop()
    end_server(plan.directory)
    second = NodeProcess(cast("Client", AbsentServer()), plan)
    second.start()
    await until(lambda: second.port)
    assert await second.ask(WEB) == ["10.96.0.7"]
    await second.stop()


async def test_hanging_process_is_replaced(node: NodeProcess) -> None:
    before = await node.pid()
    os.kill(before, signal.SIGSTOP)
    assert await node.ask(WEB, 30) == ["10.96.0.7"]
    await until(lambda: not is_alive(before))


async def test_node_moves_to_other_addresses(node: NodeProcess) -> None:
    node.plan = replace(node.plan, ips=("127.0.53.80",))
    async with asyncio.timeout(20):
        while True:
            try:
                assert await node.ask(WEB, 1) == ["10.96.0.7"]
                break
            except (TimeoutError, ConnectionError):
                await clock.sleep(0.1)


async def test_settings_follow_the_map(cluster: ControlPlane, node: NodeProcess) -> None:
    metadata = ObjectMeta(name="kube-dns", namespace="kube-system")
    data = {"hosts": "10.0.0.9 db.example", "stubDomains": "{"}
    made = await cluster.client.create(ConfigMap(metadata=metadata, data=data))
    await until_answer(node, ["10.0.0.9"], "db.example")
    assert len(node.notices) == 1
    assert node.notices[0].startswith(
        "InvalidClusterDNSConfig: ConfigMap kube-system/kube-dns: stubDomains: "
    )
    await cluster.client.update(replace(made, data={"hosts": "10.0.0.10 db.example"}))
    await until_answer(node, ["10.0.0.10"], "db.example")


async def test_end_leaves_no_process(node: NodeProcess, plan: DnsPlan) -> None:
    pid = await node.pid()
    await node.stop()
    end_server(plan.directory)
    assert not is_alive(pid)
    with pytest.raises(NoServer):
        await connect(plan.directory)
    end_server(plan.directory)


def status_of(pid: int) -> dict[str, str]:
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: " ".join(value.split()) for name, _, value in (row.partition(":") for row in rows)}


def maps_of(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.root
async def test_process_has_no_privileges(cluster: ControlPlane, node: NodeProcess, plan: DnsPlan) -> None:
    """It keeps its sockets and its journal, and is restarted with them; nothing else is left to it."""
    for ip in ("10.96.0.8", "10.96.0.9"):
        pid = await node.pid()
        status = status_of(pid)
        assert {status["Uid"], status["Gid"]} == {"65534 65534 65534 65534"}
        assert status["Groups"] == ""
        assert {int(status[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {0}
        assert status["NoNewPrivs"] == "1"
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        for path in (plan.directory, plan.directory / "control", plan.directory / "log"):
            assert path.stat().st_uid == 0, "it cannot put anything in the place of what the node connects to"
        assert (plan.directory / "records").stat().st_mode & 0o777 == 0o700
        await put_service(cluster.client, ip, f"web-{ip[-1]}")
        await until_answer(node, [ip], f"web-{ip[-1]}.{WEB.partition('.')[2]}")
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(60):
            while await node.pid_or_none() in (None, pid):
                await clock.sleep(0.05)
    await until_answer(node, ["10.96.0.7"])


async def test_process_leaves_out_what_costs_memory(node: NodeProcess) -> None:
    mapped = maps_of(await node.pid())
    assert "msgspec" in mapped
    for library in ("libcrypto", "libssl", "uvloop"):
        assert library not in mapped


async def test_process_imports_nothing_without_privileges(
    cluster: ControlPlane, node: NodeProcess, plan: DnsPlan
) -> None:
    """Python's modules may belong to a user whose files it cannot read any more."""
    names = {
        WEB: "A SOA TXT",
        "cluster.local": "SOA NS",
        "dns-version.cluster.local": "TXT",
        f"_http._tcp.{WEB}": "SRV",
        "7.0.96.10.in-addr.arpa": "PTR",
        f"far.{WEB.partition('.')[2]}": "CNAME A",
        "elsewhere.example": "A",
    }
    spec = ServiceSpec(type="ExternalName", external_name="elsewhere.example")
    await cluster.client.create(Service(metadata=ObjectMeta(name="far", namespace="default"), spec=spec))
    await until_answer(node, ["elsewhere.example."], f"far.{WEB.partition('.')[2]}")
    for name, kinds in names.items():
        for kind in kinds.split():
            response = await node.send(question(name, kind))
            assert read(response).header.rcode == (SERVFAIL if name == "elsewhere.example" else NOERROR)
    link = await connect(plan.directory)
    link.close()
    page = await fetch(plan.ips[0], link.listening.port(STATUS), "/metrics")
    link.listening.close()
    assert b"coredns_dns_requests_total{" in page
    assert b"coredns_panics_total 0.0" in page
    assert "Traceback" not in log_of(plan)


def log_of(plan: DnsPlan) -> str:
    return (plan.directory / "log").read_text()


async def fetch(ip: str, port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection(ip, port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    found = await reader.read()
    writer.close()
    await writer.wait_closed()
    return found

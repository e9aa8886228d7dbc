"""Pods and packets: between pods, to and from the node, by host ports, and two clusters side by side."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from podling.network.guard import port_name
from podling.network.leases import Lease
from podling.runtime.base import NamespaceOptions, PortMapping, RuntimeFailure, Sandbox, SandboxSpec
from tests.support.oci_node import Node, missing, node, own_address

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Node]:
    async with node(tmp_path) as running:
        yield running


async def web(here: Node, text: str, *ports: PortMapping) -> tuple[Sandbox, str]:
    """Start a pod that answers on port 80 with ``text``."""
    sandbox = await here.pod(port_mappings=ports)
    script = f"mkdir /w; echo {text} > /w/index.html; exec httpd -f -p 80 -h /w"
    container = await here.run(sandbox, "sh", "-c", script)
    while (await here.exec(container, "wget", "-qO-", "http://127.0.0.1/")).code:
        pass
    return sandbox, container


async def fetch(address: str, port: int = 80) -> str:
    """Return a web server's answer to the node itself."""
    reader, writer = await asyncio.open_connection(address, port)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer.partition(b"\r\n\r\n")[2].decode().strip()


def free_port() -> int:
    with socket.create_server(("", 0)) as probe:
        return int(probe.getsockname()[1])


async def test_pods_and_the_node_reach_each_other(here: Node) -> None:
    one, client = await web(here, "one")
    two, _ = await web(here, "two")
    assert one.ips != two.ips
    assert (await here.exec(client, "wget", "-qO-", f"http://{two.ips[0]}/")).out == "two\n"
    assert await fetch(two.ips[0]) == "two"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer.append(writer.get_extra_info("peername")[0])
        writer.write(b"from the node")
        writer.close()

    peer: list[str] = []
    server = await asyncio.start_server(answer, str(here.network.gateway), 0)
    port = server.sockets[0].getsockname()[1]
    said = await here.exec(client, "nc", str(here.network.gateway), str(port))
    server.close()
    assert said.out == "from the node"
    assert peer == list(one.ips), "pods keep their own address inside the cluster"


async def test_a_pod_has_one_address_and_one_way_out(here: Node) -> None:
    sandbox, container = await web(here, "x")
    said = await here.exec(container, "ip", "-4", "addr")
    assert f"inet {sandbox.ips[0]}/32 scope global eth0" in said.out
    assert "inet 127.0.0.1/8" in said.out
    routes = (await here.exec(container, "ip", "route")).out.split()
    assert routes[:5] == ["default", "via", str(here.network.gateway), "dev", "eth0"]


async def test_a_host_port_is_answered_from_everywhere(here: Node) -> None:
    port = free_port()
    _, same = await web(here, "mapped", PortMapping(container_port=80, host_port=port))
    _, other = await web(here, "other")
    assert await fetch("127.0.0.1", port) == "mapped"
    assert await fetch(own_address(), port) == "mapped"
    url = f"http://{here.network.gateway}:{port}/"
    assert (await here.exec(other, "wget", "-qO-", url)).out == "mapped\n"
    assert (await here.exec(same, "wget", "-qO-", url)).out == "mapped\n", "from the pod to itself"


async def test_a_host_port_goes_with_its_pod(here: Node) -> None:
    port = free_port()
    mapping = PortMapping(container_port=80, host_port=port)
    sandbox, _ = await web(here, "first", mapping)
    with pytest.raises(RuntimeFailure, match=f"host port {port}/TCP is already in use by another pod"):
        await here.pod(port_mappings=(mapping,))
    await here.runtime.remove_sandbox(sandbox.id)
    with pytest.raises(ConnectionRefusedError):
        await fetch("127.0.0.1", port)
    await web(here, "second", mapping)
    assert await fetch("127.0.0.1", port) == "second"


async def test_a_pod_on_the_nodes_network_has_no_address_of_its_own(here: Node) -> None:
    sandbox = await here.pod(namespaces=NamespaceOptions(host_network=True))
    assert (sandbox.ips, sandbox.host_network) == ((), True)
    _, said = await here.finish(sandbox, "ip", "-4", "addr")
    assert str(here.network.gateway) in said


async def test_a_port_on_the_pods_own_loopback_is_forwarded(here: Node) -> None:
    sandbox = await here.pod()
    script = "mkdir /w; echo inside > /w/index.html; exec httpd -f -p 127.0.0.1:5000 -h /w"
    container = await here.run(sandbox, "sh", "-c", script)
    while "5000" not in (await here.exec(container, "netstat", "-ltn")).out:
        pass
    with pytest.raises(ConnectionRefusedError):
        await fetch(sandbox.ips[0], 5000)
    received = bytearray()

    async def inbound() -> AsyncIterator[bytes]:
        yield b"GET / HTTP/1.0\r\n\r\n"

    async def send(chunk: bytes) -> None:
        received.extend(chunk)

    async with asyncio.timeout(10):
        await here.runtime.port_forward(sandbox.id, 5000, inbound(), send)
    assert received.endswith(b"inside\n")


async def test_two_clusters_live_side_by_side(here: Node, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    async with node(tmp_path / "second") as there:
        assert not here.network.subnet.overlaps(there.network.subnet)
        one, _ = await web(here, "here")
        two, _ = await web(there, "there")
        assert (await fetch(one.ips[0]), await fetch(two.ips[0])) == ("here", "there")
    assert await fetch(one.ips[0]) == "here", "taking one cluster down leaves the other alone"


async def test_addresses_are_given_back(here: Node) -> None:
    sandbox = await here.pod()
    spec = SandboxSpec(pod_uid="u", pod_name="p", pod_namespace="d", log_directory=here.root)
    namespace = here.state / "sandboxes" / sandbox.id / "net"
    again = await here.network.attach(sandbox.id, namespace, spec)
    assert again == sandbox.ips, "attaching twice gives the same"
    await here.runtime.stop_sandbox(sandbox.id)
    await here.network.detach(sandbox.id, here.state / "gone")
    assert list((here.root / "network/leases").iterdir()) == []


class WatchingGate:
    """Records whether the pod's interface exists when it is admitted and released, and to whom it belongs."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.seen: list[tuple[str, str, bool]] = []
        self.refusal = ""

    async def admit(self, lease: Lease) -> None:
        self.record("admit", lease)
        if self.refusal:
            raise RuntimeFailure(self.refusal)

    async def release(self, lease: Lease) -> None:
        self.record("release", lease)

    def record(self, what: str, lease: Lease) -> None:
        port = port_name(self.cluster, IPv4Address(lease.address))
        self.seen.append((what, lease.pod.name, Path("/sys/class/net", port).exists()))


async def test_gate_is_passed_before_a_pod_has_an_interface_and_after_it(here: Node) -> None:
    gate = here.network.gate = WatchingGate(here.cluster)
    sandbox = await here.pod(pod_name="first")
    await here.runtime.remove_sandbox(sandbox.id)
    assert gate.seen == [("admit", "first", False), ("release", "first", False)]


async def test_pod_that_the_gate_refuses_has_no_network(here: Node) -> None:
    gate = here.network.gate = WatchingGate(here.cluster)
    gate.refusal = "not yet"
    with pytest.raises(RuntimeFailure, match="not yet"):
        await here.pod()
    await here.network.detach("none", here.root)  # waits for the leases that have ended
    assert list((here.root / "network/leases").iterdir()) == []
    gate.refusal = ""
    assert (await here.pod()).ips


STRICT = """
import asyncio, subprocess, sys
from pathlib import Path
from tests.support.oci_node import node

IPTABLES = sys.argv[2]

async def main():
    subprocess.run([IPTABLES, "-P", "FORWARD", "DROP"], check=True)
    async with node(Path(sys.argv[1])) as here:
        await here.network.close()  # the rules are in place
        server = await here.pod()
        script = "mkdir /w; echo through > /w/index.html; exec httpd -f -p 80 -h /w"
        web = await here.run(server, "sh", "-c", script)
        while (await here.exec(web, "wget", "-qO-", "http://127.0.0.1/")).code:
            pass
        client = await here.run(await here.pod())
        print((await here.exec(client, "wget", "-qO-", f"http://{server.ips[0]}/")).out)
    rules = subprocess.run([IPTABLES, "-S", "FORWARD"], check=True, capture_output=True, text=True)
    print(rules.stdout)

asyncio.run(main())
"""


@pytest.mark.parametrize("program", ["iptables", "iptables-legacy"])
async def test_pods_reach_each_other_on_a_machine_that_forwards_nothing(tmp_path: Path, program: str) -> None:
    """As on a machine with Docker. Uses its own network namespace: the setting is machine-wide."""
    if not shutil.which(program):
        pytest.skip(f"needs {program}")
    command = ["unshare", "--net", sys.executable, "-c", STRICT, str(tmp_path), program]
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(60):
        said, _ = await child.communicate()
    assert said.decode().split("\n") == ["through", "", "-P FORWARD DROP", "", ""]

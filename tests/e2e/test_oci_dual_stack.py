"""Pods with an address of each family: their traffic, their host ports, and forged IPv6 packets.

The attacker is a program in the pod's network namespace with every capability: more than a pod has.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Network, ip_address
from pathlib import Path
from subprocess import run

import pytest

from podling import clock, ids
from podling.network.names import Names
from podling.runtime.base import PortMapping, Sandbox
from tests.support import raw_frames
from tests.support.oci_node import Node, missing, node

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]

POOL = IPv6Network("fd00:88::/48")


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Node]:
    async with node(tmp_path, second_pool=POOL) as running:
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
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection(address, port)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer.partition(b"\r\n\r\n")[2].decode().strip()


def url(address: str, port: int = 80) -> str:
    return f"http://[{address}]:{port}/" if ":" in address else f"http://{address}:{port}/"


async def on_node(*command: str) -> str:
    """Run a command on the machine; return what it printed."""
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(30):
        said, _ = await child.communicate()
    assert child.returncode == 0
    return said.decode().strip()


async def within(here: Node, pod: Sandbox, *command: str) -> str:
    """Run a command in a pod's network namespace; return what it printed."""
    return await on_node("nsenter", f"--net={here.state / 'sandboxes' / pod.id / 'net'}", *command)


async def attack(here: Node, pod: Sandbox, *arguments: str) -> str:
    return await within(here, pod, sys.executable, raw_frames.__file__, *arguments)


def second_gateway(here: Node) -> str:
    return str(here.network.blocks.gateway6)


async def test_pods_and_the_node_reach_each_other_in_both_families(here: Node) -> None:
    one, client = await web(here, "one")
    two, _ = await web(here, "two")
    assert [ip_address(each).version for each in two.ips] == [4, 6]
    assert ip_address(two.ips[1]) in POOL
    for address in two.ips:
        assert (await here.exec(client, "wget", "-qO-", url(address))).out == "two\n"
        assert await fetch(address) == "two"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peers.append(writer.get_extra_info("peername")[0])
        writer.write(b"from the node")
        writer.close()

    peers: list[str] = []
    for gateway in (str(here.network.gateway), second_gateway(here)):
        server = await asyncio.start_server(answer, gateway, 0)
        port = server.sockets[0].getsockname()[1]
        assert (await here.exec(client, "nc", gateway, str(port))).out == "from the node"
        server.close()
    assert peers == list(one.ips), "pods keep their own addresses inside the cluster"


async def test_first_address_has_the_first_family_of_the_cluster(tmp_path: Path) -> None:
    async with node(tmp_path, second_pool=POOL, ipv6_first=True) as here:
        sandbox = await here.pod()
        assert [ip_address(each).version for each in sandbox.ips] == [6, 4]
        (found,) = await here.runtime.list_sandboxes()
        assert found.ips == sandbox.ips


async def test_pod_has_one_way_out_in_each_family(here: Node) -> None:
    sandbox, _ = await web(here, "x")
    assert f"inet6 {sandbox.ips[1]}/128 scope global nodad" in await within(here, sandbox, "ip", "-6", "addr")
    routes = await within(here, sandbox, "ip", "-6", "route")
    assert f"default via {second_gateway(here)} dev eth0" in routes
    known = await within(here, sandbox, "ip", "-6", "neigh")
    assert f"{second_gateway(here)} dev eth0 lladdr" in known
    assert "PERMANENT" in known


async def test_host_port_is_answered_in_both_families(here: Node) -> None:
    with socket.create_server(("", 0)) as probe:
        port = int(probe.getsockname()[1])
    with node_address() as own:
        mapping = PortMapping(container_port=80, host_port=port)
        sandbox, same = await web(here, "mapped", mapping)
        _, other = await web(here, "other")
        assert await fetch("127.0.0.1", port) == "mapped"
        for address in (own, second_gateway(here)):
            assert await fetch(address, port) == "mapped"
            for client in (other, same):
                assert (await here.exec(client, "wget", "-qO-", url(address, port))).out == "mapped\n"
        await here.runtime.remove_sandbox(sandbox.id)
        with pytest.raises(ConnectionRefusedError):
            await fetch(own, port)


@contextmanager
def node_address() -> Iterator[str]:
    """Give the machine an IPv6 address of the test's own."""
    address, link = f"fd66::{ids.suffix(4).encode().hex()[:4]}", f"test{ids.suffix(6)}"
    run(["ip", "link", "add", link, "type", "bridge"], check=True)
    try:
        run(["ip", "link", "set", link, "up"], check=True)
        run(["ip", "-6", "addr", "add", f"{address}/128", "dev", link, "nodad"], check=True)
        yield address
    finally:
        run(["ip", "link", "delete", link], check=True)


@contextmanager
def outside() -> Iterator[tuple[str, str]]:
    """Make another machine behind a cable; yield its name as a namespace and its address.

    It has no route to pods: only packets with the node's own address are answered.
    """
    name = f"test{ids.suffix(6)}"
    cable = ["ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name]
    run(["ip", "netns", "add", name], check=True)
    try:
        run(cable, check=True)
        run(["ip", "link", "set", name, "up"], check=True)
        run(["ip", "-6", "addr", "add", "fd67::1/64", "dev", name, "nodad"], check=True)
        within = ["ip", "netns", "exec", name, "ip"]
        run([*within, "link", "set", "eth0", "up"], check=True)
        run([*within, "-6", "addr", "add", "fd67::2/64", "dev", "eth0", "nodad"], check=True)
        yield name, "fd67::2"
    finally:
        run(["ip", "netns", "delete", name], check=True)


SERVER = """
import socket, sys
with socket.create_server(("::", 8080), family=socket.AF_INET6) as server:
    server.settimeout(30)
    print("listens", flush=True)
    connection, peer = server.accept()
    connection.sendall(peer[0].encode())
    connection.close()
"""


async def test_pods_leave_the_cluster_with_the_nodes_address(here: Node) -> None:
    _, client = await web(here, "x")
    with outside() as (name, address):
        server = await asyncio.create_subprocess_exec(
            "ip", "netns", "exec", name, sys.executable, "-c", SERVER, stdout=asyncio.subprocess.PIPE
        )
        assert server.stdout is not None
        assert await server.stdout.readline() == b"listens\n"
        assert (await here.exec(client, "nc", address, "8080")).out == "fd67::1"
        await server.wait()


async def settled(here: Node, pod: Sandbox) -> None:
    """Return after a frame that ``pod`` sent later has made its way: earlier ones have been handled, too."""
    gateway = str(here.network.gateway)
    async with await asyncio.start_server(lambda reader, writer: writer.close(), gateway, 0) as server:
        port = str(server.sockets[0].getsockname()[1])
        assert await attack(here, pod, "syn", pod.ips[0], gateway, gateway, port) == "answered"


async def test_router_advertisements_of_pods_are_dropped(here: Node) -> None:
    attacker, neighbour = await here.pod(), await here.pod()
    await attack(here, attacker, "advertise")
    await settled(here, attacker)
    bridge = Names.of(here.cluster).bridge
    for shown in (
        await on_node("sh", "-c", f"ip -6 route show dev {bridge}; ip -6 addr show dev {bridge}"),
        await within(here, neighbour, "sh", "-c", "ip -6 route; ip -6 addr"),
    ):
        assert "2001:db8:bad" not in shown
        assert "fe80::bad" not in shown


async def test_pod_cannot_take_over_an_address_by_advertising_it(here: Node) -> None:
    attacker, victim = await here.pod(), await here.pod()
    gateway, second, bridge = str(here.network.gateway), second_gateway(here), Names.of(here.cluster).bridge
    known = [
        await within(here, victim, "ip", "-6", "neigh"),
        await on_node("ip", "-6", "neigh", "show", "dev", bridge),
    ]
    await attack(here, attacker, "advertise-neighbour", second, victim.ips[1], victim.ips[0])
    await attack(here, attacker, "advertise-neighbour", victim.ips[1], second, gateway)
    await settled(here, attacker)
    assert await within(here, victim, "ip", "-6", "neigh") == known[0]
    assert await on_node("ip", "-6", "neigh", "show", "dev", bridge) == known[1]


@pytest.mark.parametrize("frame_source", ["own", "victim"])
@pytest.mark.parametrize("packet_source", ["own", "victim", "fd67::77", "fe80::77"])
async def test_packets_with_forged_source_go_nowhere(
    here: Node, frame_source: str, packet_source: str
) -> None:
    """Only the pod's own addresses arrive at the node."""
    attacker, victim = await here.pod(), await here.pod()
    names = {"own": attacker.ips[1], "victim": victim.ips[1]}
    frames = {"own": attacker.ips[0], "victim": victim.ips[0]}
    source, frame = names.get(packet_source, packet_source), frames[frame_source]
    gateway, first_gateway = second_gateway(here), str(here.network.gateway)
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as listener:
        listener.bind((gateway, 0))
        listener.settimeout(5.0)
        port = str(listener.getsockname()[1])
        await attack(here, attacker, "udp6", source, gateway, "999", port, frame, first_gateway)
        honest = (attacker.ips[1], "1000", attacker.ips[0])
        await attack(here, attacker, "udp6", honest[0], gateway, honest[1], port, honest[2], first_gateway)
        arrived = listener.recvfrom(10)[1][:2]
        if (packet_source, frame_source) == ("own", "own"):
            assert (arrived, listener.recvfrom(10)[1][:2]) == ((source, 999), (attacker.ips[1], 1000))
        else:
            assert arrived == (attacker.ips[1], 1000)


async def test_answers_of_a_dhcpv6_server_in_a_pod_are_dropped(here: Node) -> None:
    attacker, gateway, first_gateway = await here.pod(), second_gateway(here), str(here.network.gateway)
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as listener:
        listener.bind((gateway, 0))
        listener.settimeout(5.0)
        port = str(listener.getsockname()[1])
        for source in ("547", "1000"):
            own = attacker.ips[1], gateway, source, port, attacker.ips[0], first_gateway
            await attack(here, attacker, "udp6", *own)
        assert listener.recvfrom(10)[1][:2] == (attacker.ips[1], 1000)


DAMAGE = [
    ("ip -6 addr flush dev {bridge}", "has lost its address"),
    ("nft delete table ip6 {table}", "is missing"),
    ("sysctl -qw net.ipv6.conf.{bridge}.accept_ra=2", "was changed"),
    ("ip link delete {bridge}", "is gone"),
]


@pytest.mark.parametrize(("damage", "report"), DAMAGE)
async def test_damage_is_reported_and_repaired(tmp_path: Path, damage: str, report: str) -> None:
    async with node(tmp_path, second_pool=POOL) as here:
        sandbox, _ = await web(here, "again")
        assert await here.network.status() == ""
        names = Names.of(here.cluster)
        await on_node("sh", "-c", damage.format(bridge=names.bridge, table=names.table))
        assert report in await here.network.status()
        async with asyncio.timeout(20):
            while await here.network.status():
                await clock.sleep(0.05)
        assert [await fetch(address) for address in sandbox.ips] == ["again", "again"]


async def test_second_family_comes_and_goes_with_the_option(tmp_path: Path) -> None:
    """Pods that run keep the addresses that they have; the rules follow at once."""
    async with node(tmp_path) as single:
        old, _ = await web(single, "old")
        assert len(old.ips) == 1
        table = Names.of(single.cluster).table
        await single.runtime.close()
        both = single.again(second_pool=POOL)
        await both.start()
        new, _ = await web(both, "new")
        assert [await fetch(address) for address in (*old.ips, *new.ips)] == ["old", "new", "new"]
        assert len(new.ips) == 2
        assert f"table ip6 {table}" in await on_node("nft", "list", "tables")
        await both.runtime.close()
        last = single.again()
        await last.start()
        await last.network.close()
        assert await last.network.status() == ""
        assert f"table ip6 {table}" not in await on_node("nft", "list", "tables")
        assert await fetch(new.ips[0]) == "new"
        await last.runtime.close()


async def test_nothing_is_left_behind(tmp_path: Path) -> None:
    async with node(tmp_path, second_pool=POOL) as here:
        sandbox, names = await here.pod(), Names.of(here.cluster)
        assert sandbox.ips[1] in await on_node("ip", "-6", "neigh", "show", "nud", "permanent")
    assert names.table not in await on_node("nft", "list", "tables")
    assert sandbox.ips[1] not in await on_node("ip", "-6", "neigh", "show", "nud", "permanent")
    assert not (Path("/run/podling-subnets") / f"{here.cluster}.ipv6").exists()

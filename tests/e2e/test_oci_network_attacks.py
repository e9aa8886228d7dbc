"""Pods that send forged packets: loopback of the node, router advertisements, forged addresses.

The attacker is a program in the pod's network namespace with every capability: more than a pod has.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from podling import ids
from podling.network.guard import hardware_address, port_name
from podling.network.names import Names
from podling.runtime.base import PortMapping, Sandbox
from podling.runtime.oci import linux
from podling.runtime.oci.threads import in_thread
from tests.support import raw_frames
from tests.support.clusters import RealCluster, shell_pod
from tests.support.oci_node import Node, missing, node

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Node]:
    async with node(tmp_path) as running:
        yield running


async def within(here: Node, pod: Sandbox, *command: str) -> str:
    """Run a command in a pod's network namespace; return what it printed."""
    namespace = here.state / "sandboxes" / pod.id / "net"
    return await on_node("nsenter", f"--net={namespace}", *command)


async def on_node(*command: str) -> str:
    """Run a command on the machine; return what it printed."""
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(30):
        said, _ = await child.communicate()
    assert child.returncode == 0
    return said.decode().strip()


async def attack(here: Node, pod: Sandbox, *arguments: str) -> str:
    return await within(here, pod, sys.executable, raw_frames.__file__, *arguments)


async def listen(host: str) -> asyncio.Server:
    return await asyncio.start_server(lambda reader, writer: writer.close(), host, 0)


def port_of(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])


async def test_pod_cannot_reach_loopback_of_node(here: Node) -> None:
    pod, gateway = await here.pod(), str(here.network.gateway)
    for target, expected in ((gateway, "answered"), ("127.0.0.1", "silence"), ("127.9.9.9", "silence")):
        async with await listen(target) as server:
            said = await attack(here, pod, "syn", pod.ips[0], gateway, target, str(port_of(server)))
            assert said == expected, target


async def test_pod_cannot_reach_loopback_of_node_without_the_guard(here: Node) -> None:
    """The rule of the IP layer suffices alone, as kube-proxy's does."""
    pod, gateway = await here.pod(), str(here.network.gateway)
    await on_node("nft", "delete", "table", "bridge", Names.of(here.cluster).table)
    async with await listen("127.0.0.1") as server:
        said = await attack(here, pod, "syn", pod.ips[0], gateway, "127.0.0.1", str(port_of(server)))
    assert said == "silence"


async def test_host_port_on_loopback_is_still_answered(here: Node) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    pod = await here.pod(port_mappings=(PortMapping(container_port=80, host_port=port),))
    script = "mkdir /w; echo mapped > /w/index.html; exec httpd -f -p 80 -h /w"
    container = await here.run(pod, "sh", "-c", script)
    while (await here.exec(container, "wget", "-qO-", "http://127.0.0.1/")).code:
        pass
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    assert (await reader.read()).endswith(b"mapped\n")
    writer.close()


async def ipv6_of(interface: str) -> str:
    shown = [await on_node("ip", "-6", each, "show", "dev", interface) for each in ("route", "addr")]
    return "\n".join(shown)


async def test_router_advertisements_of_pods_are_dropped(here: Node) -> None:
    attacker, neighbour = await here.pod(), await here.pod()
    await attack(here, attacker, "advertise")
    await settled(here, attacker)
    for interface in (Names.of(here.cluster).bridge, port_name(here.cluster, first_address(attacker))):
        assert "2001:db8:bad" not in await ipv6_of(interface)
        assert "default" not in await ipv6_of(interface)
    shown = await within(here, neighbour, "sh", "-c", "ip -6 route; ip -6 addr")
    assert "2001:db8:bad" not in shown
    assert "default" not in shown


async def test_pods_refuse_router_advertisements_themselves(here: Node) -> None:
    pod = await here.pod()
    await on_node("nft", "delete", "table", "bridge", Names.of(here.cluster).table)
    attacker = await here.pod()
    await attack(here, attacker, "advertise")
    await settled(here, attacker)
    assert "2001:db8:bad" not in await within(here, pod, "sh", "-c", "ip -6 route; ip -6 addr")
    assert "2001:db8:bad" not in await ipv6_of(Names.of(here.cluster).bridge)


def first_address(pod: Sandbox) -> IPv4Address:
    return IPv4Address(pod.ips[0])


async def settled(here: Node, pod: Sandbox) -> None:
    """Return after a frame that ``pod`` sent later has made its way: earlier ones have been handled, too."""
    async with await listen(str(here.network.gateway)) as server:
        gateway = str(here.network.gateway)
        assert (
            await attack(here, pod, "syn", pod.ips[0], gateway, gateway, str(port_of(server))) == "answered"
        )


@pytest.mark.parametrize("kind", ["arp", "arp-own-mac-in-frame"])
async def test_pod_cannot_take_over_an_address_by_arp(here: Node, kind: str) -> None:
    attacker, victim = await here.pod(), await here.pod()
    gateway, bridge = str(here.network.gateway), Names.of(here.cluster).bridge
    # Linux protects an entry for a second after it was set; the attacker only has to wait.
    await within(here, victim, "sysctl", "-w", "net.ipv4.neigh.eth0.locktime=0")
    await on_node("sysctl", "-w", f"net.ipv4.neigh.{bridge}.locktime=0")
    await settled(here, victim)  # fills both caches
    await attack(here, attacker, kind, gateway, victim.ips[0])
    await attack(here, attacker, kind, victim.ips[0], gateway)
    await settled(here, attacker)
    wrong = hardware_address(first_address(attacker)).hex(":")
    known = await within(here, victim, "ip", "neigh", "show", gateway)
    assert wrong not in known
    assert wrong not in await on_node("ip", "neigh", "show", victim.ips[0], "dev", bridge)


@pytest.mark.parametrize("frame_source", ["own", "victim"])
@pytest.mark.parametrize("packet_source", ["own", "victim", "127.0.0.1", "192.0.2.77"])
async def test_packets_with_forged_source_go_nowhere(
    here: Node, frame_source: str, packet_source: str
) -> None:
    """Only the pod's own addresses arrive, at the node and at a neighbour."""
    attacker, victim = await here.pod(), await here.pod()
    names = {"own": attacker.ips[0], "victim": victim.ips[0]}
    source, frame = names.get(packet_source, packet_source), names[frame_source]
    gateway = str(here.network.gateway)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind((gateway, 0))
        listener.settimeout(5.0)
        port = str(listener.getsockname()[1])
        await attack(here, attacker, "udp", source, gateway, "999", port, frame)
        await attack(here, attacker, "udp", attacker.ips[0], gateway, "1000", port, attacker.ips[0])
        honest = (attacker.ips[0], 1000)
        first = listener.recvfrom(10)[1]
        if (source, frame) == (attacker.ips[0], attacker.ips[0]):
            assert (first, listener.recvfrom(10)[1]) == ((source, 999), honest)
        else:
            assert first == honest


async def test_answers_of_a_dhcp_server_in_a_pod_are_dropped(here: Node) -> None:
    attacker, gateway = await here.pod(), str(here.network.gateway)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind((gateway, 0))
        listener.settimeout(5.0)
        port = str(listener.getsockname()[1])
        for source_port in ("67", "1000"):
            await attack(here, attacker, "udp", attacker.ips[0], gateway, source_port, port, attacker.ips[0])
        assert listener.recvfrom(10)[1] == (attacker.ips[0], 1000)


def socket_in(namespace: Path, address: str) -> socket.socket:
    """Return a datagram socket of another network namespace. The calling thread ends up there."""
    descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        linux.setns(descriptor, linux.CLONE_NEWNET)
    finally:
        os.close(descriptor)
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind((address, 0))
    listener.settimeout(5.0)
    return listener


async def test_pod_cannot_send_past_the_node_to_a_neighbour(here: Node) -> None:
    """Rules of the IP layer, network policies among them, see every packet between two pods."""
    attacker, victim = await here.pod(), await here.pod()
    namespace, gateway = here.state / "sandboxes" / victim.id / "net", str(here.network.gateway)
    with await in_thread(lambda: socket_in(namespace, victim.ips[0])) as listener:
        port = str(listener.getsockname()[1])
        await attack(here, attacker, "across", attacker.ips[0], victim.ips[0], "999", port)
        await attack(here, attacker, "routed", attacker.ips[0], gateway, victim.ips[0], port)
        assert listener.recvfrom(10)[1] == (attacker.ips[0], 1000)


async def test_bridge_does_not_learn_a_neighbours_address(here: Node) -> None:
    attacker, victim = await here.pod(), await here.pod()
    await attack(here, attacker, "learn", victim.ips[0])
    await settled(here, attacker)
    shown = (await on_node("bridge", "fdb", "show", "br", Names.of(here.cluster).bridge)).splitlines()
    address = hardware_address(first_address(victim)).hex(":")
    ports = {line.split()[2] for line in shown if line.startswith(address)}
    assert ports == {port_name(here.cluster, first_address(victim))}


PROGRAM = Path(raw_frames.__file__).read_text()


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="the machine's own image has no Python")
async def test_default_pod_cannot_reach_loopback_with_a_raw_socket(cluster: RealCluster) -> None:
    """From a pod with the default capabilities, NET_RAW among them; and its neighbour stays reachable."""
    name = f"raw-{ids.suffix()}"
    pod = shell_pod(name, "trap 'exit 0' TERM; sleep 3600 & wait")
    cluster.apply(pod)
    cluster.wait_ready(name)
    shown = cluster.get("pod", name)
    own, gateway = shown["status"]["podIP"], shown["status"]["podIP"].rpartition(".")[0] + ".1"
    try:
        for target, expected in ((gateway, "answered"), ("127.0.0.1", "silence")):
            async with await listen(target) as server:
                command = ["exec", "-i", name, "--", "python3", "-", "syn", own, gateway, target]
                said = await asyncio.to_thread(cluster.kubectl, *command, str(port_of(server)), stdin=PROGRAM)
                assert said.strip() == expected
    finally:
        cluster.kubectl("delete", "pod", name, "--wait=false")

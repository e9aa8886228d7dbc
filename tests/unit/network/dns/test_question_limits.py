"""The kernel's limit of questions, in network namespaces: floods of one client, damage by other programs."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from podling.network.dns.listening import bind
from podling.network.dns.messages import CONNECTIONS, DATAGRAMS, Endpoint
from podling.network.dns.question_limits import (
    BURST,
    QUESTIONS_PER_SECOND,
    QuestionLimits,
    batch_of,
    dropped_packets,
)
from podling.network.nftables.kernel import Kernel
from podling.runtime.oci import linux
from podling.supervisor import Supervisor

TABLE = "test_dns"
NETWORKS = {"ip": "10.9.0.{}", "ip6": "fd00:9::{}"}
NODE, FLOODER, OTHER = 1, 2, 3
FLOOD = 1000
LIMIT = 5
ENDPOINTS = tuple(Endpoint(DATAGRAMS, prefix.format(NODE), 53) for prefix in NETWORKS.values())
SECONDS_MAX = 60.0
"""The longest wait for what a machine without load does at once."""


def run(command: str) -> str:
    return subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout


def join_pods() -> dict[str, dict[int, socket.socket]]:
    """Connect a namespace of pods with this one; return a socket of each address of theirs, by family."""
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    linux.unshare(linux.CLONE_NEWNET)
    pods = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    linux.setns(here, linux.CLONE_NEWNET)
    run(f"ip link add node type veth peer name pods netns /proc/{os.getpid()}/fd/{pods}")
    add_addresses("node", NODE)
    linux.setns(pods, linux.CLONE_NEWNET)
    add_addresses("pods", FLOODER, OTHER)
    made = {
        family: {number: connected(prefix.format(number), prefix.format(NODE)) for number in (FLOODER, OTHER)}
        for family, prefix in NETWORKS.items()
    }
    linux.setns(here, linux.CLONE_NEWNET)
    return made


def add_addresses(device: str, *numbers: int) -> None:
    run("ip link set lo up")
    run(f"ip link set {device} up")
    for number in numbers:
        run(f"ip address add {NETWORKS['ip'].format(number)}/24 dev {device}")
        run(f"ip address add {NETWORKS['ip6'].format(number)}/64 dev {device} nodad")


def connected(source: str, target: str) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in source else socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((source, 0))
    made.connect((target, 53))
    made.settimeout(SECONDS_MAX)
    return made


def waiting_in(server: socket.socket) -> list[str]:
    """Return the senders of the packets that wait in a socket."""
    server.setblocking(False)
    found: list[str] = []
    try:
        while True:
            found.append(server.recvfrom(100)[1][0])
    except BlockingIOError:
        return found


async def limit_each_client() -> None:
    """No process reads during the flood: what the limit lets through and another question have space."""
    clients = join_pods()
    with Kernel() as kernel:
        for family, prefix in NETWORKS.items():
            listening = bind([prefix.format(NODE)])
            server = listening.sockets[0]
            server.settimeout(SECONDS_MAX)
            for client in clients[family].values():  # so that both know the way, and nothing waits for it
                client.send(b"first")
                server.recvfrom(100)
            kernel.commit(batch_of(TABLE, listening.endpoints, per_second=1, burst=LIMIT))
            assert dropped_packets(kernel, TABLE) == 0
            for _ in range(FLOOD):
                clients[family][FLOODER].send(b"flood")
            clients[family][OTHER].send(b"question")
            with connected(prefix.format(NODE), prefix.format(NODE)) as own:
                for _ in range(2 * LIMIT):
                    own.send(b"of the node itself")
            found = waiting_in(server)
            assert found.count(prefix.format(OTHER)) == 1
            assert found.count(prefix.format(NODE)) == 2 * LIMIT, "the machine itself has no limit"
            passed = found.count(prefix.format(FLOODER))
            assert LIMIT <= passed < FLOOD / 2
            assert dropped_packets(kernel, TABLE) == FLOOD - passed
            listening.close()


async def pass_over_others() -> None:
    """Only datagrams to the server's own address and port are limited; ``nft`` shows every rule."""
    with Kernel() as kernel:
        kernel.commit(batch_of(TABLE, (*ENDPOINTS, Endpoint(CONNECTIONS, "10.9.0.1", 53))))
        listed = run(f"nft list table inet {TABLE}")
        assert listed.count("udp dport 53") == len(ENDPOINTS)
        for family, prefix in NETWORKS.items():
            assert f"{family} daddr {prefix.format(NODE)} udp dport 53 fib saddr type != local" in listed
            rate = f"limit rate over {QUESTIONS_PER_SECOND}/second burst {BURST} packets"
            assert f"update @clients-{family} {{ {family} saddr {rate} }} counter packets 0" in listed
        kernel.commit(batch_of(TABLE, ()))
        assert "udp" not in run(f"nft list table inet {TABLE}")
        assert dropped_packets(kernel, TABLE) is None
        assert dropped_packets(kernel, "absent") is None


async def restore() -> None:
    """The table is written again when another program changes it, and stays when the node's process ends."""
    notices: list[str] = []
    limits = QuestionLimits(TABLE, lambda reason, _: notices.append(reason))
    tasks = Supervisor()
    tasks.keep_running("limits", limits.run)
    limits.follow(ENDPOINTS)
    await until(lambda: limits.is_written)
    run(f"nft delete table inet {TABLE}")
    await until(lambda: notices == ["ClusterDNSLimitsRestored"])
    assert listing().count("counter") == 2
    run(f"nft insert rule inet {TABLE} input udp dport 53 accept")
    await until(lambda: "dport 53 accept" not in listing())
    limits.follow(ENDPOINTS[:1])
    await until(lambda: listing().count("counter") == 1)
    await tasks.close()
    assert listing().count("counter") == 1
    assert notices == ["ClusterDNSLimitsRestored"]


def listing() -> str:
    command = ["nft", "list", "table", "inet", TABLE]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS_MAX):
        while not condition():
            await clock.sleep(0.01)


async def count() -> None:
    """A table of an earlier run is counted on; so is one that another program changes."""
    client, notices = join_pods()["ip"][FLOODER], list[str]()
    limits = QuestionLimits(TABLE, lambda reason, _: notices.append(reason))
    listening = bind([NETWORKS["ip"].format(NODE)])
    with Kernel() as kernel:
        kernel.commit(batch_of(TABLE, listening.endpoints, per_second=1, burst=LIMIT))
        for _ in range(FLOOD):
            client.send(b"flood")
        counted = dropped_packets(kernel, TABLE)
        assert counted
        tasks = Supervisor()
        tasks.keep_running("limits", limits.run)
        limits.follow(listening.endpoints)
        await until(lambda: limits.dropped == counted)
        run(f"nft delete table inet {TABLE}")
        await until(lambda: notices == ["ClusterDNSLimitsRestored"])
        assert limits.dropped == counted
        await tasks.close()


PARTS: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
    "limit each client": limit_each_client,
    "pass over others": pass_over_others,
    "restore": restore,
    "count": count,
}


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("part", PARTS)
def test_table_in_the_kernel(part: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = ["unshare", "--net", sys.executable, str(Path(__file__)), part]
    subprocess.run(command, env=environment, check=True, timeout=4 * SECONDS_MAX)


if __name__ == "__main__":
    asyncio.run(PARTS[sys.argv[1]]())

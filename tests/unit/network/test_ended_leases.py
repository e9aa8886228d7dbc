"""Addresses of ended pods are leased again once the kernel has forgotten their connections."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import subprocess
import threading
from collections.abc import Callable, Coroutine
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from podling.network.blocks import Blocks
from podling.network.ended_leases import EndedLeases
from podling.network.leases import Leases
from podling.network.netlink import interfaces, links
from podling.network.netlink.connection import Netlink
from podling.runtime.base import RuntimeFailure
from podling.runtime.oci import linux

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]

TRACK = (
    "table inet t {\n chain c {\n type filter hook output priority 0\n ct state established accept\n }\n}\n"
)
ONE_ADDRESS = Blocks(IPv4Network("127.9.9.0/30"))
SERVER = "127.0.0.5"


def in_own_network(use: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run ``use`` in an event loop whose threads have a network namespace of their own."""

    def run() -> None:
        linux.unshare(linux.CLONE_NEWNET)
        with Netlink() as kernel:
            kernel.request([links.set_up(interfaces.index_of("lo"))])
        subprocess.run(["nft", "-f", "-"], input=TRACK.encode(), check=True)
        try:
            asyncio.run(use())
        except BaseException as error:
            errors.append(error)

    errors: list[BaseException] = []
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def talk(address: str) -> None:
    """Exchange a datagram between the server and a client at ``address``."""
    with socket.socket(type=socket.SOCK_DGRAM) as server, socket.socket(type=socket.SOCK_DGRAM) as client:
        server.bind((SERVER, 5000))
        client.bind((address, 0))
        client.sendto(b"x", (SERVER, 5000))
        server.sendto(b"y", server.recvfrom(10)[1])


def connections() -> int:
    return int(Path("/proc/sys/net/netfilter/nf_conntrack_count").read_text())


def test_connections_are_forgotten_before_the_address_is_leased_again(tmp_path: Path) -> None:
    async def use() -> None:
        leases = Leases(tmp_path)
        leases.load()
        ended = EndedLeases(leases)
        assert not await ended.settle()
        lease = leases.take(ONE_ADDRESS, "one", ())
        talk(lease.address)
        assert connections() == 1
        ended.add(lease)
        with pytest.raises(RuntimeFailure, match="in use"):
            leases.take(ONE_ADDRESS, "two", ())
        assert await ended.settle()
        assert connections() == 0
        assert leases.take(ONE_ADDRESS, "two", ()).address == lease.address
        await ended.close()

    in_own_network(use)


def test_address_stays_withheld_while_its_connections_cannot_be_forgotten(tmp_path: Path) -> None:
    async def use() -> None:
        leases = Leases(tmp_path)
        leases.load()
        ended = EndedLeases(leases)
        lease = leases.take(ONE_ADDRESS, "one", ())
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
        try:
            ended.add(lease)
            await ended.settle()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        with pytest.raises(RuntimeFailure, match="in use"):
            leases.take(ONE_ADDRESS, "two", ())
        await ended.close()
        again = Leases(tmp_path)
        again.load()
        assert again.all() == (lease,), "the next start finds it"

    in_own_network(use)

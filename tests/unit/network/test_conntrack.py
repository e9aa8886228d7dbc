"""Connections of an address are forgotten when it is given back, and no others."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

import pytest

from podling.network.conntrack import Conntrack
from podling.network.netlink import interfaces, links
from podling.network.netlink.connection import Netlink
from podling.runtime.oci import linux

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]

TRACK = (
    "table inet t {\n chain c {\n type filter hook output priority 0\n ct state established accept\n }\n}\n"
)
SERVER = {4: "127.0.0.5", 6: "fd00::5"}
CLIENTS = {4: ("127.0.0.6", "127.0.0.7"), 6: ("fd00::6", "fd00::7")}

UNUSED = {4: "192.0.2.1", 6: "2001:db8::1"}


def talk(family: int) -> None:
    """Exchange a datagram between the server and each client."""
    kind = socket.AF_INET if family == 4 else socket.AF_INET6
    with socket.socket(kind, socket.SOCK_DGRAM) as server:
        server.bind((SERVER[family], 5000))
        for address in CLIENTS[family]:
            with socket.socket(kind, socket.SOCK_DGRAM) as client:
                client.bind((address, 0))
                client.sendto(b"x", (SERVER[family], 5000))
                server.sendto(b"y", server.recvfrom(10)[1])


def count() -> int:
    return int(Path("/proc/sys/net/netfilter/nf_conntrack_count").read_text())


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("forget", [Conntrack.forget, Conntrack.forget_one_by_one])
def test_connections_of_one_address_are_forgotten(
    forget: Callable[[Conntrack, str, bytes], None], family: int
) -> None:
    def run() -> None:
        linux.unshare(linux.CLONE_NEWNET)
        with Netlink() as kernel:
            kernel.request([links.set_up(interfaces.index_of("lo"))])
        for address in (SERVER[6], *CLIENTS[6]):
            subprocess.run(["ip", "address", "add", f"{address}/128", "dev", "lo", "nodad"], check=True)
        subprocess.run(["nft", "-f", "-"], input=TRACK.encode(), check=True)
        for address in (CLIENTS[family][0], UNUSED[family], SERVER[family]):
            if not counts:
                talk(family)
                counts.append(count())
            with Conntrack() as tracked:
                forget(tracked, "ip" if family == 4 else "ip6", ip_address(address).packed)
            counts.append(count())

    counts: list[int] = []
    thread = threading.Thread(target=run)  # the network namespace is the thread's
    thread.start()
    thread.join()
    assert counts == [2, 1, 1, 0]

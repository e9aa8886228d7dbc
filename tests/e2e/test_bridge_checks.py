"""The check of a node's bridge, while pods come and go."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Network

import pytest

from podling.network.blocks import Blocks
from podling.network.bridge import Bridge
from podling.network.guard import hardware_address
from podling.network.netlink import interfaces, links
from podling.network.netlink.connection import Netlink

pytestmark = [pytest.mark.e2e, pytest.mark.root]

BLOCKS = Blocks(IPv4Network("10.201.7.0/24"))
ADDRESSES = [str(address) for address in BLOCKS.pod_addresses()[:30]]
MTU = 1500
ROUNDS = 4


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    bridge = Bridge("pl-checks", "checks")
    bridge.set_up(BLOCKS, MTU, ())
    yield bridge
    bridge.delete()


def connect(bridge: Bridge, address: str) -> None:
    """Make a port of the bridge; its other end stays in this namespace."""
    with open("/proc/self/ns/net") as namespace, Netlink() as kernel:
        port = bridge.port(address)
        veth = links.Veth(
            name=port,
            bridge=interfaces.index_of(bridge.name),
            mtu=MTU,
            peer_name=port.replace("p", "q", 1),
            peer_namespace=namespace.fileno(),
            peer_address=hardware_address(BLOCKS.gateway + 1),
        )
        kernel.request([links.add_veth(veth)])


def come_and_go(bridge: Bridge, over: threading.Event) -> None:
    try:
        for _ in range(ROUNDS):
            for address in ADDRESSES:
                connect(bridge, address)
            for address in ADDRESSES:
                bridge.disconnect(address)
    finally:
        over.set()


def test_pods_that_come_and_go_are_not_reported_as_cut_off(bridge: Bridge) -> None:
    over = threading.Event()
    found: set[str] = set()
    with ThreadPoolExecutor() as threads:
        coming = threads.submit(come_and_go, bridge, over)
        while not over.is_set():
            found.add(bridge.missing(BLOCKS, ADDRESSES))
        coming.result()
    assert found == {""}


def test_pod_that_is_cut_off_is_reported(bridge: Bridge) -> None:
    first, second = ADDRESSES[:2]
    connect(bridge, first)
    connect(bridge, second)
    with Netlink() as kernel:
        kernel.request([links.set_master(interfaces.index_of(bridge.port(second)), 0)])
    try:
        cut_off = f"pods are cut off from the bridge {bridge.name}: {bridge.port(second)}"
        assert bridge.missing(BLOCKS, ADDRESSES) == cut_off
    finally:
        bridge.disconnect(first)
        bridge.disconnect(second)

"""Order and choice of a pod's addresses, as ``kubelet_pods_test.go`` lists them (``TestSortPodIPs``)."""

from __future__ import annotations

import pytest

from podling.kubelet.status.pod_addresses import host_network_addresses, sorted_addresses

V4, V6 = "10.0.0.1", "fd01::1234"
SORTED = [
    ((), (V4,), (V4,)),
    ((), (V6,), (V6,)),
    ((), (V4, V6), (V4, V6)),
    ((), (V6, V4), (V4, V6)),
    ((V4,), (V4, V6), (V4, V6)),
    ((V4,), (V6, V4), (V4, V6)),
    ((V6,), (V4, V6), (V6, V4)),
    ((V6, V4), (V4, V6), (V6, V4)),
    ((V4,), (), ()),
    ((V4,), ("10.1.1.1", "10.2.2.2", "10.3.3.3"), ("10.1.1.1",)),
    ((V4,), (V4, "10.3.3.3", "fd02::1", V6), (V4, "fd02::1")),
    ((V6,), (V4, "10.3.3.3", "fd02::1", V6), ("fd02::1", V4)),
    ((V6,), (V4,), (V4,)),
]


@pytest.mark.parametrize(("node", "reported", "wanted"), SORTED)
def test_addresses_follow_the_families_of_the_node(
    node: tuple[str, ...], reported: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    assert sorted_addresses(reported, node) == wanted


HOST = [
    ((), ("192.168.0.1",), ("192.168.0.1",)),
    ((), ("192.168.0.1", V6), ("192.168.0.1", V6)),
    (("192.168.0.1",), ("192.168.0.2",), ("192.168.0.1",)),
    (("192.168.0.1",), ("192.168.0.1", V6), ("192.168.0.1", V6)),
    ((V6,), ("192.168.0.1", V6), (V6,)),
    ((V6,), (V6, "192.168.0.1"), (V6, "192.168.0.1")),
    (("192.168.0.1", V6), ("192.168.0.1",), ("192.168.0.1", V6)),
]


@pytest.mark.parametrize(("before", "node", "wanted"), HOST)
def test_addresses_on_the_network_of_the_node_only_gain_a_second(
    before: tuple[str, ...], node: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    assert host_network_addresses(before, node) == wanted

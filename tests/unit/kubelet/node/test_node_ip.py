"""The addresses that ``--node-ip`` gives to a node: in the Node, and in pods that have the node's network."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.api.core_v1 import Node
from podling.kubelet.config import KubeletConfig
from podling.machinery.network_ranges import network_ranges
from podling.node.machine import node_addresses
from podling.runtime.sim import Scenario
from podling.testing import ControlPlane
from tests.support.kubelet_node import NODE, pod, sim_node


@pytest.mark.parametrize(
    ("chosen", "addresses"),
    [
        pytest.param("192.0.2.7", ("192.0.2.7",), id="IPv4"),
        pytest.param("2001:db8::7", ("2001:db8::7",), id="IPv6"),
        pytest.param("192.0.2.7,2001:db8::7", ("192.0.2.7", "2001:db8::7"), id="both, IPv4 first"),
        pytest.param("2001:db8::7, 192.0.2.7", ("2001:db8::7", "192.0.2.7"), id="both, IPv6 first"),
    ],
)
async def test_node_and_pods_of_its_network_have_the_chosen_addresses(
    cluster: ControlPlane, tmp_path: Path, chosen: str, addresses: tuple[str, ...]
) -> None:
    given = node_addresses(network_ranges().pods, chosen)
    config = KubeletConfig(node_addresses=given, write_files=False)
    async with sim_node(cluster, tmp_path, Scenario(), config) as node:
        await node.create(pod(hostNetwork=True))
        await node.pass_time(2)
        held = (await node.client.get(Node, NODE)).status.addresses
        assert tuple(each.address for each in held if each.type == "InternalIP") == addresses
        status = (await node.get()).status
        assert tuple(each.ip for each in status.host_ips) == addresses
        assert tuple(each.ip for each in status.pod_ips) == addresses
        assert (status.host_ip, status.pod_ip) == (addresses[0], addresses[0])

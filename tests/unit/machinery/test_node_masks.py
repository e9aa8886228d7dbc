"""The sizes of nodes' blocks. Cases: ``setNodeCIDRMaskSizes`` and ``cidrset`` of kube-controller-manager."""

from __future__ import annotations

import re
from ipaddress import ip_network

import pytest

from podling.machinery.node_masks import NodeMasks, node_prefixes

V4, V6, DUAL = "10.88.0.0/16", "fd00:88::/56", "10.88.0.0/16,fd00:88::/56"

ACCEPTED = [
    (V4, NodeMasks(), {4: 24}),
    (V6, NodeMasks(), {6: 64}),
    (DUAL, NodeMasks(), {4: 24, 6: 64}),
    (V4, NodeMasks(single=26), {4: 26}),
    (V6, NodeMasks(single=72), {6: 72}),
    (V4, NodeMasks(ipv4=18), {4: 18}),
    (V6, NodeMasks(ipv6=65), {6: 65}),
    (DUAL, NodeMasks(ipv4=18), {4: 18, 6: 64}),
    (DUAL, NodeMasks(ipv6=65), {4: 24, 6: 65}),
    (DUAL, NodeMasks(ipv4=28, ipv6=72), {4: 28, 6: 72}),
    ("10.88.0.0/24", NodeMasks(), {4: 24}),
    ("10.0.0.0/8", NodeMasks(single=28), {4: 28}),
    ("fd00:88::/48", NodeMasks(), {6: 64}),
]


@pytest.mark.parametrize(("pods", "masks", "prefixes"), ACCEPTED)
def test_mask_sizes_follow_the_options(pods: str, masks: NodeMasks, prefixes: dict[int, int]) -> None:
    found = node_prefixes([ip_network(each) for each in pods.split(",")], masks)
    assert prefixes.items() <= found.items()


REFUSED = [
    (DUAL, NodeMasks(single=24), "usage of --node-cidr-mask-size is not allowed with dual-stack clusters"),
    (DUAL, NodeMasks(24, 24, 64), "usage of --node-cidr-mask-size is not allowed with dual-stack clusters"),
    (
        V4,
        NodeMasks(single=24, ipv4=24),
        "usage of --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 is not allowed if "
        "--node-cidr-mask-size is set. For dual-stack clusters please unset it and use IPFamily specific "
        "flags",
    ),
    (V6, NodeMasks(single=64, ipv6=64), "is not allowed if --node-cidr-mask-size is set"),
    (
        V6,
        NodeMasks(ipv4=24),
        "usage of --node-cidr-mask-size-ipv4 is not allowed for a single-stack IPv6 cluster",
    ),
    (
        V4,
        NodeMasks(ipv6=64),
        "usage of --node-cidr-mask-size-ipv6 is not allowed for a single-stack IPv4 cluster",
    ),
    (
        "10.88.0.0/26",
        NodeMasks(),
        "Invalid --cluster-cidr, mask size of cluster CIDR must be less than or equal to "
        "--node-cidr-mask-size configured for CIDR family: 10.88.0.0/26 has no block with a mask size of 24",
    ),
    ("fd00:88::/65", NodeMasks(), "fd00:88::/65 has no block with a mask size of 64"),
    (
        "fd00:88::/47",
        NodeMasks(),
        "New CIDR set failed; the node CIDR size is too big: the mask size of fd00:88::/47 must be at least "
        "48",
    ),
    (V4, NodeMasks(single=17), "--node-cidr-mask-size 17 of IPv4 is not between 18 and 28"),
    (V4, NodeMasks(ipv4=29), "--node-cidr-mask-size 29 of IPv4 is not between 18 and 28"),
    ("fd00:88::/112", NodeMasks(single=125), "--node-cidr-mask-size 125 of IPv6 is not between 1 and 124"),
    (
        "10.88.0.0/16,fd00:88::/108",
        NodeMasks(ipv4=24, ipv6=121),
        "--node-cidr-mask-size-ipv6 121 gives a node fewer addresses than --node-cidr-mask-size-ipv4 24",
    ),
]


@pytest.mark.parametrize(("pods", "masks", "why"), REFUSED)
def test_other_mask_sizes_are_refused_in_kubernetes_words(pods: str, masks: NodeMasks, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        node_prefixes([ip_network(each) for each in pods.split(",")], masks)

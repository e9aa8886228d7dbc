"""The sizes of nodes' blocks of pod addresses, as kube-controller-manager's options name them. Pure.

Source of rules and texts: ``cmd/kube-controller-manager/app/core.go`` (``setNodeCIDRMaskSizes``),
``pkg/controller/nodeipam`` and its ``ipam/cidrset``.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network

from msgspec import Struct

_Network = IPv4Network | IPv6Network

NODE_PREFIX = {4: 24, 6: 64}
"""The prefix length of each node's block of pod addresses without options, by family."""
_LIMITS = {4: (18, 28), 6: (1, 124)}
"""The shortest and longest prefix. A node of IPv4 has rules for every address of its block, and so at most
16,384 of them; the smallest block is for 13 pods."""
_NODE_BITS_MAX = 16
"""A cluster has at most two to so many blocks of IPv6 (upstream: ``clusterSubnetMaxDiff``)."""

_OPTION = "--node-cidr-mask-size"


class NodeMasks(Struct, frozen=True):
    """The values of ``--node-cidr-mask-size`` and of the options for one family; 0 where it is not set."""

    single: int = 0
    ipv4: int = 0
    ipv6: int = 0


def node_prefixes(pods: Sequence[_Network], masks: NodeMasks) -> dict[int, int]:
    """Return the prefix length of a node's block by family, for a cluster with these ranges of pods.

    Raises ``ValueError`` with Kubernetes' text where the options do not fit the ranges.
    """
    _check_options(pods, masks)
    found = {
        4: masks.ipv4 or masks.single or NODE_PREFIX[4],
        6: masks.ipv6 or masks.single or NODE_PREFIX[6],
    }
    for block in pods:
        _check_range(block, found[block.version])
    if len(pods) > 1 and 128 - found[6] < 32 - found[4]:
        raise ValueError(
            f"{_OPTION}-ipv6 {found[6]} gives a node fewer addresses than {_OPTION}-ipv4 {found[4]}: a pod "
            f"has one of each family, so it must be at most {96 + found[4]}"
        )
    return found


def _check_options(pods: Sequence[_Network], masks: NodeMasks) -> None:
    if len(pods) > 1:
        if masks.single:
            raise ValueError(f"usage of {_OPTION} is not allowed with dual-stack clusters")
        return
    if masks.single and (masks.ipv4 or masks.ipv6):
        raise ValueError(
            f"usage of {_OPTION}-ipv4 and {_OPTION}-ipv6 is not allowed if {_OPTION} is set. For dual-stack "
            "clusters please unset it and use IPFamily specific flags"
        )
    if masks.ipv4 and pods[0].version == 6:
        raise ValueError(f"usage of {_OPTION}-ipv4 is not allowed for a single-stack IPv6 cluster")
    if masks.ipv6 and pods[0].version == 4:
        raise ValueError(f"usage of {_OPTION}-ipv6 is not allowed for a single-stack IPv4 cluster")


def _check_range(block: _Network, node: int) -> None:
    shortest, longest = _LIMITS[block.version]
    if not shortest <= node <= longest:
        raise ValueError(f"{_OPTION} {node} of IPv{block.version} is not between {shortest} and {longest}")
    if block.prefixlen > node:
        raise ValueError(
            "Invalid --cluster-cidr, mask size of cluster CIDR must be less than or equal to "
            f"{_OPTION} configured for CIDR family: {block} has no block with a mask size of {node}"
        )
    if block.version == 6 and node - block.prefixlen > _NODE_BITS_MAX:
        raise ValueError(
            f"New CIDR set failed; the node CIDR size is too big: the mask size of {block} must be at least "
            f"{node - _NODE_BITS_MAX} for blocks with a mask size of {node}"
        )

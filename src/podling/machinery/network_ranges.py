"""The address ranges of a cluster: of pods, of Services, and of node ports, as options name them.

A range has one block, or two of different families; the first is the default family. Sizes are limited as
in kube-apiserver (``validateClusterIPFlags``) and kube-controller-manager (node CIDR masks).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from msgspec import Struct

from podling.machinery.node_masks import NodeMasks, node_prefixes

Network = IPv4Network | IPv6Network

CLUSTER_CIDR = "10.88.0.0/16"
SERVICE_RANGE = "10.96.0.0/12"
NODE_PORTS = "30000-32767"

VXLAN = "vxlan"
ROUTES = "routes"
MODES = (VXLAN, ROUTES)
"""The ways of packets to pods of other machines: in tunnels, or by routes over a link that they share."""

_SERVICE_PREFIX = {4: (8, 28), 6: (64, 124)}
"""The shortest and longest prefix of a range of Services. The smallest contains the tenth address, which is
the cluster DNS's; the largest of IPv6 is kube-apiserver's."""
_PORT_MAX = 65535

_CLUSTER_CIDR_OPTION = "--cluster-cidr"
_SERVICE_OPTION = "--service-cluster-ip-range"
_PORTS_OPTION = "--service-node-port-range"


class NetworkRanges(Struct, frozen=True, kw_only=True):
    """The ranges of one cluster, parsed."""

    pods: tuple[Network, ...]
    services: tuple[Network, ...]
    node_ports: range
    node_prefixes: dict[int, int]
    """The prefix length of each node's block of pod addresses, by family."""

    @property
    def families(self) -> tuple[str, ...]:
        """The families of Services, ``IPv4`` or ``IPv6``, the default first."""
        return tuple(family_name(each) for each in self.services)


class Route(Struct, frozen=True):
    """A network that the machine has a route to, and its interface."""

    network: Network
    interface: str


def family_name(network: Network) -> str:
    return f"IPv{network.version}"


def network_ranges(
    pods: str = CLUSTER_CIDR,
    services: str = SERVICE_RANGE,
    node_ports: str = NODE_PORTS,
    masks: NodeMasks = NodeMasks(),  # noqa: B008 a frozen value
) -> NetworkRanges:
    """Return the ranges that options name. Raises ``ValueError`` with a text for the user."""
    pod_blocks = _blocks(_CLUSTER_CIDR_OPTION, pods)
    found = NetworkRanges(
        pods=pod_blocks,
        services=_blocks(_SERVICE_OPTION, services),
        node_ports=parse_port_range(node_ports),
        node_prefixes=node_prefixes(pod_blocks, masks),
    )
    for block in found.services:
        _check_service_block(block)
    for pod_block in found.pods:
        for service_block in found.services:
            if _overlap(pod_block, service_block):
                raise ValueError(
                    f"{_CLUSTER_CIDR_OPTION} {pod_block} and {_SERVICE_OPTION} {service_block} overlap: pods "
                    "and Services need addresses of their own"
                )
    return found


def route_conflict(option: str, blocks: Sequence[Network], routes: Iterable[Route]) -> str:
    """Return why ``blocks`` would hide a part of the machine's network; empty if they do not."""
    for route in routes:
        for block in blocks:
            if _overlap(block, route.network):
                return (
                    f"{option} {block} overlaps the machine's route to {route.network} (interface "
                    f"{route.interface}); choose a range that the machine does not use"
                )
    return ""


def missing_family(ranges: NetworkRanges) -> str:
    """Return why Services would have a family of addresses that no pod has; empty if none has."""
    pods = {block.version for block in ranges.pods}
    for block in ranges.services:
        if block.version not in pods:
            return (
                f"{_SERVICE_OPTION} {block} is {family_name(block)}, but {_CLUSTER_CIDR_OPTION} has no "
                f"{family_name(block)} range, so no pod could serve there; add one, for example "
                f"{_CLUSTER_CIDR_OPTION} {','.join(map(str, ranges.pods))},{_EXAMPLE[block.version]}"
            )
    return ""


def changed_range(option: str, last: Sequence[Network], wanted: Sequence[Network]) -> str:
    """Return why a cluster with the ranges ``last`` cannot have ``wanted`` in their place; empty if it can.

    A range of the other family may come and go: what has an address of it keeps it.
    """
    before = {block.version: block for block in last}
    for block in wanted:
        old = before.get(block.version)
        if old is not None and old != block:
            keepers = (
                "its nodes keep their blocks of it"
                if option == _CLUSTER_CIDR_OPTION
                else "Services keep their addresses of it; a ServiceCIDR object adds a further range"
            )
            return (
                f"{option} {block}: the cluster has the {family_name(block)} range {old}, and {keepers}. "
                "'podling up --new-store' begins a new cluster"
            )
    return ""


def missing_ipv4(ranges: NetworkRanges) -> str:
    """Return where nodes with real pods need IPv4; empty if nothing is missing.

    Pods have IPv4 addresses in any case. The API server listens on IPv4 alone, and the Service ``kubernetes``
    leads to it.
    """
    if all(block.version == 6 for block in ranges.pods):
        return f"{_CLUSTER_CIDR_OPTION} has no IPv4 range, which pods need beside an IPv6 range; add one"
    if ranges.services[0].version == 6:
        return (
            f"{_SERVICE_OPTION} must begin with the IPv4 range: the Service kubernetes has the first family, "
            "and the API server listens on IPv4 alone"
        )
    return ""


_EXAMPLE = {4: CLUSTER_CIDR, 6: "fd00:88::/48"}


def parse_port_range(text: str) -> range:
    """Return the ports of ``low-high``, ``low+count`` or one port (``k8s.io/apimachinery/pkg/util/net``).

    Raises ``ValueError``.
    """
    low, plus, count = text.partition("+")
    start, dash, end = text.partition("-")
    numbers = (low, count) if plus else (start, end) if dash else (text,)
    if not all(number.isascii() and number.isdigit() for number in numbers):
        raise ValueError(f'{_PORTS_OPTION} "{text}" is no range of ports; one is {NODE_PORTS}')
    first = int(numbers[0])
    last = first if len(numbers) == 1 else int(numbers[1]) + (first if plus else 0)
    if not 1 <= first <= last <= _PORT_MAX:
        raise ValueError(f'{_PORTS_OPTION} "{text}" is no range between 1 and {_PORT_MAX}')
    return range(first, last + 1)


def _blocks(option: str, text: str) -> tuple[Network, ...]:
    blocks: list[Network] = []
    for part in text.split(","):
        value = part.strip()
        try:
            blocks.append(_block(value))
        except ValueError as error:
            raise ValueError(f'{option} "{value}": {error}') from error
    if len(blocks) > 2:
        raise ValueError(f"{option} must not contain more than two entries")
    if len({block.version for block in blocks}) < len(blocks):
        raise ValueError(
            f"{option} {text}: both ranges are {family_name(blocks[0])}; two ranges must be of different "
            "families"
        )
    return tuple(blocks)


def _block(text: str) -> Network:
    """Return the network of a CIDR. Raises ``ValueError`` with Kubernetes' text."""
    address, _, length = text.partition("/")
    try:
        block = ip_network(text, strict=False)
    except ValueError:
        block = None
    if block is None or not (length.isascii() and length.isdigit()):
        raise ValueError("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
    if ip_address(address) != block.network_address:
        raise ValueError("must not have bits set beyond the prefix length")
    return block


def _check_service_block(block: Network) -> None:
    shortest, longest = _SERVICE_PREFIX[block.version]
    if block.prefixlen > longest:
        raise ValueError(
            f"{_SERVICE_OPTION} {block} is too small: the prefix length must be at most {longest}, so that "
            "it has at least 16 addresses"
        )
    if block.prefixlen < shortest:
        raise ValueError(
            f"{_SERVICE_OPTION} {block} is too large: the prefix length must be at least {shortest}"
        )


def _overlap(one: Any, other: Any) -> bool:
    return one.version == other.version and bool(one.overlaps(other))


DEFAULT_RANGES = network_ranges()
"""The ranges of a cluster without options: IPv4 alone."""

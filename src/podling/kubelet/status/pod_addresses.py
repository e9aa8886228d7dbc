"""The addresses of a pod in its status. Pure.

Upstream: ``generateAPIPodStatus`` and ``sortPodIPs`` in ``pkg/kubelet/kubelet_pods.go``.
"""

from __future__ import annotations

from collections.abc import Sequence


def sorted_addresses(addresses: Sequence[str], node: Sequence[str]) -> tuple[str, ...]:
    """Return a pod's addresses, one a family, in the order of the node's families.

    Args:
        addresses: what the runtime reports, in any order.
        node: the node's addresses, the primary one first. IPv4 comes first without any.
    """
    ipv6_first = bool(node) and _is_ipv6(node[0])
    found = (next((each for each in addresses if _is_ipv6(each) is wanted), "") for wanted in (False, True))
    first, second = found
    return tuple(filter(None, (second, first) if ipv6_first else (first, second)))


def host_network_addresses(before: Sequence[str], node: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses of a pod on the node's network: the node's, immutable once set.

    When the node becomes dual-stack, its second address is added.
    """
    if not before:
        return tuple(node)
    if len(before) == 1 and len(node) == 2 and _is_ipv6(before[0]) is not _is_ipv6(node[1]):
        return (before[0], node[1])
    return tuple(before)


def _is_ipv6(address: str) -> bool:
    return ":" in address

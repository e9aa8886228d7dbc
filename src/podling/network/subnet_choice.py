"""The choice of a node's pod subnets, remembered so that pods keep their addresses over restarts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from podling.machinery.node_masks import NODE_PREFIX
from podling.network import ipv6, subnets
from podling.network.blocks import Blocks, choose_second
from podling.network.leases import choose_subnet
from podling.network.routes import machine_routes
from podling.runtime.base import RuntimeFailure


class SubnetChoice:
    """Chooses the subnets of one node among those that no other node of the machine uses.

    Args:
        state: directory in which the choice is remembered.
        name: the node's name in the machine's reservations.
        pool: the cluster's pod addresses.
        wanted: the IPv4 subnet, if it is not to be chosen.
        second_pool: the cluster's IPv6 pod addresses; None for IPv4 alone.
        prefixes: the prefix length of a node's subnet, by family.
        reservations: directory of the machine's reservations.
    """

    def __init__(
        self,
        state: Path,
        name: str,
        *,
        pool: IPv4Network,
        wanted: IPv4Network | None = None,
        second_pool: IPv6Network | None = None,
        prefixes: Mapping[int, int] = NODE_PREFIX,
        reservations: Path = subnets.DIRECTORY,
    ) -> None:
        self._state = state
        self._name = name
        self._pool = pool
        self._wanted = wanted
        self._second_pool = second_pool
        self._prefixes = prefixes
        self._reservations = reservations

    def choose(self, assigned: Blocks | None, *, has_pods: bool) -> Blocks:
        """Return the node's subnets, reserved on this machine.

        Those of the last run are kept while pods have addresses of them; else ``assigned``, the blocks that
        the cluster assigned to the node, come first. Call it under the machine's lock. Raises ``OSError``;
        ``RuntimeFailure`` where no subnet is free.
        """
        first = self._wanted or self._choose_first(assigned, has_pods)
        subnets.reserve(self._name, first, self._state, self._reservations)
        if self._second_pool is None:
            return Blocks(first)
        second = self._choose_second(self._second_pool, first, assigned, has_pods)
        subnets.reserve(self._name, second, self._state, self._reservations)
        return Blocks(first, second)

    def forget(self) -> None:
        """Give the subnets up. Raises ``OSError``."""
        for file in ("subnet", "subnet6"):
            (self._state / file).unlink(missing_ok=True)
        subnets.release(self._name, self._reservations)

    def _choose_first(self, assigned: Blocks | None, has_pods: bool) -> IPv4Network:
        file = self._state / "subnet"
        if assigned is None or has_pods:
            with suppress(FileNotFoundError, ValueError):  # half a file: no pod has an address yet
                return IPv4Network(file.read_text().strip())
        if assigned is not None:
            chosen = assigned.ipv4
        else:
            routes = [route.network for route in machine_routes() if isinstance(route.network, IPv4Network)]
            reserved = subnets.reserved_by_others(self._name, self._reservations)
            taken = [*routes, *(each for each in reserved if isinstance(each, IPv4Network))]
            chosen = choose_subnet(self._pool, self._prefixes[4], taken)
        _write_whole(file, f"{chosen}\n")
        return chosen

    def _choose_second(
        self, pool: IPv6Network, first: IPv4Network, assigned: Blocks | None, has_pods: bool
    ) -> IPv6Network:
        if not ipv6.is_supported():
            raise RuntimeFailure(f"the kernel has no IPv6, which the pod network {pool} needs")
        file = self._state / "subnet6"
        chosen = assigned.ipv6 if assigned is not None else None
        if chosen is None or has_pods:
            with suppress(FileNotFoundError, ValueError):
                found = IPv6Network(file.read_text().strip())
                if found.subnet_of(pool):
                    return found
        if chosen is None:
            routes = (route.network for route in machine_routes())
            taken = [*routes, *subnets.reserved_by_others(self._name, self._reservations)]
            others = [each for each in taken if isinstance(each, IPv6Network)]
            chosen = choose_second(pool, self._pool, first, others, self._prefixes[6])
        _write_whole(file, f"{chosen}\n")
        return chosen


def _write_whole(file: Path, text: str) -> None:
    """Write a file, or leave none: half a file on a full disk would be another subnet."""
    try:
        file.write_text(text)
    except OSError:
        file.unlink(missing_ok=True)
        raise

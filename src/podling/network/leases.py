"""Leases of pod addresses: one small file each, so that addresses survive a restart.

Pure choice of subnets and addresses, and the directory with the leases. A released address is used again as
late as possible, since peers may still take it for the old pod's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import msgspec
from msgspec import Struct

from podling.network.blocks import Blocks
from podling.runtime.base import PortMapping, RuntimeFailure


class LeasedPod(Struct, frozen=True, kw_only=True):
    """The pod that an address was leased to, as it was then."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    is_static: bool = False
    """The node runs the pod without the API server."""


class Lease(Struct, frozen=True, kw_only=True):
    """One pod's addresses and the node's ports that lead to them."""

    sandbox_id: str
    address: str
    second: str = ""
    """The pod's IPv6 address; empty if it was started with one family."""
    ports: tuple[PortMapping, ...] = ()
    pod: LeasedPod = LeasedPod()

    @property
    def addresses(self) -> tuple[str, ...]:
        return (self.address, self.second) if self.second else (self.address,)


def choose_subnet(pool: IPv4Network, prefix: int, taken: Iterable[IPv4Network]) -> IPv4Network:
    """Return the first subnet of ``pool`` that overlaps nothing in ``taken``. Raises ``RuntimeFailure``."""
    used = list(taken)
    for subnet in pool.subnets(new_prefix=max(prefix, pool.prefixlen)):
        if not any(subnet.overlaps(other) for other in used):
            return subnet
    raise RuntimeFailure(f"no free /{prefix} is left in the pod network {pool}")


def choose_address(subnet: IPv4Network, leased: Collection[str], last: str) -> IPv4Address:
    """Return the next free address after ``last``, around the end. Raises ``RuntimeFailure`` when full.

    The subnet's first address is the gateway's; its own and its broadcast address are never leased.
    """
    first = int(subnet.network_address) + 2
    count = subnet.num_addresses - 3
    start = int(IPv4Address(last)) + 1 - first if last else 0
    for offset in range(count):
        address = IPv4Address(first + (start + offset) % count)
        if str(address) not in leased:
            return address
    raise RuntimeFailure(f"every address of the node's pod subnet {subnet} is in use")


class Leases:
    """The leases of one node, kept in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._by_sandbox: dict[str, Lease] = {}
        self._withheld: set[str] = set()
        self._last = ""

    def load(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._by_sandbox.clear()
        for file in sorted(self._directory.iterdir()):
            try:
                lease = msgspec.json.decode(file.read_bytes(), type=Lease)
            except msgspec.MsgspecError:
                file.unlink()  # cut off while being written: it was never handed out
                continue
            if lease.address not in self._withheld:
                self._by_sandbox[lease.sandbox_id] = lease

    def all(self) -> tuple[Lease, ...]:
        return tuple(self._by_sandbox.values())

    def get(self, sandbox_id: str) -> Lease | None:
        return self._by_sandbox.get(sandbox_id)

    def take(
        self,
        blocks: Blocks,
        sandbox_id: str,
        ports: tuple[PortMapping, ...],
        pod: LeasedPod = LeasedPod(),  # noqa: B008 a frozen value
    ) -> Lease:
        """Lease an address of each family; the same sandbox gets the same ones again.

        Raises ``RuntimeFailure``.
        """
        before = self._by_sandbox.get(sandbox_id)
        if before is not None:
            return before
        leased = {lease.address for lease in self._by_sandbox.values()} | self._withheld
        chosen = choose_address(blocks.ipv4, leased, self._last)
        address, second = str(chosen), blocks.second(chosen)
        lease = Lease(
            sandbox_id=sandbox_id,
            address=address,
            second="" if second is None else str(second),
            ports=ports,
            pod=pod,
        )
        self._by_sandbox[sandbox_id] = lease
        self._last = address
        (self._directory / address).write_bytes(msgspec.json.encode(lease))
        return lease

    def withhold(self, sandbox_id: str) -> None:
        """End a lease, but lease its addresses to no other pod before ``release``."""
        lease = self._by_sandbox.pop(sandbox_id, None)
        if lease is not None:
            self._withheld.add(lease.address)

    def release(self, address: str) -> None:
        """Let a withheld address be leased again."""
        (self._directory / address).unlink(missing_ok=True)
        self._withheld.discard(address)

    def give_back(self, sandbox_id: str) -> Lease | None:
        """End a lease; None if there was none."""
        lease = self._by_sandbox.pop(sandbox_id, None)
        if lease is not None:
            self.release(lease.address)
        return lease

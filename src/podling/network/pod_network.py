"""The pods' network of one node: a bridge, a subnet of addresses, and a cable for each pod.

Every pod has one address of its own (a /32) and one route, over the node. So everything a pod sends,
even to its neighbour, passes the node's routing, where address translation for host ports and services
can see both directions; pods on one node need no special case. Links are made by netlink in one thread
that enters the pod's namespace and ends there: no helper process.

Names of interfaces, the nftables tables and files all derive from the cluster, so clusters live beside
each other. Addresses are leased in files; a lease whose interface is gone (a reboot) is void.

``status`` compares the machine with what should be there. It reports what another program deleted or
changed, and starts the repair.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address
from pathlib import Path

from msgspec import Struct

from podling import clock
from podling.files import locks
from podling.network import firewall, guard, ipv6, subnets
from podling.network.assignment import Assignment, agree
from podling.network.blocks import Blocks, choose_second
from podling.network.bridge import Bridge
from podling.network.conntrack import Conntrack
from podling.network.gate import OpenGate, PodGate
from podling.network.generation import generation
from podling.network.leases import Lease, LeasedPod, Leases, choose_subnet
from podling.network.netlink import mtu_of
from podling.network.routes import machine_routes
from podling.runtime.base import RuntimeFailure, SandboxSpec
from podling.runtime.failures import remove_all
from podling.runtime.oci.threads import in_thread, wait_for_end

DEFAULT_POOL = IPv4Network("10.88.0.0/16")
NODE_PREFIX = 24

_MTU_DEFAULT = 1500
_LOCK = Path("/run/podling-subnets.lock")
_LOCK_SECONDS = 10.0
"""Clusters hold the lock for milliseconds; a longer holder is no working cluster."""
_LOCK_RETRY_SECONDS = 0.02


class Names(Struct, frozen=True):
    """The names of this node's bridge, table and files; interface names have at most 15 characters."""

    bridge: str
    table: str

    @staticmethod
    def of(cluster_id: str) -> Names:
        digest = hashlib.sha256(cluster_id.encode()).hexdigest()[:10]
        return Names(bridge=f"pl-{digest}", table=f"podling_{digest}")


class BridgeNetwork:
    """``PodNetwork`` by a bridge.

    Args:
        state: leases and the chosen subnet; outlives the process, not ``remove``.
        cluster_id: names everything on the machine; two nodes on one machine have different ones.
        pool: the cluster's pod addresses, from which this node takes its subnet.
        subnet: the node's subnet, if it is not to be chosen.
        second_pool: the cluster's IPv6 pod addresses; None gives pods IPv4 addresses alone.
        ipv6_first: the IPv6 address is the first of a pod.
        overhead: the bytes that the way to other nodes adds to a packet, so that pods' packets are smaller.
        assigned: a controller assigns the subnets (``spec.podCIDRs``); those chosen here are only a wish.
    """

    def __init__(  # noqa: PLR0913 the settings of a node's network, all by name
        self,
        state: Path,
        cluster_id: str = "default",
        *,
        pool: IPv4Network = DEFAULT_POOL,
        subnet: IPv4Network | None = None,
        second_pool: IPv6Network | None = None,
        ipv6_first: bool = False,
        overhead: int = 0,
        assigned: bool = False,
    ) -> None:
        self._state = state
        self._cluster_id = cluster_id
        self._pool = pool
        self._wanted = subnet
        self._second_pool = second_pool
        self._ipv6_first = ipv6_first
        self._second: IPv6Network | None = None
        self._leases = Leases(state / "leases")
        self._assignment = Assignment(state / "assigned", needed=assigned)
        self._names = Names.of(cluster_id)
        self._bridge = Bridge(self._names.bridge, cluster_id)
        self._subnet: IPv4Network | None = None
        self._overhead = overhead
        self._mtu = _MTU_DEFAULT
        self._problem = "the pod network has not been started"
        self._rules: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._damage = ""
        self._generation = 0
        self._listing = ""
        self._legacy = ""
        self.gate: PodGate = OpenGate()
        self.on_repair: Callable[[str], object] = lambda damage: None
        """Called after a repair with the damage."""

    @property
    def leases(self) -> tuple[Lease, ...]:
        """The leases of all pods that are connected, and of those that are about to be."""
        return self._leases.all()

    @property
    def subnet(self) -> IPv4Network:
        """The node's IPv4 subnet: the block assigned to it (``spec.podCIDRs``), or until then the one that it
        would like. Raises ``RuntimeFailure`` before ``start``."""
        if self._subnet is None:
            raise RuntimeFailure(self._problem)
        return self._subnet

    @property
    def blocks(self) -> Blocks:
        """The node's pod subnets of both families. Raises ``RuntimeFailure`` before ``start``."""
        return Blocks(self.subnet, self._second)

    @property
    def mtu(self) -> int:
        """The largest packet of a pod."""
        return self._mtu

    @property
    def gateway(self) -> IPv4Address:
        """The node's own address in the subnet: where pods reach it."""
        return self.subnet.network_address + 1

    # ---- life

    async def start(self) -> None:
        """Make the bridge, or find it again. The address translation follows in the background.

        When this fails, ``status`` and every ``attach`` report the reason.
        """
        try:
            await in_thread(self._load_leases)
            self._assignment.load()
            async with _machine_lock():
                await in_thread(self._set_up)
        except (OSError, RuntimeFailure) as error:
            self._problem = f"the pod network cannot be made: {error}"
            return
        self._problem = ""
        self._rules = asyncio.ensure_future(self._open_firewall())

    async def close(self) -> None:
        """Let go; bridge, addresses and rules stay for the pods that run on."""
        rules, self._rules = self._rules, None
        if rules is not None:
            await asyncio.gather(rules, return_exceptions=True)

    async def remove(self) -> None:
        """Take everything down, once no pod is left: ``podling down``. Raises ``RuntimeFailure`` for the
        first thing that stays; it does not keep the others."""
        await self.close()
        await remove_all(
            "the pod network",
            firewall.remove(self._names.table),
            firewall.remove_parts(self._names.table),
            firewall.close_forwarding(self._names.bridge),
            in_thread(self._tear_down),
        )
        self._subnet = None
        self._problem = "the pod network has been removed"

    async def use_blocks(self, assigned: Blocks) -> None:
        """Use the blocks that the cluster assigned to the node.

        Raises ``RuntimeFailure`` while pods have addresses of others, or when the bridge cannot be made.
        """
        if self._problem:
            raise RuntimeFailure(self._problem)
        if self._rules is not None:
            await asyncio.wait([self._rules])
        if not agree(assigned, self.blocks) and not self._leases.all():
            self._subnet, self._second = assigned.ipv4, self._second and (assigned.ipv6 or self._second)
            self._rules = asyncio.ensure_future(self._move())
        self._assignment.announce(assigned)
        self._assignment.check(self.blocks)
        try:
            await in_thread(self._assignment.save)
        except OSError as error:
            raise RuntimeFailure(f"the node's blocks {assigned} cannot be recorded: {error}") from error
        if self._rules is not None:
            await asyncio.shield(self._rules)

    async def _move(self) -> None:
        """Make the bridge again for another subnet. No pod has an address."""
        try:
            await in_thread(self._bridge.delete)
        except OSError as error:
            raise RuntimeFailure(f"the bridge cannot be made again: {error}") from error
        await self._repair()

    async def status(self) -> str:
        if self._problem:
            return self._problem
        if self._rules is None or not self._rules.done():
            return self._damage
        if error := self._rules.exception():
            self._damage = f"address translation cannot be set up: {error}"
        else:
            self._damage = await self._find_damage()
        if self._damage:
            self._rules = asyncio.ensure_future(self._repair(self._damage))
        return self._damage

    async def _find_damage(self) -> str:
        """Return what another program deleted or changed; empty when everything is in place."""
        try:
            addresses = [lease.address for lease in self._leases.all()]
            missing = await in_thread(lambda: self._bridge.missing(self.blocks, addresses))
            return missing or await self._changed_rules()
        except (OSError, RuntimeFailure) as error:
            return f"the pod network cannot be checked: {error}"

    async def _changed_rules(self) -> str:
        """Return what is wrong with the tables. They are listed only after some program changed any rule."""
        if self._writing.locked():
            return ""
        async with self._writing:
            current = await in_thread(generation)
            legacy = await in_thread(firewall.legacy_tables)
            if self._listing and (current, legacy) == (self._generation, self._legacy):
                return ""
            try:
                listing = await firewall.listing(self._names.table, self.blocks)
            except RuntimeFailure as error:
                return f"the nftables table {self._names.table} is missing: {str(error).splitlines()[0]}"
            if self._listing and listing != self._listing:
                return f"the nftables table {self._names.table} was changed"
            self._generation, self._listing, self._legacy = current, listing, legacy
            await self._open_forwarding()
            return ""

    async def _repair(self, damage: str = "") -> None:
        try:
            await in_thread(self._load_leases)
            async with _machine_lock():
                await in_thread(self._set_up)
        except OSError as error:
            raise RuntimeFailure(f"the bridge cannot be repaired: {error}") from error
        await self._open_firewall()
        if damage:
            self.on_repair(damage)

    def _set_up(self) -> None:
        self._subnet = self._chosen_subnet()
        subnets.reserve(self._cluster_id, self._subnet, self._state)
        if self._second_pool is not None:
            self._second = self._chosen_second(self._second_pool, self._subnet)
            subnets.reserve(self._cluster_id, self._second, self._state)
        self._mtu = uplink_mtu() - self._overhead
        self._bridge.set_up(self.blocks, self._mtu, self._leases.all())

    def _load_leases(self) -> None:
        self._state.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._leases.load()
        for lease in self._leases.all():
            if not self._bridge.has_port(lease.address):
                self._leases.give_back(lease.sandbox_id)

    def _chosen_subnet(self) -> IPv4Network:
        """Return the subnet wanted, else the one of the last run, else the one assigned, else a free one.

        It is remembered, so that pods keep it when the node's process starts again."""
        if self._wanted is not None:
            return self._wanted
        file, assigned = self._state / "subnet", self._assignment.blocks
        if assigned is None or self._leases.all():
            with suppress(
                FileNotFoundError, ValueError
            ):  # cut off while it was written: no pod has an address yet
                return IPv4Network(file.read_text().strip())
        if assigned is not None:
            chosen = assigned.ipv4
        else:
            routes = [route.network for route in machine_routes() if isinstance(route.network, IPv4Network)]
            reserved = subnets.reserved_by_others(self._cluster_id)
            taken = [*routes, *(each for each in reserved if isinstance(each, IPv4Network))]
            chosen = choose_subnet(self._pool, NODE_PREFIX, taken)
        _write_whole(file, f"{chosen}\n")
        return chosen

    def _chosen_second(self, pool: IPv6Network, first: IPv4Network) -> IPv6Network:
        """Return the IPv6 subnet of the last run, else the one assigned, else a free one; remember it.

        Raises ``RuntimeFailure`` where the kernel has no IPv6, or none is free.
        """
        if not ipv6.is_supported():
            raise RuntimeFailure(f"the kernel has no IPv6, which the pod network {pool} needs")
        file, assigned = self._state / "subnet6", self._assignment.blocks
        chosen = assigned.ipv6 if assigned is not None else None
        if chosen is None or self._leases.all():
            with suppress(FileNotFoundError, ValueError):
                found = IPv6Network(file.read_text().strip())
                if found.subnet_of(pool):
                    return found
        if chosen is None:
            routes = (route.network for route in machine_routes())
            taken = [*routes, *subnets.reserved_by_others(self._cluster_id)]
            others = [each for each in taken if isinstance(each, IPv6Network)]
            chosen = choose_second(pool, self._pool, first, others)
        _write_whole(file, f"{chosen}\n")
        return chosen

    def _tear_down(self) -> None:
        for lease in self._leases.all():
            self._bridge.disconnect(lease.address)
            self._leases.give_back(lease.sandbox_id)
        self._bridge.delete()
        for file in ("subnet", "subnet6", "assigned"):
            (self._state / file).unlink(missing_ok=True)
        subnets.release(self._cluster_id)

    async def _open_firewall(self) -> None:
        await self._write_rules(guard.ruleset(self._names.table, self._cluster_id, self.blocks))
        await self._open_forwarding()

    async def _open_forwarding(self) -> None:
        for version in (4, 6) if self._second is not None else (4,):
            await firewall.open_forwarding(self._names.bridge, version)

    async def _write_rules(self, also: str = "") -> None:
        async with self._writing:
            self._listing = ""
            names, leases = self._names, self._leases.all()
            rules = firewall.ruleset(names.table, names.bridge, self._pool, self.subnet, leases)
            if self._second is not None and self._second_pool is not None:
                pool, second = self._second_pool, self._second
                rules += firewall.ruleset(names.table, names.bridge, pool, second, leases)
            elif also and ipv6.is_supported():  # an earlier run may have had both families
                rules += firewall.removal(names.table, "ip6")
            await firewall.apply(also + rules)

    # ---- pods

    async def attach(self, sandbox_id: str, namespace: Path, spec: SandboxSpec) -> tuple[str, ...]:
        if self._problem:
            raise RuntimeFailure(self._problem)
        if self._rules is not None:  # no pod sends anything before the rules are there
            await asyncio.shield(self._rules)
        await self._assignment.wait()
        if self._rules is not None:  # another block than the one at the start was assigned
            await asyncio.shield(self._rules)
        self._assignment.check(self.blocks)
        wanted = Lease(sandbox_id=sandbox_id, address="", ports=spec.port_mappings)
        firewall.check_ports(wanted, self._leases.all(), has_ipv6=self._second is not None)
        lease = self._leases.take(self.blocks, sandbox_id, spec.port_mappings, _leased_pod(spec))
        await self.gate.admit(lease)
        try:
            await in_thread(
                lambda: self._bridge.connect(lease, self.blocks, self._mtu, namespace),
                undo=wait_for_end,
            )
        except OSError as error:
            raise RuntimeFailure(f"the pod's network cannot be made: {error}") from error
        if lease.ports:
            await self._write_rules()
        if not lease.second:
            return (lease.address,)
        return (lease.second, lease.address) if self._ipv6_first else (lease.address, lease.second)

    async def detach(self, sandbox_id: str, namespace: Path) -> None:
        lease = self._leases.get(sandbox_id)
        if lease is None:
            return
        try:
            await in_thread(lambda: self._bridge.disconnect(lease.address))
        except OSError as error:
            raise RuntimeFailure(f"the pod's network cannot be removed: {error}") from error
        await self.gate.release(lease)
        await self._forget_connections(lease)
        self._leases.give_back(sandbox_id)
        if lease.ports:
            await self._write_rules()

    async def _forget_connections(self, lease: Lease) -> None:
        """Let the next pod with the addresses inherit no connection that rules or translations know."""

        def forget() -> None:
            with Conntrack() as kernel:
                for address in map(ip_address, lease.addresses):
                    kernel.forget("ip" if address.version == 4 else "ip6", address.packed)

        try:
            await in_thread(forget)
        except OSError as error:
            raise RuntimeFailure(f"connections of {lease.address} cannot be forgotten: {error}") from error


def _leased_pod(spec: SandboxSpec) -> LeasedPod:
    labels = tuple(sorted(spec.labels.items()))
    return LeasedPod(namespace=spec.pod_namespace, name=spec.pod_name, uid=spec.pod_uid, labels=labels)


def _write_whole(file: Path, text: str) -> None:
    """Write a file, or leave none: half a file on a full disk would be another subnet."""
    try:
        file.write_text(text)
    except OSError:
        file.unlink(missing_ok=True)
        raise


def uplink_mtu() -> int:
    """Return the packet size of the interface that leads out, so that pods' packets fit through it."""
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == "00000000" and fields[7] == "00000000":
            return mtu_of(fields[0])
    return _MTU_DEFAULT


@asynccontextmanager
async def _machine_lock() -> AsyncIterator[None]:
    """Held while a subnet is chosen and its bridge made: clusters that start together see each other.

    Raises ``RuntimeFailure`` when another process holds it for too long.
    """
    descriptor = os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(descriptor, 0o600)  # who can open the file can hold its lock
        given_up = clock.monotonic() + _LOCK_SECONDS
        while not _is_locked_now(descriptor):
            if clock.monotonic() > given_up:
                pid = locks.holder_of(descriptor)
                holder = f"process {pid} ({locks.name_of(pid)})" if pid else "another process"
                raise RuntimeFailure(f"{_LOCK} is held by {holder}, so no pod subnet can be chosen")
            await clock.sleep(_LOCK_RETRY_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _is_locked_now(descriptor: int) -> bool:
    """Take the lock if it is free; return whether it was."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

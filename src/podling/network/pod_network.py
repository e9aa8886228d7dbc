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
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from pathlib import Path

from podling.machinery.node_masks import NODE_PREFIX
from podling.machinery.pods import has_static_source
from podling.network import firewall
from podling.network.assignment import Assignment, agree
from podling.network.blocks import Blocks
from podling.network.bridge import Bridge
from podling.network.ended_leases import EndedLeases, forget_connections
from podling.network.gate import OpenGate, PodGate
from podling.network.leases import Lease, LeasedPod, Leases
from podling.network.machine_lock import machine_lock
from podling.network.names import Names
from podling.network.netlink.interfaces import mtu_of
from podling.network.pod_tables import PodTables, read_signs
from podling.network.subnet_choice import SubnetChoice
from podling.runtime.base import RuntimeFailure, SandboxSpec
from podling.runtime.failures import remove_all
from podling.runtime.oci.threads import in_thread, wait_for_end

DEFAULT_POOL = IPv4Network("10.88.0.0/16")
_MTU_DEFAULT = 1500


class BridgeNetwork:
    """``PodNetwork`` by a bridge.

    Args:
        state: leases and the chosen subnet; outlives the process, not ``remove`` or the machine's restart.
        record: file of the assigned blocks, for a start without the API server; default: in ``state``.
        cluster_id: names everything on the machine; two nodes on one machine have different ones.
        pool: the cluster's pod addresses, from which this node takes its subnet.
        subnet: the node's subnet, if it is not to be chosen.
        second_pool: the cluster's IPv6 pod addresses; None gives pods IPv4 addresses alone.
        prefixes: the prefix length of a node's subnet, by family.
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
        prefixes: Mapping[int, int] = NODE_PREFIX,
        ipv6_first: bool = False,
        overhead: int = 0,
        record: Path | None = None,
        assigned: bool = False,
    ) -> None:
        self._state = state
        self._ipv6_first = ipv6_first
        self._has_ipv6 = second_pool is not None
        self._leases = Leases(state / "leases")
        self._ended = EndedLeases(self._leases)
        self._assignment = Assignment(record or state / "assigned", needed=assigned)
        self._names = Names.of(cluster_id)
        self._bridge = Bridge(self._names.bridge, cluster_id)
        self._choice = SubnetChoice(
            state, cluster_id, pool=pool, wanted=subnet, second_pool=second_pool, prefixes=prefixes
        )
        self._blocks: Blocks | None = None
        self._overhead = overhead
        self._mtu = _MTU_DEFAULT
        self._problem = "the pod network has not been started"
        self._tables = PodTables(self._names, cluster_id, pool, second_pool)
        self._rules_task: asyncio.Task[None] | None = None
        self._damage = ""
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
        return self.blocks.ipv4

    @property
    def blocks(self) -> Blocks:
        """The node's pod subnets of both families. Raises ``RuntimeFailure`` before ``start``."""
        if self._blocks is None:
            raise RuntimeFailure(self._problem)
        return self._blocks

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
            async with machine_lock():
                await in_thread(self._set_up)
        except (OSError, RuntimeFailure) as error:
            self._problem = f"the pod network cannot be made: {error}"
            return
        self._problem = ""
        self._rules_task = asyncio.ensure_future(self._write_all_rules())

    async def close(self) -> None:
        """Let go; bridge, addresses and rules stay for the pods that run on."""
        await self._ended.close()
        rules, self._rules_task = self._rules_task, None
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
        self._blocks = None
        self._problem = "the pod network has been removed"

    async def use_blocks(self, assigned: Blocks) -> None:
        """Use the blocks that the cluster assigned to the node.

        Raises ``RuntimeFailure`` while pods have addresses of others, or when the bridge cannot be made.
        """
        if self._problem:
            raise RuntimeFailure(self._problem)
        if self._rules_task is not None:
            await asyncio.wait([self._rules_task])
        own = self.blocks
        if not agree(assigned, own) and not self._leases.all():
            self._blocks = Blocks(assigned.ipv4, own.ipv6 and (assigned.ipv6 or own.ipv6))
            self._rules_task = asyncio.ensure_future(self._move())
        self._assignment.announce(assigned)
        self._assignment.check(self.blocks)
        try:
            await in_thread(self._assignment.save)
        except OSError as error:
            raise RuntimeFailure(f"the node's blocks {assigned} cannot be recorded: {error}") from error
        if self._rules_task is not None:
            await asyncio.shield(self._rules_task)

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
        if self._rules_task is None or not self._rules_task.done():
            return self._damage
        if error := self._rules_task.exception():
            self._damage = f"address translation cannot be set up: {error}"
        else:
            self._damage = await self._find_damage()
        if self._damage:
            self._rules_task = asyncio.ensure_future(self._repair(self._damage))
        return self._damage

    async def _find_damage(self) -> str:
        """Return what another program deleted or changed; empty when everything is in place."""
        try:
            addresses = [lease.address for lease in self._leases.all()]
            missing, signs = await in_thread(
                lambda: (self._bridge.missing(self.blocks, addresses), read_signs())
            )
            return missing or await self._tables.find_damage(self.blocks, signs)
        except (OSError, RuntimeFailure) as error:
            return f"the pod network cannot be checked: {error}"

    async def _repair(self, damage: str = "") -> None:
        try:
            await in_thread(self._load_leases)
            async with machine_lock():
                await in_thread(self._set_up)
        except OSError as error:
            raise RuntimeFailure(f"the bridge cannot be repaired: {error}") from error
        await self._write_all_rules()
        if damage:
            self.on_repair(damage)

    async def _write_all_rules(self) -> None:
        await self._tables.write_all(self.blocks, self._leases.all())

    def _set_up(self) -> None:
        self._blocks = self._choice.choose(self._assignment.blocks, has_pods=bool(self._leases.all()))
        self._mtu = uplink_mtu() - self._overhead
        self._bridge.set_up(self._blocks, self._mtu, self._leases.all())

    def _load_leases(self) -> None:
        self._state.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._leases.load()
        lost = [lease for lease in self._leases.all() if not self._bridge.has_port(lease.address)]
        if lost:
            forget_connections(lost)
        for lease in lost:
            self._leases.give_back(lease.sandbox_id)

    def _tear_down(self) -> None:
        for lease in self._leases.all():
            self._bridge.disconnect(lease.address)
            self._leases.give_back(lease.sandbox_id)
        self._bridge.delete()
        self._assignment.forget()
        self._choice.forget()

    # ---- pods

    async def attach(self, sandbox_id: str, namespace: Path, spec: SandboxSpec) -> tuple[str, ...]:
        if self._problem:
            raise RuntimeFailure(self._problem)
        if self._rules_task is not None:  # no pod sends anything before the rules are there
            await asyncio.shield(self._rules_task)
        await self._assignment.wait()
        if self._rules_task is not None:  # another block than the one at the start was assigned
            await asyncio.shield(self._rules_task)
        self._assignment.check(self.blocks)
        wanted = Lease(sandbox_id=sandbox_id, address="", ports=spec.port_mappings)
        firewall.check_ports(wanted, self._leases.all(), has_ipv6=self._has_ipv6)
        lease = await self._lease(sandbox_id, spec)
        await self.gate.admit(lease)
        try:
            await in_thread(
                lambda: self._bridge.connect(lease, self.blocks, self._mtu, namespace),
                undo=wait_for_end,
            )
        except OSError as error:
            raise RuntimeFailure(f"the pod's network cannot be made: {error}") from error
        if lease.ports:
            await self._tables.write(self.blocks, self._leases.all())
        if not lease.second:
            return (lease.address,)
        return (lease.second, lease.address) if self._ipv6_first else (lease.address, lease.second)

    async def _lease(self, sandbox_id: str, spec: SandboxSpec) -> Lease:
        try:
            return self._leases.take(self.blocks, sandbox_id, spec.port_mappings, _leased_pod(spec))
        except RuntimeFailure:
            if not await self._ended.settle():
                raise
        return self._leases.take(self.blocks, sandbox_id, spec.port_mappings, _leased_pod(spec))

    async def detach(self, sandbox_id: str, namespace: Path) -> None:
        lease = self._leases.get(sandbox_id)
        if lease is None:
            await self._ended.settle()
            return
        try:
            await in_thread(lambda: self._bridge.disconnect(lease.address))
        except OSError as error:
            raise RuntimeFailure(f"the pod's network cannot be removed: {error}") from error
        await self.gate.release(lease)
        self._ended.add(lease)
        if lease.ports:
            await self._tables.write(self.blocks, self._leases.all())


def _leased_pod(spec: SandboxSpec) -> LeasedPod:
    labels = tuple(sorted(spec.labels.items()))
    return LeasedPod(
        namespace=spec.pod_namespace,
        name=spec.pod_name,
        uid=spec.pod_uid,
        labels=labels,
        is_static=has_static_source(spec.annotations),
    )


def uplink_mtu() -> int:
    """Return the packet size of the interface that leads out, so that pods' packets fit through it."""
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == "00000000" and fields[7] == "00000000":
            return mtu_of(fields[0])
    return _MTU_DEFAULT

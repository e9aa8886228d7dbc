"""The pods' network of one node: a bridge, a subnet of addresses, and a cable for each pod.

Every pod has one address of its own (a /32) and one route, over the node. So everything a pod sends,
even to its neighbour, passes the node's routing, where address translation for host ports and services
can see both directions; pods on one node need no special case. Links are made by netlink in one thread
that enters the pod's namespace and ends there: no helper process.

Names of interfaces, the nftables table and files all derive from the cluster, so clusters live beside
each other. Addresses are leased in files; a lease whose interface is gone (a reboot) is void.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from podling.network import firewall, netlink
from podling.network.leases import Lease, Leases, choose_subnet, parse_routes
from podling.runtime.base import RuntimeFailure, SandboxSpec
from podling.runtime.failures import remove_all
from podling.runtime.oci import linux
from podling.runtime.oci.threads import in_thread, wait_for_end

DEFAULT_POOL = IPv4Network("10.88.0.0/16")
NODE_PREFIX = 24
POD_INTERFACE = "eth0"

_MTU_DEFAULT = 1500
_LOCK = Path("/run/podling-subnets.lock")
_CONF = Path("/proc/sys/net/ipv4/conf")


@dataclass(frozen=True, slots=True)
class Names:
    """What this node's things on the machine are called; interface names have at most 15 characters."""

    bridge: str
    table: str

    @staticmethod
    def of(cluster_id: str) -> Names:
        return Names(bridge=f"pl-{_digest(cluster_id, 10)}", table=f"podling_{_digest(cluster_id, 10)}")


def veth_name(cluster_id: str, sandbox_id: str) -> str:
    """The node's end of a pod's cable."""
    return f"pv{_digest(f'{cluster_id}/{sandbox_id}', 12)}"


def hardware_address(address: IPv4Address) -> bytes:
    """A hardware address that follows from the pod's: whoever gets the address next is found at once."""
    return b"\x0a\x58" + address.packed


def _digest(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


class BridgeNetwork:
    """``PodNetwork`` by a bridge.

    Args:
        state: leases and the chosen subnet; outlives the process, not ``remove``.
        cluster_id: names everything on the machine; two nodes on one machine have different ones.
        pool: the cluster's pod addresses, from which this node takes its subnet.
        subnet: the node's subnet, if it is not to be chosen (``spec.podCIDR``).
    """

    def __init__(
        self,
        state: Path,
        cluster_id: str = "default",
        *,
        pool: IPv4Network = DEFAULT_POOL,
        subnet: IPv4Network | None = None,
    ) -> None:
        self._state = state
        self._cluster_id = cluster_id
        self._pool = pool
        self._wanted = subnet
        self._leases = Leases(state / "leases")
        self._names = Names.of(cluster_id)
        self._subnet: IPv4Network | None = None
        self._bridge = 0
        self._mtu = _MTU_DEFAULT
        self._problem = "the pod network has not been started"
        self._rules: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    @property
    def subnet(self) -> IPv4Network:
        """The node's pod subnet (``spec.podCIDR``). Raises ``RuntimeFailure`` before ``start``."""
        if self._subnet is None:
            raise RuntimeFailure(self._problem)
        return self._subnet

    @property
    def gateway(self) -> IPv4Address:
        """The node's own address in the subnet: where pods reach it."""
        return self.subnet.network_address + 1

    # ---- life

    async def start(self) -> None:
        """Make the bridge, or find it again. The address translation follows in the background.

        A machine where this fails keeps its reason for ``status`` and for whoever attaches.
        """
        try:
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
            firewall.close_forwarding(self._names.bridge),
            in_thread(self._tear_down),
        )
        self._subnet = None
        self._problem = "the pod network has been removed"

    async def status(self) -> str:
        if self._problem:
            return self._problem
        if not netlink.index_of(self._names.bridge):
            return f"the bridge {self._names.bridge} is gone"
        if self._rules is not None and self._rules.done() and self._rules.exception() is not None:
            return f"address translation cannot be set up: {self._rules.exception()}"
        return ""

    def _set_up(self) -> None:
        self._leases.load()
        with _machine_lock():
            self._subnet = self._chosen_subnet()
            self._mtu = uplink_mtu()
            self._bridge = netlink.index_of(self._names.bridge)
            with netlink.Netlink() as kernel:
                if not self._bridge:
                    address = hardware_address(self.gateway)
                    kernel.request([netlink.add_bridge(self._names.bridge, address, self._mtu)])
                    self._bridge = netlink.index_of(self._names.bridge)
                kernel.request(
                    [netlink.add_address(self._bridge, self.gateway.packed, self.subnet.prefixlen)]
                )
        _write(Path("/proc/sys/net/ipv4/ip_forward"), "1")
        _write(_CONF / self._names.bridge / "route_localnet", "1")
        _write(_CONF / self._names.bridge / "send_redirects", "0")
        for lease in self._leases.all():
            if not netlink.index_of(veth_name(self._cluster_id, lease.sandbox_id)):
                self._leases.give_back(lease.sandbox_id)

    def _chosen_subnet(self) -> IPv4Network:
        """The subnet wanted, else the one of the last run, else a free one, which is remembered."""
        file = self._state / "subnet"
        if self._wanted is not None:
            return self._wanted
        if file.exists():
            return IPv4Network(file.read_text().strip())
        taken = parse_routes(Path("/proc/net/route").read_text())
        chosen = choose_subnet(self._pool, NODE_PREFIX, taken)
        self._state.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{chosen}\n")
        return chosen

    def _tear_down(self) -> None:
        for lease in self._leases.all():
            self._delete_link(veth_name(self._cluster_id, lease.sandbox_id))
            self._leases.give_back(lease.sandbox_id)
        self._delete_link(self._names.bridge)
        (self._state / "subnet").unlink(missing_ok=True)

    async def _open_firewall(self) -> None:
        await self._write_rules()
        await firewall.open_forwarding(self._names.bridge)

    async def _write_rules(self) -> None:
        async with self._writing:
            await firewall.apply(
                firewall.ruleset(
                    self._names.table, self._names.bridge, self._pool, self.subnet, self._leases.all()
                )
            )

    # ---- pods

    async def attach(self, sandbox_id: str, namespace: Path, spec: SandboxSpec) -> tuple[str, ...]:
        if self._problem:
            raise RuntimeFailure(self._problem)
        wanted = Lease(sandbox_id=sandbox_id, address="", ports=spec.port_mappings)
        firewall.check_ports(wanted, self._leases.all())
        lease = self._leases.take(self.subnet, sandbox_id, spec.port_mappings)
        try:
            await in_thread(lambda: self._connect(lease, namespace), undo=wait_for_end)
        except OSError as error:
            raise RuntimeFailure(f"the pod's network cannot be made: {error}") from error
        if lease.ports:
            await self._write_rules()
        return (lease.address,)

    def _connect(self, lease: Lease, namespace: Path) -> None:
        """In a thread of its own, which ends inside the pod's namespace."""
        address = IPv4Address(lease.address)
        descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            name = veth_name(self._cluster_id, lease.sandbox_id)
            if not netlink.index_of(name):
                veth = netlink.Veth(
                    name=name,
                    bridge=self._bridge,
                    mtu=self._mtu,
                    peer_name=POD_INTERFACE,
                    peer_namespace=descriptor,
                    peer_address=hardware_address(address),
                )
                with netlink.Netlink() as kernel:
                    kernel.request([netlink.add_veth(veth)])
                    # A pod that comes back to itself by a host port or a service leaves by its own port
                    # again, where the kernel also filters what is only bridged (br_netfilter).
                    kernel.request([netlink.set_hairpin(netlink.index_of(name))])
            linux.setns(descriptor, linux.CLONE_NEWNET)
        finally:
            os.close(descriptor)
        # Redirects would teach pods a way past the node, and past its address translation.
        for scope in ("all", "default", POD_INTERFACE):
            _write(Path(f"/proc/sys/net/ipv4/conf/{scope}/accept_redirects"), "0")
        interface = netlink.index_of(POD_INTERFACE)
        with netlink.Netlink() as kernel:
            kernel.request(
                [
                    netlink.set_up(netlink.index_of("lo")),
                    netlink.set_up(interface),
                    netlink.add_address(interface, address.packed, 32),
                    netlink.add_route(interface, self.gateway.packed, on_link=True),
                ]
            )

    async def detach(self, sandbox_id: str, namespace: Path) -> None:
        lease = self._leases.get(sandbox_id)
        if lease is None:
            return
        try:
            await in_thread(lambda: self._delete_link(veth_name(self._cluster_id, sandbox_id)))
        except OSError as error:
            raise RuntimeFailure(f"the pod's network cannot be removed: {error}") from error
        self._leases.give_back(sandbox_id)
        if lease.ports:
            await self._write_rules()

    @staticmethod
    def _delete_link(name: str) -> None:
        if netlink.index_of(name):
            with netlink.Netlink() as kernel:
                kernel.request([netlink.delete_link(name)])


def uplink_mtu() -> int:
    """The packet size of the interface that leads out, so that pods' packets fit through it."""
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == "00000000" and fields[7] == "00000000":
            return int(Path(f"/sys/class/net/{fields[0]}/mtu").read_text())
    return _MTU_DEFAULT


@contextmanager
def _machine_lock() -> Iterator[None]:
    """Held while a subnet is chosen and its bridge made: clusters that start together see each other."""
    with _LOCK.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(path: Path, text: str) -> None:
    if path.read_text().strip() != text:
        path.write_text(text)

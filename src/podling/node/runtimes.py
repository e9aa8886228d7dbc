"""The runtimes of nodes: creation by name, and ending all that a node runs."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec import Struct, field

from podling.files.trees import remove_tree
from podling.kubelet.directories import Directories
from podling.machinery.network_ranges import DEFAULT_RANGES, VXLAN, Network
from podling.network.overlay.overlay_plan import overhead
from podling.node.node_options import NodeOptions
from podling.runtime.base import PodNetwork, Runtime, RuntimeFailure
from podling.runtime.grace import own_grace
from podling.runtime.images.store import ImageStore

if TYPE_CHECKING:
    from podling.network.cni.cni_network import CniNetwork
    from podling.network.pod_network import BridgeNetwork
    from podling.runtime.oci.runtime import OciRuntime

logger = logging.getLogger(__name__)

ORDERLY_SECONDS = 30.0
"""The time that a runtime has to end all its containers, in addition to their grace period."""

STATE = Path("/run/podling")
"""The directory of state that a reboot may delete: namespaces, mounts, sockets."""


class NodePlan(Struct, frozen=True, kw_only=True):
    """The configuration of one node.

    ``index`` counts the nodes of the process from 0; ``cluster_id`` distinguishes clusters on one machine.
    """

    name: str
    index: int
    runtime: str
    root: Path
    cluster_id: str
    address: str
    second_address: str = ""
    """The node's address of the other family; empty without one."""
    pod_ranges: tuple[Network, ...] = DEFAULT_RANGES.pods
    """The cluster's ranges of pod addresses, the default family first."""
    pod_prefixes: Mapping[int, int] = field(default_factory=lambda: DEFAULT_RANGES.node_prefixes)
    """The prefix length of a node's block of each range, by family."""
    port: int = 0
    """The port of the kubelet's server, if it is free; 0 for any."""
    static_pod_path: Path | None = None
    options: NodeOptions = NodeOptions()
    """The settings of the kubelet that the user has chosen."""
    assigns_blocks: bool = True
    """A controller gives the node its block of pod addresses (``spec.podCIDR``)."""
    cni_conf_dir: Path | None = None
    """The directory with the machine's CNI configuration, whose plugins then make the network of the pods."""
    network: str = VXLAN
    """The way of packets to pods of other machines: one of ``network_ranges.MODES``."""
    guards_api: bool = False
    """The API server on this machine is meant for the machine and its pods only."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return the node's addresses, the primary one first."""
        return (self.address, self.second_address) if self.second_address else (self.address,)

    @property
    def ipv6_first(self) -> bool:
        """Return whether the first address of a pod is of IPv6: as the node's, if it has both families."""
        if self.second_address:
            return ":" in self.address
        return self.pod_ranges[0].version == 6

    @property
    def identity(self) -> str:
        """Return a name for this node that is unique on a machine with several clusters."""
        return f"{self.cluster_id}-{self.index}"

    @property
    def state(self) -> Path:
        return STATE / self.identity

    @property
    def service_addresses(self) -> Path:
        """The record of the Services' addresses on the machine's loopback interface."""
        return self.root / "service-addresses"

    @property
    def dns_state(self) -> Path:
        """Return the directory of the DNS process, which outlives the runtime's."""
        return STATE / f"{self.identity}.dns"


def pod_network(plan: NodePlan) -> BridgeNetwork | CniNetwork | None:
    """Return the network of the pods of ``plan``, not yet started; None where pods have none of their own."""
    if plan.runtime != "oci":
        return None
    return bridge_network(plan) if plan.cni_conf_dir is None else cni_network(plan, plan.cni_conf_dir)


def cni_network(plan: NodePlan, directory: Path) -> CniNetwork:
    """Return the network of ``plan`` that CNI plugins make, not yet started."""
    from podling.network.cni.cni_network import CniNetwork

    return CniNetwork(plan.state / "network", directory)


def as_bridge(network: PodNetwork | None) -> BridgeNetwork | None:
    """Return the network if Podling makes it itself."""
    if network is None:
        return None
    from podling.network.pod_network import BridgeNetwork

    return network if isinstance(network, BridgeNetwork) else None


def bridge_network(plan: NodePlan) -> BridgeNetwork:
    """Return the network of ``plan`` that Podling makes itself, not yet started."""
    from podling.network.pod_network import DEFAULT_POOL, BridgeNetwork

    first = next((block for block in plan.pod_ranges if isinstance(block, IPv4Network)), DEFAULT_POOL)
    second = next((block for block in plan.pod_ranges if isinstance(block, IPv6Network)), None)
    return BridgeNetwork(
        plan.state / "network",
        plan.identity,
        pool=first,
        second_pool=second,
        prefixes=plan.pod_prefixes,
        ipv6_first=plan.ipv6_first,
        overhead=overhead(plan.network, plan.address),
        record=plan.root / "pod-blocks",
        assigned=plan.assigns_blocks,
    )


def make_runtime(plan: NodePlan, images: ImageStore, network: PodNetwork | None = None) -> Runtime:
    """Return the runtime that ``plan`` names, not yet started; ``network`` as ``pod_network`` returns it."""
    if network := network or pod_network(plan):
        return _oci(plan, images, network)
    if plan.runtime == "process":
        from podling.runtime.process.runtime import ProcessRuntime

        return ProcessRuntime(plan.root / "process", host_ip=plan.address)
    if plan.runtime == "sim":
        from podling.runtime.sim.runtime import SimRuntime

        return SimRuntime(pod_cidr=str(simulated_block(plan)))
    raise ValueError(f"no runtime is called {plan.runtime!r}")


def simulated_block(plan: NodePlan) -> Network:
    """Return the block of pod addresses that a simulated node would like: by its number in its process."""
    pool = plan.pod_ranges[0]
    prefix = plan.pod_prefixes[pool.version]
    address = int(pool.network_address) + (plan.index << (pool.max_prefixlen - prefix))
    return type(pool)((address, prefix))


async def end_all(plan: NodePlan, images: ImageStore, grace_seconds: float) -> int:
    """End every container of a node that no process runs, and remove all that it left outside of its
    directory. Return the number of its pods. Raises ``RuntimeFailure`` if something could not be ended.

    A container gets the grace period of its pod, at most ``grace_seconds``.

    A runtime that hangs, fails or is missing does not keep its containers running: after its time they are
    ended without it.
    """
    try:
        async with asyncio.timeout(grace_seconds + ORDERLY_SECONDS):
            pods = await _end_in_order(plan, images, grace_seconds)
    except (RuntimeFailure, OSError) as error:  # a TimeoutError is an OSError
        if plan.runtime != "oci":
            raise
        logger.warning("the runtime does not end its containers, so they are ended without it: %s", error)
        pods = await asyncio.to_thread(_end_by_force, plan, images, grace_seconds)
    if sys.platform == "linux":
        from podling.kubelet.volumes.volume_manager import release_devices
        from podling.runtime.oci.rootfs import unmount_everything_under

        # Volumes in memory, which root can create for processes, too. Not the whole directory of the node:
        # its logs may be on a file system of their own.
        for folder in (Directories(plan.root / "kubelet").pods, plan.root / plan.runtime):
            unmount_everything_under(folder)
        for pod in Directories(plan.root / "kubelet").pods.glob("*"):
            await asyncio.to_thread(release_devices, pod)
    if plan.runtime == "process":
        from podling.network.loopback.added_addresses import AddedAddresses

        AddedAddresses(plan.service_addresses).remove()
    if plan.runtime == "oci":
        from podling.network.dns.link import end_server
        from podling.network.names import Names
        from podling.network.overlay import overlay

        await asyncio.to_thread(end_server, plan.dns_state)
        # An earlier run may have had a network of the other kind. CNI plugins are called as at the start of
        # each pod, also if the directory says something else now.
        for network in (bridge_network(plan), cni_network(plan, plan.cni_conf_dir or Path())):
            await network.remove()
        await overlay.remove(plan.cluster_id, Names.of(plan.identity).table)
        for state in (plan.state, plan.dns_state):
            with suppress(OSError):
                remove_tree(state)
    return pods


async def _end_in_order(plan: NodePlan, images: ImageStore, grace_seconds: float) -> int:
    runtime = make_runtime(plan, images)
    await runtime.start()
    try:
        running = [each for each in await runtime.list_containers() if each.finished_at is None]
        await asyncio.gather(
            *(
                runtime.stop_container(each.id, grace_seconds=own_grace(each.annotations, grace_seconds))
                for each in running
            )
        )
        sandboxes = await runtime.list_sandboxes()
        for sandbox in sandboxes:
            await runtime.stop_sandbox(sandbox.id)
            await runtime.remove_sandbox(sandbox.id)
        if plan.runtime == "oci":
            await cast("OciRuntime", runtime).remove()
    finally:
        await runtime.close()
    return len({sandbox.pod_uid for sandbox in sandboxes if sandbox.ready})


def _end_by_force(plan: NodePlan, images: ImageStore, grace_seconds: float) -> int:
    from podling.runtime.oci import detect
    from podling.runtime.oci.cgroups import Cgroups
    from podling.runtime.oci.force import end_by_force

    root, parent = plan.root / "oci", f"/podling-{plan.identity}"
    try:
        folder = root / "containers"
        containers = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        pods = end_by_force(Cgroups(detect.cgroup_mode()), parent, root, plan.state, grace_seconds)
        for container in containers:
            images.forget_holder(container)
    except OSError as error:
        raise RuntimeFailure(f"not all of node {plan.name} could be ended: {error}") from error
    return pods


def _oci(plan: NodePlan, images: ImageStore, network: PodNetwork) -> OciRuntime:
    from podling.runtime.oci.runtime import OciRuntime

    return OciRuntime(plan.root / "oci", plan.state, images, network, cluster_id=plan.identity)

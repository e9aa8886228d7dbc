"""A simulated node: a machine that runs nothing, and the real kubelet on it.

The runtime stands for the machine, and outlives the kubelets that are stopped and started. Nothing is read
from or written to the real machine, so a node is the same wherever it is simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from msgspec import Struct, field, structs

from podling.api.core_v1 import Taint
from podling.client.events import EventRecorder
from podling.client.local import LocalClient
from podling.client.requests import User
from podling.controllers.nodes.pod_blocks import PREFERRED_ANNOTATION
from podling.kubelet.config import KubeletConfig
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.kubelet import Kubelet
from podling.kubelet.node.machine import Machine
from podling.kubelet.node_controllers import NodeControllerFactory
from podling.kubelet.pods.pod_source import PodSource
from podling.kubelet.server.machine_use import MachineMeter
from podling.kubelet.server.server_metrics import resource_metrics_text
from podling.kubelet.server.snapshot import take_snapshot
from podling.machinery.errors import failure, service_unavailable
from podling.machinery.network_ranges import Network
from podling.node.static_pods import complete_static_pod
from podling.runtime.failures import RuntimeFailure
from podling.runtime.sim import FaultyRuntime
from podling.sim.connection import Connection
from podling.sim.idle.lease_renewals import LeaseRenewals
from podling.supervisor import Supervisor

ROOT = Path("/nonexistent/podling-simulation")
"""The directory of simulated kubelets, which write no files; it does not exist."""
NO_CONTROLLERS: Mapping[str, NodeControllerFactory] = {}
ZONE = "topology.kubernetes.io/zone"


class NodeSettings(Struct, frozen=True, kw_only=True):
    """The machine of a simulated node and its kubelet's settings.

    Args:
        cpu, memory, ephemeral_storage: the capacity, as quantities.
        pods: the largest number of pods.
        zone: the value of the label ``topology.kubernetes.io/zone``; empty: no such label.
        labels, taints: those with which the node registers.
        config: further settings of the kubelet; its capacity, addresses, labels and taints are set from
            the others.
    """

    name: str
    cpu: str = "4"
    memory: str = "16Gi"
    ephemeral_storage: str = "100Gi"
    pods: int = 110
    zone: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    config: KubeletConfig = KubeletConfig()


class SimulatedNode:
    """One node, started and stopped as a whole.

    Args:
        connection: the kubelet's connection to the API server.
        machine: the node's runtime.
        block: the addresses of the node's pods.
        address: the node's own.
        leases: renews the node's lease while nothing is in the way.
        node_controllers: the controllers of extensions that run beside the kubelet, by name.
    """

    def __init__(
        self,
        settings: NodeSettings,
        connection: Connection,
        machine: FaultyRuntime,
        block: Network,
        address: str,
        leases: LeaseRenewals,
        node_controllers: Mapping[str, NodeControllerFactory] = NO_CONTROLLERS,
    ) -> None:
        self.settings = settings
        self.name = settings.name
        self.connection = connection
        self.runtime = machine
        self._boots = 1
        self._block = block
        self._address = address
        self._leases = leases
        self._node_controllers = node_controllers
        self._client = LocalClient(connection, node_user(settings.name))
        self._running: Supervisor | None = None
        self._recorder: EventRecorder | None = None
        self._kubelet: Kubelet | None = None
        self._use = MachineMeter()
        self._has_power = True

    @property
    def is_running(self) -> bool:
        """Return whether the kubelet runs."""
        return self._running is not None

    @property
    def has_power(self) -> bool:
        """Return whether the machine runs."""
        return self._has_power

    def has_address(self, address: IPv4Address | IPv6Address) -> bool:
        """Return whether an address is the machine's or that of one of its pods."""
        return address in self._block or str(address) == self._address

    async def start(self) -> None:
        """Start the kubelet; without effect while it runs."""
        if self._running is not None:
            return
        with self.connection.machine.in_use():
            await self._start()

    async def _start(self) -> None:
        self._has_power = True
        await self.runtime.start()
        self._running = running = Supervisor()
        self._recorder = recorder = EventRecorder(self._client, "kubelet", self.name)
        config = self._config()
        deps = KubeletDeps(
            self._client,
            self.runtime,
            recorder,
            ROOT / self.name,
            self.name,
            config,
            complete_static_pod,
            machine=self._machine(),
            node_controllers=self._node_controllers,
            keep_lease=partial(self._leases.keep, self.connection) if config.skip_idle_rounds else None,
        )
        self._kubelet = Kubelet(deps)
        running.keep_running("events", recorder.run, self.name)
        running.keep_running("kubelet", partial(self._run_kubelet, deps), self.name)

    async def ready(self) -> None:
        """Wait until the node is Ready; return at once if its kubelet does not run."""
        if self._kubelet is not None:
            await self._kubelet.ready.wait()

    async def stop(self) -> None:
        """Stop the kubelet as a kill does; its containers run on."""
        running, self._running, self._kubelet = self._running, None, None
        if running is not None:
            await running.close()

    async def restart(self) -> None:
        """Stop the kubelet and start another one, which takes the containers over."""
        await self.stop()
        await self.start()

    async def crash(self) -> None:
        """Cut the machine's power: the kubelet and all containers end, and report nothing."""
        await self.stop()
        self.runtime.lose_power()
        self._has_power = False
        self._boots += 1

    @property
    def pod_view(self) -> PodSource | None:
        """The node's pods, for a server that shows them; None while no kubelet can be reached."""
        return None if self._kubelet is None or self.connection.is_cut else self._kubelet.pod_view

    async def resource_metrics(self) -> str:
        """Return the kubelet's page ``/metrics/resource``. Raises ``ApiError`` if it cannot be reached."""
        if self._kubelet is None or self.connection.is_cut:
            raise service_unavailable(f"dial tcp {self._address}:10250: i/o timeout")
        with self.connection.machine.in_use():
            try:
                snapshot = await take_snapshot(self._kubelet.pod_view)
                return resource_metrics_text(snapshot, await self._use.read(self.runtime, snapshot))
            except RuntimeFailure as error:
                raise failure(500, "InternalError", str(error)) from None

    async def _run_kubelet(self, deps: KubeletDeps) -> None:
        """Run the kubelet. After a failure replace it by a new one, like a restart of its process."""
        kubelet = self._kubelet or Kubelet(deps)
        try:
            await kubelet.run()
        except Exception:
            if self._kubelet is not None:
                self._kubelet = Kubelet(deps)
            raise

    def _config(self) -> KubeletConfig:
        settings = self.settings
        labels = dict(settings.labels)
        if settings.zone:
            labels[ZONE] = settings.zone
        return structs.replace(
            settings.config,
            node_addresses=(self._address,),
            node_labels=labels,
            node_annotations={
                **settings.config.node_annotations,
                PREFERRED_ANNOTATION: str(self._block),
            },
            register_with_taints=settings.taints,
            capacity={
                **settings.config.capacity,
                "cpu": settings.cpu,
                "memory": settings.memory,
                "ephemeral-storage": settings.ephemeral_storage,
            },
            max_pods=settings.pods,
            fail_swap_on=False,
            resolv_conf=None,
            write_files=False,
        )

    def _machine(self) -> Machine:
        """Return facts that are the same on every machine that simulates."""
        return Machine(
            os_image="Podling simulation",
            kernel_version="6.0.0",
            machine_id=f"machine-{self.name}",
            system_uuid=f"machine-{self.name}",
            boot_id=f"{self.name}-{self._boots}",
            address=self._address,
        )


def node_user(name: str) -> User:
    """Return the API user of a node's kubelet."""
    return User(f"system:node:{name}", ("system:nodes", "system:authenticated"))

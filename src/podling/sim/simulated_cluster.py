"""A whole cluster in memory: API server, scheduler, controllers and simulated nodes on one event loop.

    async with simulated_cluster(nodes=3) as cluster:
        await cluster.client.create(Deployment(...))
        await cluster.advance(minutes=5)

The parts are those of a real cluster, over the memory store and the simulated runtime. On the virtual-time
loop (``podling.sim.loop.run``) time passes only when everything waits, so five minutes take milliseconds.
Each part has a connection of its own to the API server, which faults can break (``connections``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import ip_address, ip_network

from msgspec import Struct, structs

from podling import clock
from podling.api.core_v1 import Node
from podling.apiserver.admission.registry import default_plugins
from podling.apiserver.registry.registry import Registry
from podling.apiserver.server import ApiServer
from podling.client.base import ApiObject, Unreachable
from podling.client.local import LocalClient
from podling.client.requests import SYSTEM, User
from podling.cluster.components import CONTROLLER_MANAGER, run_components
from podling.controllers.auth.certificate_signing import Signer
from podling.controllers.options import DEFAULT_OPTIONS, ControllerOptions
from podling.controllers.other_apis import OtherApis
from podling.controllers.registry import NAMES
from podling.controllers.volumes.volume_folders import NoFolders
from podling.extensions.additions import additions_from
from podling.extensions.extension import Extension
from podling.machinery.errors import service_unavailable
from podling.machinery.network_ranges import DEFAULT_RANGES, Network, NetworkRanges
from podling.machinery.resource import Resource
from podling.runtime.sim import FaultyRuntime, Scenario
from podling.sim.connection import Connection, Observe, RequestObserver
from podling.sim.faulty_store import FaultyStore
from podling.sim.idle.idle_time import IdleTime
from podling.sim.idle.lease_renewals import LeaseRenewals
from podling.sim.machine_clock import MachineClock
from podling.sim.servers.simulated_servers import LOST, SimulatedServers
from podling.sim.simulated_node import ROOT, NodeSettings, SimulatedNode
from podling.store.base import Store
from podling.store.memory import MemoryStore
from podling.supervisor import Supervisor

POD_RANGE = ip_network("100.64.0.0/10")
"""The addresses of pods; a block of 256 for each node."""
NODE_ADDRESSES = ip_address("172.16.0.1")
"""The address of the first node."""
NODES_MAX = 1 << (24 - POD_RANGE.prefixlen)
MakeMachine = Callable[[str, Network], FaultyRuntime]
AUTHORITY = "simulated: a cluster in memory has no certificate authority\n"
"""The content of ``kube-root-ca.crt`` where no connection is encrypted."""


class ClusterSettings(Struct, frozen=True, kw_only=True):
    """The settings of a simulated cluster.

    Args:
        ranges: the addresses and node ports of Services.
        ca_certificate: the authority's certificate (PEM), for pods to trust.
        signer: signs certificates; None: no certificates are signed.
        signing_key: signs the tokens of service accounts (PEM); None: one for this cluster.
        controllers: the names of the controllers that run.
        options: settings of the controllers.
        shows_itself: the server serves what people look for: APIServices and flow schemas.
        scenario: scripts of containers, pods and images by pattern, for every node.
        has_network: webhooks and aggregated APIs that are not in this process are called over HTTPS.
        make_machine: makes a node's runtime from the node's name and its block of pod addresses; None: one
            whose containers have no scripts but those in annotations.
        extensions: add kinds, objects, admission plugins, and controllers of the cluster and of its nodes.
    """

    ranges: NetworkRanges = DEFAULT_RANGES
    ca_certificate: str = AUTHORITY
    signer: Signer | None = None
    signing_key: bytes | None = None
    controllers: tuple[str, ...] = NAMES
    options: ControllerOptions = DEFAULT_OPTIONS
    shows_itself: bool = False
    scenario: Scenario | None = None
    has_network: bool = False
    make_machine: MakeMachine | None = None
    extensions: tuple[Extension, ...] = ()


DEFAULT_SETTINGS = ClusterSettings()


class SimulatedCluster:
    """A cluster in memory. ``simulated_cluster`` makes and ends one.

    Attributes:
        server: the API server; another one after ``stop_server`` and ``start_server``.
        client: an administrator's client, which no fault touches.
        nodes: the nodes by name, in the order in which they were added.
        connections: the parts' connections to the server, by the part's name: ``scheduler``,
            ``controller-manager``, ``node/<name>``.
        servers: the webhooks and aggregated APIs in this process.
    """

    def __init__(self, settings: ClusterSettings, store: MemoryStore | None = None) -> None:
        self.settings = settings
        self.store = store or MemoryStore()
        self.nodes: dict[str, SimulatedNode] = {}
        self.connections: dict[str, Connection] = {}
        self.observe_deliveries: Observe | None = None
        """Receives what the watches of new connections deliver."""
        self._observe_requests: RequestObserver | None = None
        self.servers = SimulatedServers(self._route, has_network=settings.has_network)
        self.server = self._new_server()
        self.machine = MachineClock()
        """The clock of the machine on which the API server, the scheduler and the controllers run."""
        self.administration = Connection(self._registry, "administrator", server_machine=self.machine)
        """The connection of clients that no fault touches."""
        self.client = LocalClient(self.administration)
        self._nodes_made = 0
        self._is_served = False
        self._was_served = False
        self._control_plane: Supervisor | None = None
        self._leases = LeaseRenewals(self._faultless_store)
        self._idle_time = IdleTime(self._faultless_store, self._leases)

    async def start(self) -> None:
        """Start the API server, the scheduler and the controllers."""
        leaping = clock.leaping_clock()
        if leaping is not None:
            leaping.may_leap = self._may_leap
        await self.start_server()
        await self.start_control_plane()

    def _may_leap(self) -> bool:
        """Return whether nothing happens, and no administrator watches, who would miss heartbeats.

        A wound clock notes by itself when clients are sent something.
        """
        if clock.wound_clock() is None and self.administration.is_watching:
            return False
        return self._idle_time.is_idle()

    async def stop(self) -> None:
        """Stop everything."""
        for node in self.nodes.values():
            await node.stop()
        await self._leases.close()
        await self.stop_control_plane()
        await self.stop_server()
        await self.store.close()

    async def advance(self, *, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Let time pass for everything that runs on this loop."""
        await clock.sleep(hours * 3600 + minutes * 60 + seconds)

    def observe_requests(self, observer: RequestObserver) -> None:
        """Report every request from now on to ``observer``."""
        self._observe_requests = observer
        for connection in (self.administration, *self.connections.values()):
            connection.observe_requests = observer

    def client_for(self, user: User) -> LocalClient:
        """Return a client for ``user``, which no fault touches."""
        return LocalClient(self.administration, user)

    def connect(self, part: str, user: User = SYSTEM) -> LocalClient:
        """Return a client for a part of the cluster, over the part's own connection."""
        return LocalClient(self._connection(part), user)

    # The control plane.

    async def start_server(self) -> None:
        """Start the API server over the store; without effect while it runs."""
        if self._is_served:
            return
        with self.machine.in_use():
            if self._was_served:
                self.server = self._new_server()
            await self.server.start()
            self.server.serve_resource_metrics(self._resource_metrics)
            if self.settings.shows_itself:
                self.server.show_itself()
        self._is_served = self._was_served = True

    async def stop_server(self) -> None:
        """Stop the API server; the store keeps its contents, clients get ``Unreachable``."""
        if not self._is_served:
            return
        self._is_served = False
        for connection in (self.administration, *self.connections.values()):
            await connection.break_watches()
        await self.server.stop()

    async def start_control_plane(self) -> None:
        """Start the scheduler and the controllers; without effect while they run."""
        if self._control_plane is not None:
            return
        settings = self.settings
        self._control_plane = running = Supervisor()
        work = partial(
            run_components,
            self._component_client,
            settings.ca_certificate,
            NoFolders(ROOT / "volumes"),
            settings.signer,
            _CurrentOtherApis(self),
            None,
            settings.controllers,
            structs.replace(settings.ranges, pods=(POD_RANGE,)),
            settings.options,
            added=[make for each in settings.extensions for make in each.controllers().values()],
        )
        with self.machine.in_use():
            running.keep_running("control-plane", work)

    async def stop_control_plane(self) -> None:
        """Stop the scheduler and the controllers."""
        running, self._control_plane = self._control_plane, None
        if running is not None:
            await running.close()

    # Nodes.

    async def add_node(self, settings: NodeSettings) -> SimulatedNode:
        """Make a node and start it.

        Raises ``ValueError`` if there is one of its name, or are as many as there are addresses.
        """
        if settings.name in self.nodes:
            raise ValueError(f"there is a node {settings.name} already")
        number = self._nodes_made
        if number >= NODES_MAX:
            raise ValueError(f"a simulated cluster has at most {NODES_MAX} nodes")
        self._nodes_made += 1
        connection = self._connection(f"node/{settings.name}")
        address = str(NODE_ADDRESSES + number)
        block = _block(number)
        make = self.settings.make_machine
        machine = (
            FaultyRuntime(self.settings.scenario, pod_cidr=str(block))
            if make is None
            else make(settings.name, block)
        )
        controllers = {
            key: made for each in self.settings.extensions for key, made in each.node_controllers().items()
        }
        node = SimulatedNode(settings, connection, machine, block, address, self._leases, controllers)
        self.nodes[settings.name] = node
        await node.start()
        return node

    async def remove_node(self, name: str) -> None:
        """Take a machine away for good: everything on it ends. Its Node object stays."""
        node = self.nodes.pop(name)
        await node.crash()
        await node.runtime.close()
        del self.connections[f"node/{name}"]

    async def nodes_ready(self) -> None:
        """Wait until every running kubelet's node is Ready."""
        await asyncio.gather(*(node.ready() for node in self.nodes.values()))

    # The wiring.

    def _new_server(self) -> ApiServer:
        settings = self.settings
        added = [plugin for each in settings.extensions for plugin in each.admission_plugins()]
        plugins = default_plugins(settings.ranges, added)
        return ApiServer(
            self.store,
            plugins,
            ranges=settings.ranges,
            signing_key=settings.signing_key,
            local_servers=self.servers,
            additions=additions_from(settings.extensions),
        )

    def _route(self, address: str) -> str:
        """Return how a connection of the API server to a pod's address and port fares: see ``Route``."""
        host = ip_address(address.rpartition(":")[0].strip("[]"))
        node = next((each for each in self.nodes.values() if each.has_address(host)), None)
        if node is None or not node.has_power or node.connection.is_cut:
            return LOST
        if not node.runtime.is_served(str(host)):
            return f"dial tcp {address}: connect: connection refused"
        return ""

    def _registry(self) -> Registry:
        if not self._is_served:
            raise Unreachable("dial tcp 172.16.0.0:6443: connect: connection refused")
        return self.server.registry

    def _faultless_store(self) -> Store | None:
        """Return the store as the API server writes to it, if there is a server and no fault of the store."""
        if not self._is_served or (isinstance(self.store, FaultyStore) and self.store.faults):
            return None
        return self.server.registry.store

    def _component_client(self, user: User) -> LocalClient:
        return self.connect(user.name.rpartition("kube-")[2], user)

    def _connection(self, part: str) -> Connection:
        if part not in self.connections:
            machine = MachineClock() if part.startswith("node/") else self.machine
            made = Connection(self._registry, part, self.observe_deliveries, machine, self.machine)
            made.observe_requests = self._observe_requests
            self.connections[part] = made
        return self.connections[part]

    async def _resource_metrics(self, node: Node) -> str:
        found = self.nodes.get(node.metadata.name or "")
        if found is None:
            raise service_unavailable(f"node {node.metadata.name} is not simulated")
        return await found.resource_metrics()


@asynccontextmanager
async def simulated_cluster(
    nodes: int | Sequence[NodeSettings] = 1,
    settings: ClusterSettings = DEFAULT_SETTINGS,
    store: MemoryStore | None = None,
) -> AsyncIterator[SimulatedCluster]:
    """Run a cluster until the block ends. Its nodes are Ready when the block begins.

    Args:
        nodes: the nodes, or the number of them (``node-1`` and so on, with the default size).
        store: where the state is; None: a memory store without faults.
    """
    cluster = SimulatedCluster(settings, store)
    try:
        await cluster.start()
        for each in _settings_of(nodes):
            await cluster.add_node(each)
        await cluster.nodes_ready()
        yield cluster
    finally:
        await cluster.stop()


class _CurrentOtherApis:
    """``OtherApis`` of the server that answers now."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def _contents(self) -> OtherApis:
        return self._cluster.server.other_contents(CONTROLLER_MANAGER)

    async def resources(self) -> Sequence[Resource]:
        return await self._contents().resources()

    async def list(self, resource: Resource, namespace: str) -> Sequence[ApiObject]:
        return await self._contents().list(resource, namespace)

    async def delete(self, resource: Resource, namespace: str, name: str = "") -> None:
        await self._contents().delete(resource, namespace, name)

    async def get(self, path: str) -> bytes:
        return await self._contents().get(path)


def _settings_of(nodes: int | Sequence[NodeSettings]) -> Sequence[NodeSettings]:
    if isinstance(nodes, int):
        return [NodeSettings(name=f"node-{number}") for number in range(1, nodes + 1)]
    return nodes


def _block(number: int) -> Network:
    """Return the addresses of the pods of a node."""
    return ip_network((int(POD_RANGE.network_address) + (number << 8), 24))

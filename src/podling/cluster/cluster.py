"""The cluster: store, API server, scheduler, controllers and nodes, started in the order they need.

The control plane's components call the API server in process; kubectl, other clients and (through the
kubelets' own servers) log and exec streams use TLS. Stopping closes everything in the reverse order and
leaves containers running: ``podling down`` ends those. ``processes`` runs the same parts apart.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from podling.apiserver.auth.pki import Pki
from podling.apiserver.server import ApiServer
from podling.client.local import LocalClient
from podling.client.request_counts import CountedBackend
from podling.client.requests import Backend
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.components import CONTROLLER_MANAGER
from podling.cluster.control_plane import ControlPlane
from podling.cluster.directory import DataDirectory
from podling.cluster.enabled_extensions import added_node_controllers
from podling.cluster.lasting_tasks import LastingTasks, first_of, run_until
from podling.cluster.local_nodes import node_plans
from podling.cluster.served_api import LOOPBACK, Progress, ServedApi
from podling.cluster.start_failure import start_failures
from podling.kubelet.deps import KeepLease
from podling.node.node import Node, local_server_context
from podling.runtime.images.store import ImageStore
from podling.store.base import Store
from podling.supervisor import Supervisor

READY_SECONDS = 60.0
"""Seconds that ``up`` waits for its nodes to be Ready."""


class Cluster:
    """One cluster over one data directory, in this process.

    Args:
        progress: receives each component as it starts.
        set_aside: move stored values that cannot be decoded out of the store, instead of refusing to start.
    """

    def __init__(
        self,
        directory: DataDirectory,
        settings: ClusterSettings,
        progress: Progress,
        *,
        set_aside: bool = False,
    ) -> None:
        self.directory = directory
        self.settings = settings
        self._progress = progress
        self._pki = Pki(directory.pki)
        self._api = ServedApi(directory, settings, self._pki, progress, set_aside=set_aside)
        self._stack = AsyncExitStack()
        self._nodes: list[Node] = []
        self._components: asyncio.Task[None] | None = None
        self._server: ApiServer | None = None
        self.keep_lease: KeepLease | None = None
        """Renews the leases of nodes in place of their kubelets; set before the start."""

    @property
    def port(self) -> int:
        return self._api.port

    @property
    def store(self) -> Store | None:
        """Return the store as the API server writes to it; None before the start."""
        return None if self._server is None else self._server.registry.store

    @property
    def url(self) -> str:
        return self._api.url

    async def start(self) -> None:
        """Start everything. Raises ``StartFailure``; what had started is stopped again."""
        try:
            with start_failures():
                await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        self._stack.push_async_callback(self._api.stop)
        self._server = server = await self._api.start()
        counted = CountedBackend(server.registry, lambda: f"{LOOPBACK}:{self.port}")
        server.count(counted)
        if self.settings.api_only:
            return
        control = ControlPlane(self.directory, self.settings, self._pki)
        self._stack.push_async_callback(control.stop)
        others = server.other_contents(CONTROLLER_MANAGER)
        self._components = control.start(partial(LocalClient, counted), others, server)
        self._progress("control plane", control.description)
        await self._start_nodes(counted)

    async def nodes_ready(self, stop: asyncio.Event) -> bool:
        """Wait until every node is Ready, ``stop``, or too long; return whether they are Ready.

        A node may be unable to become Ready for now, as on a full disk, where its status cannot be written.
        """
        ready, _ = await first_of(self._running(), self._all_ready(), stop.wait(), seconds=READY_SECONDS)
        if not ready.done():
            return False
        self._progress("ready", ", ".join(node.plan.name for node in self._nodes) or "without nodes")
        return True

    async def _all_ready(self) -> None:
        await asyncio.gather(*(node.ready() for node in self._nodes))

    async def run_until(self, stop: asyncio.Event) -> None:
        """Run until stopped. Raises the error of a component that should never end."""
        await run_until(stop, self._running())

    async def stop(self) -> None:
        """Let go of everything; containers run on."""
        await self._stack.aclose()

    def write_kubeconfig(self, copy: Path | None, supervisor: Supervisor) -> Path:
        """Write the administrator's kubeconfig; see ``ServedApi.write_kubeconfig_now_or_later``."""
        return self._api.write_kubeconfig_now_or_later(copy, supervisor)

    async def _start_nodes(self, backend: Backend) -> None:
        images = ImageStore(self.directory.images)
        controllers = added_node_controllers(self.settings.extensions)
        for plan in node_plans(self.directory, self.settings):
            context = local_server_context(plan, self._pki)
            node = Node(
                plan,
                LocalClient(backend, Node.user(plan.name)),
                context,
                images,
                controllers,
                self.keep_lease,
            )
            await node.start()
            self._stack.push_async_callback(node.stop)
            self._nodes.append(node)
            self._progress("node", f"{plan.name} on {plan.runtime}")

    def _running(self) -> LastingTasks:
        tasks = {f"the node {node.plan.name}": node.task for node in self._nodes if node.task}
        return {**tasks, "the control plane": self._components} if self._components else tasks
